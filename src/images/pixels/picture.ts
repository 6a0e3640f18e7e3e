/** Pixel size of a picture. */
export interface Size {
  width: number;
  height: number;
}

/** Pixels in memory: eight bits each of red, green, blue and alpha, rows from the top. */
export interface Picture extends Size {
  data: Uint8Array;
}

/** Red, green and blue, 0 … 255. */
export type Colour = readonly [number, number, number];

/** Largest picture that is read or painted, in pixels: an input of a few bytes must not fill the memory. */
export const mostPixels = 64 * 2 ** 20;

/** An opaque black picture. */
export function createPicture(width: number, height: number): Picture {
  const data = new Uint8Array(width * height * 4);
  for (let at = 3; at < data.length; at += 4) data[at] = 255;
  return { width, height, data };
}

/** Lays a colour over one pixel; `alpha` 0 … 1. */
export function mixPixel({ data }: Picture, at: number, colour: Colour, alpha: number): void {
  const keep = 1 - alpha;
  data[at] = (data[at] ?? 0) * keep + colour[0] * alpha + 0.5;
  data[at + 1] = (data[at + 1] ?? 0) * keep + colour[1] * alpha + 0.5;
  data[at + 2] = (data[at + 2] ?? 0) * keep + colour[2] * alpha + 0.5;
}
