import { blend, type Colour } from '../../../images/pixels/picture.ts';
import { drawLine, fillEllipse, fillPolygon, type Point } from '../shapes.ts';
import { box, type Place } from './buildings.ts';
import type { Scene } from './sky.ts';

/** A sailing boat. */
export function paintBoat({ picture, mood }: Scene, { x, y, height }: Place): void {
  const dim = mood.dark ? 0.35 : 0;
  const hull = blend([120, 44, 36], mood.land[1], dim);
  const sail = blend([250, 246, 236], mood.sky[1], dim);
  const mast = height * 0.012;
  fillPolygon(picture, box(x - mast, y - height, x + mast, y - height * 0.1), { colour: [60, 44, 36] });
  triangle(
    picture,
    [
      [x + height * 0.03, y - height * 0.97],
      [x + height * 0.4, y - height * 0.2],
      [x + height * 0.03, y - height * 0.2],
    ],
    sail,
  );
  triangle(
    picture,
    [
      [x - height * 0.03, y - height * 0.85],
      [x - height * 0.03, y - height * 0.2],
      [x - height * 0.28, y - height * 0.2],
    ],
    sail,
  );
  const corners: Point[] = [
    [x - height * 0.38, y - height * 0.13],
    [x + height * 0.44, y - height * 0.13],
    [x + height * 0.3, y + height * 0.03],
    [x - height * 0.28, y + height * 0.03],
  ];
  fillPolygon(picture, corners, { colour: hull });
  fillEllipse(
    picture,
    { at: [x, y + height * 0.05], rx: height * 0.4, ry: height * 0.03 },
    { colour: mood.water[1], alpha: 0.5 },
  );
}

/** A hot-air balloon with stripes. */
export function paintBalloon({ picture, mood, random }: Scene, { x, y, height }: Place, colour?: Colour): void {
  const dim = mood.dark ? 0.25 : 0;
  const gay =
    colour ??
    random.pick<Colour>([
      [214, 58, 52],
      [238, 166, 40],
      [46, 122, 186],
      [118, 74, 160],
    ]);
  const radius = height * 0.36;
  const middle: Point = [x, y - height + radius];
  const rope: Colour = [70, 56, 48];
  for (const side of [-1, 1]) {
    drawLine(
      picture,
      [
        [x + side * radius * 0.55, y - height * 0.36],
        [x + side * height * 0.06, y - height * 0.13],
      ],
      height * 0.005,
      { colour: rope },
    );
  }
  fillEllipse(picture, { at: middle, rx: radius, ry: radius }, { colour: blend(gay, mood.land[1], dim) });
  triangle(
    picture,
    [
      [x - radius * 0.93, middle[1] + radius * 0.36],
      [x + radius * 0.93, middle[1] + radius * 0.36],
      [x, y - height * 0.14],
    ],
    blend(gay, mood.land[1], dim),
  );
  for (const [share, alpha] of [
    [0.62, 0.5],
    [0.22, 0.75],
  ] as const) {
    fillEllipse(
      picture,
      { at: middle, rx: radius * share, ry: radius },
      { colour: share > 0.5 ? [255, 244, 220] : gay, alpha },
    );
  }
  fillEllipse(
    picture,
    { at: [x - radius * 0.3, middle[1] - radius * 0.3], rx: radius * 0.4, ry: radius * 0.4 },
    { colour: [255, 255, 255], alpha: 0.14 },
  );
  fillPolygon(picture, box(x - height * 0.06, y - height * 0.13, x + height * 0.06, y - height * 0.03), {
    colour: [110, 76, 48],
  });
}

/** A fir tree. */
export function paintTree({ picture, mood }: Scene, { x, y, height }: Place, shade = 1): void {
  const colour = blend(blend([44, 92, 62], mood.land[0], 1 - shade), mood.land[1], mood.dark ? 0.8 : 0.2);
  fillPolygon(picture, box(x - height * 0.025, y - height * 0.2, x + height * 0.025, y + 2), {
    colour: blend(colour, [40, 24, 16], 0.6),
  });
  for (let tier = 0; tier < 4; tier++) {
    const bottom = y - height * (0.1 + tier * 0.19);
    const half = height * (0.24 - tier * 0.045);
    const shadeOf = blend(colour, mood.light, tier * 0.035);
    triangle(
      picture,
      [
        [x, bottom - height * 0.34],
        [x + half, bottom],
        [x - half, bottom],
      ],
      shadeOf,
    );
  }
}

/** A cat that sits and looks into the distance. */
export function paintCat({ picture, mood }: Scene, { x, y, height }: Place): void {
  const colour = blend([38, 32, 34], mood.land[1], 0.4);
  const ink = { colour };
  fillEllipse(picture, { at: [x, y - height * 0.3], rx: height * 0.25, ry: height * 0.33 }, ink);
  fillEllipse(picture, { at: [x + height * 0.04, y - height * 0.72], rx: height * 0.18, ry: height * 0.16 }, ink);
  for (const side of [-1, 1]) {
    const ear = x + height * (0.04 + side * 0.11);
    triangle(
      picture,
      [
        [ear + side * height * 0.03, y - height],
        [ear + height * 0.07, y - height * 0.8],
        [ear - height * 0.07, y - height * 0.8],
      ],
      colour,
    );
  }
  const tail: Point[] = [
    [-0.18, -0.06],
    [-0.36, -0.05],
    [-0.46, -0.16],
    [-0.45, -0.32],
    [-0.38, -0.4],
  ];
  for (const [index, from] of tail.slice(0, -1).entries()) {
    const to = tail[index + 1] ?? from;
    drawLine(
      picture,
      [
        [x + from[0] * height, y + from[1] * height],
        [x + to[0] * height, y + to[1] * height],
      ],
      height * 0.036,
      ink,
    );
  }
}

/** Corners must run clockwise; a triangle that does not is turned round. */
function triangle(picture: Scene['picture'], [a, b, c]: readonly [Point, Point, Point], colour: Colour): void {
  const clockwise = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) > 0;
  fillPolygon(picture, clockwise ? [a, b, c] : [a, c, b], { colour });
}
