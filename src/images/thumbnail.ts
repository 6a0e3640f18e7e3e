import type { Picture } from './pixels/picture.ts';
import { shrink } from './preview.ts';

/** Of a JPEG, 1 … 100. */
const quality = 75;

/** A JPEG of at most `longest` pixels on its longer side; transparent pixels become white. */
export async function encodeThumbnail(pixels: Picture, longest: number): Promise<Buffer> {
  const scale = Math.min(1, longest / Math.max(pixels.width, pixels.height));
  const scaled = (length: number): number => Math.max(1, Math.round(length * scale));
  const { width, height, data } = shrink(pixels, scaled(pixels.width), scaled(pixels.height));
  const { default: jpeg } = await import('jpeg-js');
  return jpeg.encode({ width, height, data: overWhite(data) }, quality).data;
}

function overWhite(data: Uint8Array): Uint8Array {
  return data.map((value, at) => {
    const alpha = data[at | 3] ?? 255;
    return Math.round((value * alpha) / 255 + 255 - alpha);
  });
}
