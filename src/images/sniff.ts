import type { ImageFacts } from './types.ts';

/** Bytes that the size of a picture is looked for in. */
const sizeBytes = 256 * 1024;
/** HEIF boxes: searching them costs the square of their number. */
const heifBytes = 64 * 1024;

const heifBrands: Record<string, string> = {
  avif: 'image/avif',
  avis: 'image/avif',
  heic: 'image/heic',
  heix: 'image/heic',
  hevc: 'image/heic',
  hevx: 'image/heic',
  heim: 'image/heic',
  heis: 'image/heic',
  mif1: 'image/heif',
  msf1: 'image/heif',
};

/** The media type that the leading bytes tell, or undefined when they are of no image type we know (SVG is text). */
export function sniffType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 64)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif';
  if (head.startsWith('RIFF') && head.startsWith('WEBP', 8)) return 'image/webp';
  if (head.startsWith('ftyp', 4)) return heifType(head);
  if (head.startsWith('BM') && head.length >= 26 && head.startsWith('\0\0\0\0', 6)) return 'image/bmp';
  if (['II*\0', 'MM\0*', 'II+\0', 'MM\0+'].some((mark) => head.startsWith(mark))) return 'image/tiff';
  return undefined;
}

/** A generic major brand is told more closely by the compatible ones. */
function heifType(head: string): string | undefined {
  const major = heifBrands[head.slice(8, 12)];
  if (major !== 'image/heif') return major;
  const compatible = Array.from({ length: 6 }, (_, i) => heifBrands[head.slice(16 + 4 * i, 20 + 4 * i)]);
  return compatible.find((type) => type !== undefined && type !== 'image/heif') ?? major;
}

/** Type and pixel size of a picture by its first bytes. Never throws: a header that is cut or broken has no size. */
export async function imageFacts(head: Uint8Array): Promise<ImageFacts> {
  const mimeType = sniffType(head);
  if (mimeType === undefined) return { mimeType, width: undefined, height: undefined };
  const isHeif = mimeType === 'image/avif' || mimeType.startsWith('image/hei');
  return { mimeType, ...(await pixelSize(head.subarray(0, isHeif ? heifBytes : sizeBytes))) };
}

async function pixelSize(head: Uint8Array): Promise<{ width: number | undefined; height: number | undefined }> {
  const { imageSize } = await import('image-size');
  try {
    // A copy: the package reads from the underlying memory, past the end of a view.
    const { width, height } = imageSize(new Uint8Array(head));
    if (width > 0 && height > 0) return { width, height };
  } catch {
    // No size is an answer too.
  }
  return { width: undefined, height: undefined };
}
