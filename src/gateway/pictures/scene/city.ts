import { blend, type Colour } from '../../../images/pixels/picture.ts';
import { fillPolygon } from '../shapes.ts';
import { box } from './buildings.ts';
import type { Stage } from './sky.ts';

/** A skyline from edge to edge, two rows deep; the windows of the nearer one are lit after dark. */
export function paintCity(stage: Stage): void {
  for (const [row, most] of [0.42, 0.26].entries()) {
    const { picture, mood, random, horizon, unit } = stage;
    const colour = blend(mood.land[0], mood.land[1], 0.35 + row * 0.5);
    for (let left = -unit * 0.02; left < picture.width;) {
      const width = unit * random.between(0.05, 0.12);
      const top = horizon + unit * 0.05 * row - unit * random.between(0.08, most);
      fillPolygon(picture, box(left, top, left + width, picture.height), { colour });
      if (row === 1) paintWindows(stage, { left, top, right: left + width, wall: colour });
      left += width * random.between(0.98, 1.12);
    }
  }
}

interface Wall {
  left: number;
  top: number;
  right: number;
  wall: Colour;
}

function paintWindows({ picture, mood, random, unit }: Stage, { left, top, right, wall }: Wall): void {
  const step = unit * 0.021;
  const colour: Colour = mood.dark ? [255, 216, 130] : blend(wall, [255, 255, 255], 0.35);
  for (let y = top + step; y < picture.height * 0.92; y += step * 1.5) {
    for (let x = left + step * 0.7; x < right - step * 0.8; x += step * 1.3) {
      if (random.next() > 0.42) continue;
      fillPolygon(picture, box(x, y, x + step * 0.6, y + step * 0.75), { colour, alpha: random.between(0.4, 1) });
    }
  }
}
