import { createRandom } from '../models/random.ts';
import type { Bitmap, Color, Size } from '../../library/index.ts';

/** A gradient of a size, whose colours depend only on the text. */
export function drawCard({ width, height }: Size, text: string): Bitmap {
  const random = createRandom(text);
  const hue = random.next();
  const [from, to] = [hueColor(hue, 0.42), hueColor(hue + random.between(0.12, 0.35), 0.66)];
  const data = new Uint8Array(width * height * 4).fill(255);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 4) {
      const share = (x / width + y / height) / 2;
      data[at] = from[0] + (to[0] - from[0]) * share;
      data[at + 1] = from[1] + (to[1] - from[1]) * share;
      data[at + 2] = from[2] + (to[2] - from[2]) * share;
    }
  }
  return { width, height, data };
}

/** A colour of a hue (0 … 1, all around) and a lightness. */
function hueColor(hue: number, lightness: number): Color {
  const strength = 0.62 * Math.min(lightness, 1 - lightness);
  const channel = (offset: number): number => {
    const turn = (((offset + hue * 12) % 12) + 12) % 12;
    return 255 * (lightness - strength * Math.max(-1, Math.min(turn - 3, 9 - turn, 1)));
  };
  return [channel(0), channel(8), channel(4)];
}
