import { blend, type Picture } from '../../../images/pixels/picture.ts';
import { fillPolygon } from '../shapes.ts';
import { box } from './buildings.ts';

/** Five columns by seven rows for each letter that the label needs; the lowest bit is the right column. */
const glyphs: Readonly<Record<string, readonly number[]>> = {
  O: [14, 17, 17, 17, 17, 17, 14],
  F: [31, 16, 16, 30, 16, 16, 16],
  L: [16, 16, 16, 16, 16, 16, 31],
  I: [14, 4, 4, 4, 4, 4, 14],
  N: [17, 25, 21, 19, 17, 17, 17],
  E: [31, 16, 16, 30, 16, 16, 31],
};

/** Writes OFFLINE, small and pale, into the lower right corner: nobody shall take the picture for a model's. */
export function paintLabel(picture: Picture): void {
  const text = 'OFFLINE';
  const dot = Math.max(1, Math.round(Math.min(picture.width, picture.height) / 420));
  const left = picture.width - dot * (text.length * 6 + 4);
  const top = picture.height - dot * 11;
  if (left < 0 || top < 0) return;
  for (const [index, letter] of [...text].entries()) {
    for (const [row, bits] of (glyphs[letter] ?? []).entries()) {
      for (let column = 0; column < 5; column++) {
        if ((bits & (16 >> column)) === 0) continue;
        const x = left + (index * 6 + column) * dot;
        const y = top + row * dot;
        const colour = blend([255, 255, 255], [200, 210, 220], 0.2);
        fillPolygon(picture, box(x, y, x + dot, y + dot), { colour, alpha: 0.6 });
      }
    }
  }
}
