import type { Size } from '../../images/pixels/picture.ts';

/** What the public image models give for a ratio in the 1K class. */
const known: Readonly<Record<string, readonly [number, number]>> = {
  '1:1': [1024, 1024],
  '2:3': [832, 1248],
  '3:2': [1248, 832],
  '3:4': [864, 1184],
  '4:3': [1184, 864],
  '4:5': [896, 1152],
  '5:4': [1152, 896],
  '9:16': [768, 1344],
  '16:9': [1344, 768],
  '21:9': [1536, 672],
};

const scales: Readonly<Record<string, number>> = { '512': 0.5, '1K': 1, '2K': 2, '4K': 4 };
const area = 2 ** 20;
const grid = 16;

/** The size of a picture by `imageConfig`: about one megapixel times the class, in the ratio (1:1 by default). */
export function sizeFor(aspectRatio = '1:1', imageSize = '1K'): Size {
  const [width, height] = known[aspectRatio] ?? nearest(ratioOf(aspectRatio));
  const scale = scales[imageSize] ?? 1;
  return { width: width * scale, height: height * scale };
}

/** Width divided by height of `W:H`. */
export function ratioOf(aspectRatio: string): number {
  const [width, height] = aspectRatio.split(':').map(Number);
  return (width ?? 1) / (height ?? 1);
}

/** The grid size near one megapixel whose ratio is closest. */
function nearest(ratio: number): [number, number] {
  const ideal = Math.sqrt(area * ratio);
  let best: [number, number] = [1024, 1024];
  let bestError = Infinity;
  for (let width = snap(ideal * 0.94); width <= ideal * 1.06; width += grid) {
    const height = snap(width / ratio);
    const error = Math.abs(width / height / ratio - 1);
    if (error < bestError) [best, bestError] = [[width, height], error];
  }
  return best;
}

function snap(value: number): number {
  return Math.max(grid, Math.round(value / grid) * grid);
}
