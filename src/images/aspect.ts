/** A pixel size. */
export interface PixelSize {
  width: number;
  height: number;
}

/** How far a picture may be off the ratio that was asked for, rounding aside: 1344×768 is 16:9. */
const tolerance = 0.04 + 1e-9;
/** Sizes are rounder than ratios: 2752×1536 is 2K. */
const sizeTolerance = 0.1;

/** Width ÷ height of `W:H`, or undefined when it is no ratio of positive numbers. */
export function parseAspect(text: string): number | undefined {
  const match = /^(\d{1,6}(?:\.\d{1,6})?):(\d{1,6}(?:\.\d{1,6})?)$/.exec(text);
  const ratio = match ? Number(match[1]) / Number(match[2]) : 0;
  return Number.isFinite(ratio) && ratio > 0 ? ratio : undefined;
}

/** `W:H`, both whole numbers: the form that a request may ask for, never a list of ratios. */
export function isAspect(text: string): boolean {
  return /^[1-9]\d{0,4}:[1-9]\d{0,4}$/.test(text);
}

/** Whether a picture has the ratio `W:H`, give or take 4 %. A text that is no ratio fits nothing. */
export function fitsAspect({ width, height }: PixelSize, aspect: string): boolean {
  const ratio = parseAspect(aspect);
  return ratio !== undefined && Math.abs(width / height / ratio - 1) <= tolerance;
}

/**
 * Whether a picture has the size that was asked for: `1K`, `2K`, `0.5K`, `512` (its longer side, or the side of a square
 * of the same area) or `1024x768`. Undefined when the size has another form and so cannot be judged.
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
