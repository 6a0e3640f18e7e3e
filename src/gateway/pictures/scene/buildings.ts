import { blend, type Colour } from '../../../images/pixels/picture.ts';
import { drawBeam, fillEllipse, fillPolygon, shine, type Point } from '../shapes.ts';
import type { Scene } from './sky.ts';

/** Where a thing stands, in pixels, and how high it is. */
export interface Place {
  x: number;
  /** The ground under it. */
  y: number;
  height: number;
}

/** A rectangle as a polygon, clockwise. */
export function box(left: number, top: number, right: number, bottom: number): Point[] {
  return [
    [left, top],
    [right, top],
    [right, bottom],
    [left, bottom],
  ];
}

/** A lighthouse with bands, a gallery, a lantern, and after dark its beam. */
export function paintLighthouse(scene: Scene, { x, y, height }: Place): void {
  const { picture, mood } = scene;
  const lamp: Point = [x, y - height * 0.9];
  if (mood.dark) paintBeam(scene, lamp, height);
  const dim = mood.dark ? 0.38 : 0;
  const white = blend([244, 240, 232], mood.land[1], dim);
  const red = blend([196, 48, 44], mood.land[1], dim);
  const half = (share: number): number => height * (0.115 - 0.045 * share);
  for (let band = 0; band < 6; band++) {
    const [low, high] = [band * 0.135, (band + 1) * 0.135];
    const corners: Point[] = [
      [x - half(high), y - height * high],
      [x + half(high), y - height * high],
      [x + half(low), y - height * low + 1],
      [x - half(low), y - height * low + 1],
    ];
    fillPolygon(picture, corners, { colour: band % 2 === 0 ? white : red });
  }
  const shade: Point[] = [
    [x + half(0.81) * 0.2, y - height * 0.81],
    [x + half(0.81), y - height * 0.81],
    [x + half(0), y],
    [x + half(0) * 0.2, y],
  ];
  fillPolygon(picture, shade, { colour: [10, 12, 30], alpha: 0.22 });
  paintLantern(scene, { x, y, height }, lamp);
}

function paintLantern({ picture, mood }: Scene, { x, y, height }: Place, lamp: Point): void {
  const iron: Colour = mood.dark ? [24, 24, 34] : [58, 62, 70];
  const glass: Colour = mood.dark ? [255, 236, 170] : [214, 232, 240];
  fillPolygon(picture, box(x - height * 0.1, y - height * 0.835, x + height * 0.1, y - height * 0.805), {
    colour: iron,
  });
  fillPolygon(picture, box(x - height * 0.058, y - height * 0.94, x + height * 0.058, y - height * 0.83), {
    colour: iron,
  });
  fillPolygon(picture, box(x - height * 0.044, y - height * 0.93, x + height * 0.044, y - height * 0.845), {
    colour: glass,
  });
  const roof: Point[] = [
    [x, y - height],
    [x + height * 0.08, y - height * 0.935],
    [x - height * 0.08, y - height * 0.935],
  ];
  fillPolygon(picture, roof, { colour: blend([160, 38, 36], mood.land[1], mood.dark ? 0.4 : 0) });
  if (mood.dark) shine(picture, { at: lamp, radius: height * 0.3 }, { colour: [255, 240, 190], alpha: 0.9 });
}

function paintBeam({ picture, unit }: Scene, at: Point, height: number): void {
  const side = at[0] > picture.width / 2 ? -1 : 1;
  const light: Colour = [255, 240, 190];
  drawBeam(picture, { at, length: unit * 1.5, slope: 0.13, side }, { colour: light, alpha: 0.42 });
  drawBeam(picture, { at, length: height * 0.9, slope: 0.1, side: side < 0 ? 1 : -1 }, { colour: light, alpha: 0.2 });
}

/** A house with a lit window, a door, a roof and a chimney. */
export function paintHouse({ picture, mood }: Scene, { x, y, height }: Place): void {
  const half = height * 0.62;
  const wall = blend([226, 206, 178], mood.land[1], mood.dark ? 0.6 : 0.05);
  const roof = blend([142, 62, 50], mood.land[1], mood.dark ? 0.6 : 0.05);
  const light: Colour = mood.dark ? [255, 214, 120] : [120, 160, 190];
  fillPolygon(picture, box(x + half * 0.45, y - height * 1.12, x + half * 0.68, y - height * 0.7), { colour: roof });
  fillPolygon(picture, box(x - half, y - height * 0.6, x + half, y + 2), { colour: wall });
  const corners: Point[] = [
    [x - half * 0.7, y - height],
    [x + half * 0.7, y - height],
    [x + half * 1.16, y - height * 0.58],
    [x - half * 1.16, y - height * 0.58],
  ];
  fillPolygon(picture, corners, { colour: roof });
  for (const left of [-0.72, 0.32]) {
    fillPolygon(picture, box(x + half * left, y - height * 0.46, x + half * (left + 0.38), y - height * 0.2), {
      colour: light,
    });
  }
  fillPolygon(picture, box(x - half * 0.16, y - height * 0.4, x + half * 0.14, y + 2), { colour: roof });
  if (mood.dark) shine(picture, { at: [x, y - height * 0.3], radius: height * 1.1 }, { colour: light, alpha: 0.25 });
}

/** A castle: three towers with battlements and a wall between them. */
export function paintCastle({ picture, mood }: Scene, { x, y, height }: Place): void {
  const stone = blend([168, 160, 156], mood.land[1], mood.dark ? 0.68 : 0.15);
  const tower = (at: number, top: number, half: number): void => {
    fillPolygon(picture, box(at - half, y - top, at + half, y + 3), { colour: stone });
    for (const tooth of [-1, -0.4, 0.2, 0.8]) {
      const left = at + half * tooth * 1.1;
      fillPolygon(picture, box(left, y - top - half * 0.36, left + half * 0.34, y - top + 1), { colour: stone });
    }
    const window: Colour = mood.dark ? [255, 212, 120] : blend(stone, [0, 0, 0], 0.5);
    fillPolygon(picture, box(at - half * 0.14, y - top * 0.78, at + half * 0.14, y - top * 0.62), { colour: window });
  };
  fillPolygon(picture, box(x - height * 0.6, y - height * 0.4, x + height * 0.6, y + 3), {
    colour: blend(stone, [0, 0, 0], 0.12),
  });
  tower(x - height * 0.6, height * 0.72, height * 0.15);
  tower(x + height * 0.6, height * 0.66, height * 0.15);
  tower(x, height, height * 0.19);
  fillEllipse(
    picture,
    { at: [x, y - height * 0.1], rx: height * 0.09, ry: height * 0.16 },
    { colour: blend(stone, [0, 0, 0], 0.65) },
  );
}

/** A skyline from edge to edge, two rows deep; the windows of the nearer one are lit after dark. */
export function paintCity(scene: Scene): void {
  for (const [row, most] of [0.42, 0.26].entries()) {
    const { picture, mood, random, horizon, unit } = scene;
    const colour = blend(mood.land[0], mood.land[1], 0.35 + row * 0.5);
    for (let left = -unit * 0.02; left < picture.width;) {
      const width = unit * random.between(0.05, 0.12);
      const top = horizon + unit * 0.05 * row - unit * random.between(0.08, most);
      fillPolygon(picture, box(left, top, left + width, picture.height), { colour });
      if (row === 1) paintWindows(scene, { left, top, right: left + width, wall: colour });
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

function paintWindows({ picture, mood, random, unit }: Scene, { left, top, right, wall }: Wall): void {
  const step = unit * 0.021;
  const colour: Colour = mood.dark ? [255, 216, 130] : blend(wall, [255, 255, 255], 0.35);
  for (let y = top + step; y < picture.height * 0.92; y += step * 1.5) {
    for (let x = left + step * 0.7; x < right - step * 0.8; x += step * 1.3) {
      if (random.next() > 0.42) continue;
      fillPolygon(picture, box(x, y, x + step * 0.6, y + step * 0.75), { colour, alpha: random.between(0.4, 1) });
    }
  }
}
