import type { Size } from './pixels/bitmap.ts';

/** Allowed deviation from the requested ratio, rounding aside: 1344×768 is 16:9. */
const tolerance = 0.04 + 1e-9;
/** Sizes are less exact than ratios: 2752×1536 is 2K. */
const sizeTolerance = 0.1;

/** Whether a text is `W:H`, such as `16:9` or `19.5:9`; the values are not checked against a list. */
export function isAspect(text: string): boolean {
  return /^[1-9]\d{0,4}(?:\.\d{1,3})?:[1-9]\d{0,4}(?:\.\d{1,3})?$/.test(text);
}

/** Whether an image has the ratio `W:H`, with a deviation of up to 4 %. */
export function fitsAspect({ width, height }: Size, aspect: string): boolean {
  const [across = 0, down = 0] = aspect.split(':').map(Number);
  return isNear(width / height, across / down, tolerance);
}

/**
 * Whether an image has the requested size: `1K`, `2K`, `512` (its longer side, or the side of a square of the same area) or
 * `1024x768`.
 */
export function matchesSize({ width, height }: Size, size: string): boolean {
  const [across = 0, down] = size.split('x').map((side) => parseInt(side, 10));
  if (down !== undefined) return isNear(width, across, tolerance) && isNear(height, down, tolerance);
  const side = size.endsWith('K') ? across * 1024 : across;
  return [Math.max(width, height), Math.sqrt(width * height)].some((actual) => isNear(actual, side, sizeTolerance));
}

function isNear(actual: number, wanted: number, within: number): boolean {
  return Math.abs(actual - wanted) <= wanted * within;
}
