import { blend } from '../../../images/pixels/picture.ts';
import { drawLine, fillEllipse } from '../shapes.ts';
import type { Scene } from './sky.ts';

/** A few birds far away. */
export function paintBirds({ picture, mood, random, horizon, unit }: Scene): void {
  const [x, y] = [picture.width * random.between(0.2, 0.7), horizon * random.between(0.2, 0.55)];
  const ink = { colour: blend(mood.land[1], mood.sky[0], 0.25), alpha: 0.85 };
  for (let bird = 0; bird < 6; bird++) {
    const [bx, by] = [x + unit * random.between(-0.18, 0.18), y + unit * random.between(-0.08, 0.08)];
    const wing = unit * random.between(0.011, 0.02);
    for (const side of [-1, 1]) {
      drawLine(
        picture,
        [
          [bx, by],
          [bx + side * wing * 0.55, by - wing * 0.42],
        ],
        unit * 0.0013,
        ink,
      );
      drawLine(
        picture,
        [
          [bx + side * wing * 0.55, by - wing * 0.42],
          [bx + side * wing, by - wing * 0.3],
        ],
        unit * 0.0011,
        ink,
      );
    }
  }
}

/** Rain, or snow that falls. */
export function paintWeather({ picture, random, unit }: Scene, kind: 'rain' | 'snow'): void {
  for (let drop = 0; drop < 420; drop++) {
    const [x, y] = [random.next() * picture.width * 1.1, random.next() * picture.height];
    const size = unit * random.between(0.6, 1.4);
    if (kind === 'snow')
      fillEllipse(
        picture,
        { at: [x, y], rx: size * 0.0032, ry: size * 0.0032 },
        { colour: [255, 255, 255], alpha: 0.8 },
      );
    else
      drawLine(
        picture,
        [
          [x, y],
          [x - size * 0.008, y + size * 0.035],
        ],
        unit * 0.0009,
        { colour: [214, 224, 232], alpha: 0.35 },
      );
  }
}
