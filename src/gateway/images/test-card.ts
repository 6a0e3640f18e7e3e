import { createRandom } from '../models/random.ts';
import { type Bitmap, type Color, createBitmap, type Size } from '../../library/index.ts';

/** A gradient of a size, whose colours depend only on the text. */
export function drawCard({ width, height }: Size, text: string): Bitmap {
  const random = createRandom(text);
  const bitmap = createBitmap(width, height);
  const hue = random.next();
  paintGradient(bitmap, hueColor(hue, 0.42), hueColor(hue + random.between(0.12, 0.35), 0.66));
  return bitmap;
}

/** Lays a band along the lower edge, of a colour that depends only on the text; an image of few rows stays as it is. */
export function layBand({ width, height, data }: Bitmap, text: string): void {
  const [red, green, blue] = hueColor(createRandom(text).next(), 0.6);
  const top = height - Math.round(height / 8);
  for (let at = top * width * 4; at < data.length; at += 4) {
    data[at] = red;
    data[at + 1] = green;
    data[at + 2] = blue;
    data[at + 3] = 255;
  }
}

function paintGradient({ width, height, data }: Bitmap, from: Color, to: Color): void {
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 4) {
      const share = (x / width + y / height) / 2;
      data[at] = from[0] + (to[0] - from[0]) * share;
      data[at + 1] = from[1] + (to[1] - from[1]) * share;
      data[at + 2] = from[2] + (to[2] - from[2]) * share;
    }
  }
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
