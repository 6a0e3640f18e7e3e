import { sniffType } from '../../images/sniff.ts';

/** The media type that the leading bytes of an image or document speak for; undefined where they say nothing. */
export function sniffMediaType(bytes: Uint8Array): string | undefined {
  const isPdf = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 5)).toString('latin1') === '%PDF-';
  return isPdf ? 'application/pdf' : sniffType(bytes);
}

/** A media type without parameters, lower case; image/jpg is spelled image/jpeg. */
export function plainMediaType(type: string): string {
  const plain = (type.split(';')[0] ?? '').trim().toLowerCase();
  return plain === 'image/jpg' ? 'image/jpeg' : plain;
}
