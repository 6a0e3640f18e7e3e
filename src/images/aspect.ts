/** A pixel size. */
export interface PixelSize {
  width: number;
  height: number;
}

/** Allowed deviation from the requested ratio, rounding aside: 1344×768 is 16:9. */
const tolerance = 0.04 + 1e-9;
/** Sizes are less exact than ratios: 2752×1536 is 2K. */
const sizeTolerance = 0.1;

/** Width ÷ height of `W:H`; undefined if it is not a ratio of positive numbers. */
export function parseAspect(text: string): number | undefined {
  const match = /^(\d{1,6}(?:\.\d{1,6})?):(\d{1,6}(?:\.\d{1,6})?)$/.exec(text);
  const ratio = match ? Number(match[1]) / Number(match[2]) : 0;
  return Number.isFinite(ratio) && ratio > 0 ? ratio : undefined;
}

/** Whether a text is `W:H` with whole numbers, as a request can contain it; the values are not checked against a list. */
export function isAspect(text: string): boolean {
  return /^[1-9]\d{0,4}:[1-9]\d{0,4}$/.test(text);
}

/** Whether an image has the ratio `W:H`, with a deviation of up to 4 %; false for a text that is not a ratio. */
export function fitsAspect({ width, height }: PixelSize, aspect: string): boolean {
  const ratio = parseAspect(aspect);
  return ratio !== undefined && Math.abs(width / height / ratio - 1) <= tolerance;
}

/**
 * Whether an image has the requested size: `1K`, `2K`, `0.5K`, `512` (its longer side, or the side of a square of the same
 * area) or `1024x768`. Undefined if the size has another form.
 */
export function matchesSize({ width, height }: PixelSize, size: string): boolean | undefined {
  const exact = /^(\d{1,6})x(\d{1,6})$/i.exec(size);
  if (exact) return isNear(width, Number(exact[1]), tolerance) && isNear(height, Number(exact[2]), tolerance);
  const match = /^(\d{1,6}(?:\.\d{1,3})?)(k?)$/i.exec(size);
  if (!match) return undefined;
  const side = Number(match[1]) * (match[2] ? 1024 : 1);
  return [Math.max(width, height), Math.sqrt(width * height)].some((actual) => isNear(actual, side, sizeTolerance));
}

function isNear(actual: number, wanted: number, within: number): boolean {
  return Math.abs(actual - wanted) <= wanted * within;
}
