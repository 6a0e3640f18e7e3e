import type { Pixels } from '../../images/preview-protocols.ts';

/** Those of every shape that models make at 4K have fewer; a file of a few kilobytes may claim billions. */
const mostPixels = 24 * 2 ** 20;

/** Why a picture of that size is not drawn; undefined where it is. */
export function tooManyPixels({ width, height }: { width: number; height: number }): string | undefined {
  if (width * height <= mostPixels) return undefined;
  return `it has ${width}×${height} pixels, more than ${mostPixels / 2 ** 20} megapixels`;
}

/** The picture's pixels, or why there are none. */
export async function decodePreview(bytes: Buffer, mimeType: string): Promise<Pixels | { hidden: string }> {
  const { decodeWithin } = await import('../../images/pixels/decode.ts');
  const decoded = await decodeWithin({ bytes, mimeType }, mostPixels);
  if (decoded === 'damaged') return { hidden: 'it cannot be decoded' };
  if ('tooLarge' in decoded) return { hidden: tooManyPixels(decoded.tooLarge) ?? '' };
  return decoded.picture ?? { hidden: `${decoded.mimeType} cannot be decoded here` };
}
