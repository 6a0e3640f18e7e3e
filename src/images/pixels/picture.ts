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
  fillPixels(data, 0, width * height, [0, 0, 0]);
  return { width, height, data };
}

/** Sets a run of pixels, from one up to another, to one opaque colour. */
export function fillPixels(
  { buffer, byteOffset, byteLength }: Uint8Array,
  from: number,
  to: number,
  colour: Colour,
): void {
  const pixel = new Uint8Array([colour[0] + 0.5, colour[1] + 0.5, colour[2] + 0.5, 255]);
  const [whole = 0] = new Uint32Array(pixel.buffer);
  new Uint32Array(buffer, byteOffset, byteLength / 4).fill(whole, from, to);
}

/** Lays a colour over one pixel; `alpha` 0 … 1. */
export function mixPixel({ data }: Picture, at: number, colour: Colour, alpha: number): void {
  const keep = 1 - alpha;
  data[at] = (data[at] ?? 0) * keep + colour[0] * alpha + 0.5;
  data[at + 1] = (data[at + 1] ?? 0) * keep + colour[1] * alpha + 0.5;
  data[at + 2] = (data[at + 2] ?? 0) * keep + colour[2] * alpha + 0.5;
}

/** A colour between two. */
export function blend(one: Colour, other: Colour, share: number): Colour {
  const keep = 1 - share;
  return [one[0] * keep + other[0] * share, one[1] * keep + other[1] * share, one[2] * keep + other[2] * share];
}

/** 0 below `low`, 1 above `high`, smooth between. */
export function smoothstep(low: number, high: number, value: number): number {
  const share = Math.min(1, Math.max(0, (value - low) / (high - low)));
  return share * share * (3 - 2 * share);
}
