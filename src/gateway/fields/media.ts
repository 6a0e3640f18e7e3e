import { sniffType } from '../../images/sniff.ts';
import type { Path } from '../types.ts';
import { badValue } from './violation.ts';

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

/** Decodes Base64 in either alphabet, padded or not. Throws Violation on anything else, a data URL above all. */
export function decodeBase64(data: string, path: Path): Buffer {
  if (data.startsWith('data:'))
    throw badValue(path, 'Base64 bytes are wanted, without the data-URL prefix "data:…;base64,"');
  if (data === '') throw badValue(path, 'the image is empty');
  const padding = data.endsWith('==') ? 2 : Number(data.endsWith('='));
  const digits = data.length - padding;
  const whole = padding === 0 || data.length % 4 === 0;
  const bytes = Buffer.from(data, 'base64');
  // The decoder skips what is not in the alphabet, so a foreign character shows in the length.
  if (!whole || digits % 4 === 1 || bytes.length !== Math.floor((digits * 3) / 4)) {
    throw badValue(path, 'Base64 decoding failed');
  }
  return bytes;
}
