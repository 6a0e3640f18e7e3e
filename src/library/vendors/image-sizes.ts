/*
 * Sizes of OpenAI's image models from the second generation on. Sources: npm openai 7.57.0 (2026-11-13), resources/images.d.ts,
 * lines 601 to 606: sides are multiples of 16, shapes from 1:3 to 3:1, and more than 2560x1440 pixels are experimental. The
 * longest side, and the fewest and the most pixels, are as relays of the service measured them (docs.apiyi.com, 2026-11).
 */

/** Both sides are multiples of this number. */
const step = 16;
const widestShape = 3;
const longestSide = 3840;
const fewestPixels = 655_360;

/** About how many pixels an image of each class has. */
const pixels: Readonly<Record<string, number>> = { '1K': 1024 * 1024, '2K': 2560 * 1440, '4K': 3840 * 2160 };

/** The classes that `--size` can name. */
export const openaiSizeClasses = Object.keys(pixels);

/** The sizes of 1K that older models draw too, which draw no others. */
const sizesOfAll: Readonly<Record<string, string>> = { '1:1': '1024x1024', '3:2': '1536x1024', '2:3': '1024x1536' };

/**
 * The size `WxH` that has exactly a shape `W:H`, and is nearest to a class, or for more than 1K just below it. Undefined if the
 * service draws no such shape.
 */
export function fitOpenaiSize(aspect: string, sizeClass: string): string | undefined {
  if (sizeClass === '1K' && Object.hasOwn(sizesOfAll, aspect)) return sizesOfAll[aspect];
  const [across, down] = inLowestTerms(aspect);
  const unit = step * step * across * down;
  const largest = Math.floor(longestSide / (step * Math.max(across, down)));
  const smallest = Math.ceil(Math.sqrt(fewestPixels / unit));
  const ideal = Math.sqrt((pixels[sizeClass] ?? 0) / unit);
  const wanted = sizeClass === '1K' ? Math.round(ideal) : Math.floor(ideal);
  const times = Math.max(smallest, Math.min(largest, wanted));
  if (times > largest || Math.max(across / down, down / across) > widestShape) return undefined;
  return `${step * across * times}x${step * down * times}`;
}

/** `19.5:9` is 13 to 6. */
function inLowestTerms(aspect: string): [number, number] {
  const [across = 1, down = 1] = aspect.split(':').map((side) => Math.round(Number(side) * 1000));
  const divisor = greatestDivisor(across, down);
  return [across / divisor, down / divisor];
}

function greatestDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestDivisor(other, one % other);
}
