import { blend, fillPixels, mixPixel, smoothstep, type Colour } from '../../../images/pixels/picture.ts';
import { createNoise, type Noise } from './noise.ts';
import type { Scene } from './sky.ts';

/** What lies below the horizon. */
export type Ground = 'sea' | 'hills' | 'desert' | 'snow' | 'city' | 'forest';

const tints: Readonly<Partial<Record<Ground, readonly [Colour, Colour]>>> = {
  desert: [
    [232, 190, 140],
    [150, 88, 48],
  ],
  snow: [
    [226, 234, 246],
    [150, 172, 205],
  ],
};

/** Colours of the land, far and near; sand and snow take on the light of the mood. */
function landColours({ mood }: Scene, ground: Ground): readonly [Colour, Colour] {
  const tint = tints[ground];
  if (!tint) return mood.land;
  const share = mood.dark ? 0.55 : 0.15;
  return [blend(tint[0], mood.land[0], share), blend(tint[1], mood.land[1], share)];
}

/** Mountains on the horizon, three ranges one behind the other. */
export function paintMountains(scene: Scene, height: number): void {
  const { horizon, random, unit, mood } = scene;
  const haze = mood.sky[2];
  for (let range = 0; range < 3; range++) {
    const noise = createNoise(random);
    const share = range / 3;
    const crest = unit * height * (1 - share * 0.55);
    const top = (x: number): number => {
      const ridge = 1 - Math.abs(noise.cloud((x / unit) * (1.5 + range) + 3, range, 5) * 2 - 1);
      return horizon - crest * ridge * (0.55 + 0.45 * noise.at((x / unit) * 1.1, 9));
    };
    const colour = blend(mood.land[0], mood.land[1], share * 0.45);
    fillBelow(scene, top, { upper: colour, lower: blend(colour, haze, 0.55), depth: crest, bottom: horizon + 1 });
  }
}

/** Rolling ground from the horizon to the lower edge, the nearest last. Returns the height of the nearest ridge. */
export function paintHills(scene: Scene, ground: Ground, layers = 4): (x: number) => number {
  const { picture, horizon, random, unit } = scene;
  const [far, near] = landColours(scene, ground);
  let ridge: (x: number) => number = () => horizon;
  for (let layer = 0; layer < layers; layer++) {
    const share = layer / (layers - 1);
    const base = horizon + (picture.height - horizon) * (share * 0.68);
    const noise = createNoise(random);
    const swing = unit * (0.05 + 0.07 * share);
    const slow = ground === 'desert' ? 1.3 : 1.9;
    const lowest = layer === 0 ? horizon : picture.height;
    ridge = (x) => Math.min(lowest, base - swing * (noise.cloud((x / unit) * slow + layer * 7, layer, 3) * 2 - 0.9));
    const upper = blend(far, near, share * 0.9);
    fillBelow(scene, ridge, { upper, lower: blend(upper, near, 0.6), depth: unit * 0.3, bottom: picture.height });
  }
  return ridge;
}

/** The sea with its waves and the road of light under the sun. */
export function paintSea(scene: Scene): void {
  const { picture, random, horizon } = scene;
  const noise = createNoise(random);
  for (let y = Math.floor(horizon); y < picture.height; y++) paintSeaRow(scene, y, noise);
}

function paintSeaRow({ picture, mood, horizon, light, unit }: Scene, y: number, noise: Noise): void {
  const { width, height, data } = picture;
  const depth = (y - horizon + 1) / (height - horizon);
  const base = blend(mood.water[0], mood.water[1], smoothstep(0, 1, depth ** 0.6));
  const scale = ((3 + 60 / (1 + depth * 14)) * 1.6) / unit;
  const row = Math.log(depth + 0.02) * 34;
  const road = unit * (0.03 + depth * 0.3);
  const strength = 0.42 * (1 - depth * 0.45);
  const glitter = 1.15 * (1 - depth * 0.35);
  fillPixels(data, y * width, (y + 1) * width, base);
  for (let x = 0, at = y * width * 4; x < width; x++, at += 4) {
    const wave = noise.at(x * scale, row) - 0.5;
    mixPixel(picture, at, wave > 0 ? mood.sky[2] : mood.water[1], (wave > 0 ? wave : -wave) * strength);
    const near = 1 - Math.abs(x - light[0]) / road;
    if (near > 0 && wave > -0.12) mixPixel(picture, at, mood.light, near * (wave + 0.14) * glitter);
  }
}

interface Fill {
  upper: Colour;
  lower: Colour;
  /** Pixels over which the colour goes from upper to lower. */
  depth: number;
  bottom: number;
}

/** Fills everything below a line, with a smooth upper edge. */
function fillBelow({ picture }: Scene, top: (x: number) => number, { upper, lower, depth, bottom }: Fill): void {
  const { width, height } = picture;
  const steps = 64;
  const shades = Array.from({ length: steps + 1 }, (_, step) => blend(upper, lower, step / steps));
  const edges = Float32Array.from({ length: width }, (_, x) => top(x + 0.5));
  const first = Math.max(0, Math.floor(edges.reduce((least, edge) => Math.min(least, edge), height)));
  for (let y = first; y < Math.min(height, Math.ceil(bottom)); y++) {
    for (let x = 0, at = y * width * 4; x < width; x++, at += 4) {
      const below = y + 1 - (edges[x] ?? 0);
      if (below <= 0) continue;
      const shade = shades[Math.min(steps, (((below - 1) / depth) * steps) | 0)] ?? lower;
      mixPixel(picture, at, shade, below < 1 ? below : 1);
    }
  }
}

/** A dark headland that comes in from one side; returns its height line. */
export function paintHeadland(
  scene: Scene,
  side: 'left' | 'right',
  noise: Noise = createNoise(scene.random),
): (x: number) => number {
  const { picture, horizon, unit, mood } = scene;
  const reach = picture.width * 0.5;
  const ridge = (x: number): number => {
    const inland = side === 'left' ? 1 - x / reach : 1 - (picture.width - x) / reach;
    const rough = (noise.cloud((x / unit) * 6, 4, 4) - 0.5) * unit * 0.06;
    if (inland <= -0.1) return picture.height + 10;
    const slope = smoothstep(-0.1, 0.62, inland);
    return picture.height * 1.02 - (picture.height * 1.02 - horizon - unit * 0.02) * slope + rough * slope;
  };
  const upper = blend(mood.land[0], mood.land[1], mood.dark ? 0.72 : 0.85);
  fillBelow(scene, ridge, {
    upper,
    lower: blend(upper, mood.land[1], 0.85),
    depth: unit * 0.3,
    bottom: picture.height,
  });
  return ridge;
}
