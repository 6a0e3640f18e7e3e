/** Pixel size of an image. */
export interface Size {
  width: number;
  height: number;
}

/** Pixels in memory: eight bits each of red, green, blue and alpha, rows from the top. */
export interface Bitmap extends Size {
  data: Uint8Array;
}

/** Red, green and blue, 0 … 255. */
export type Color = readonly [number, number, number];

/** Largest image that is read or drawn, in pixels: an input of a few bytes must not fill the memory. */
export const maxPixels = 64 * 2 ** 20;

/** Each new pixel is the mean of the pixels that it covers; transparent pixels do not count for the colour. */
export function shrink(bitmap: Bitmap, width: number, height: number): Bitmap {
  if (width === bitmap.width && height === bitmap.height) return bitmap;
  const data = new Uint8Array(width * height * 4);
  const columns = Array.from({ length: width }, (_, x) => span(x, width, bitmap.width));
  const sums = new Float64Array(width * 4);
  for (let y = 0; y < height; y++) {
    const [top, bottom] = span(y, height, bitmap.height);
    sums.fill(0);
    for (let row = top; row < bottom; row++) addRow(bitmap, row, { columns, sums });
    for (const [x, [left, right]] of columns.entries())
      setMean(data, (y * width + x) * 4, { sums, from: x * 4, count: (right - left) * (bottom - top) });
  }
  return { width, height, data };
}

type Span = readonly [number, number];

function span(at: number, size: number, from: number): Span {
  const start = Math.floor((at * from) / size);
  return [start, Math.max(start + 1, Math.floor(((at + 1) * from) / size))];
}

/** Adds the pixels of one row to the sums of their columns, colours by their weight. */
function addRow(
  { width, data }: Bitmap,
  row: number,
  { columns, sums }: { columns: readonly Span[]; sums: Float64Array },
): void {
  let to = 0;
  for (const [left, right] of columns) {
    let [red, green, blue, alpha] = [0, 0, 0, 0];
    for (let at = (row * width + left) * 4; at < (row * width + right) * 4; at += 4) {
      const weight = data[at + 3] as number;
      red += (data[at] as number) * weight;
      green += (data[at + 1] as number) * weight;
      blue += (data[at + 2] as number) * weight;
      alpha += weight;
    }
    sums[to] = (sums[to] as number) + red;
    sums[to + 1] = (sums[to + 1] as number) + green;
    sums[to + 2] = (sums[to + 2] as number) + blue;
    sums[to + 3] = (sums[to + 3] as number) + alpha;
    to += 4;
  }
}

function setMean(
  data: Uint8Array,
  at: number,
  { sums, from, count }: { sums: Float64Array; from: number; count: number },
): void {
  const alpha = sums[from + 3] as number;
  if (alpha === 0) return;
  for (let i = 0; i < 3; i++) data[at + i] = Math.round((sums[from + i] as number) / alpha);
  data[at + 3] = Math.round(alpha / count);
}
