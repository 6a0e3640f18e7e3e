/** The media type that the leading bytes of an image or document speak for; undefined where they say nothing. */
export function sniffMediaType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 16)).toString('latin1');
  const brand = head.slice(8, 12);
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (head.startsWith('RIFF') && brand === 'WEBP') return 'image/webp';
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif';
  if (head.startsWith('%PDF-')) return 'application/pdf';
  if (head.slice(4, 8) === 'ftyp') return /^(heic|heix|hevc|mif1|msf1)$/.test(brand) ? 'image/heic' : undefined;
  return undefined;
}

/** A media type without parameters, lower case; image/jpg is spelled image/jpeg. */
export function plainMediaType(type: string): string {
  const plain = (type.split(';')[0] ?? '').trim().toLowerCase();
  return plain === 'image/jpg' ? 'image/jpeg' : plain;
}
