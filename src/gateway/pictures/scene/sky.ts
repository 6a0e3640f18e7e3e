import type { Random } from '../../models/random.ts';
import { blend, fillPixels, mixPixel, smoothstep, type Colour, type Picture } from '../../../images/pixels/picture.ts';
import { fillEllipse, shine, type Point } from '../shapes.ts';
import type { Mood } from './mood.ts';
import { createNoise, type Noise } from './noise.ts';

/** What is painted, and what it is painted by: where the horizon is, where the light hangs, and the unit of lengths. */
export interface Scene {
  picture: Picture;
  mood: Mood;
  random: Random;
  /** Row of the horizon, pixels. */
  horizon: number;
  light: Point;
  /** Shorter side of the picture, pixels. */
  unit: number;
}

/** Clouds are computed on a grid this coarse and spread smoothly over it. */
const cell = 4;

/** Paints the sky: gradient (all the way down, so that nothing stays black), stars, sun or moon with its glow, clouds. */
export function paintSky(scene: Scene): void {
  paintGradient(scene);
  if (scene.mood.name === 'night') paintStars(scene);
  paintLight(scene);
  paintClouds(scene, createNoise(scene.random));
}

function paintGradient({ picture, mood, horizon }: Scene): void {
  const { width, height, data } = picture;
  for (let y = 0; y < height; y++) {
    fillPixels(data, y * width, (y + 1) * width, skyColour(mood, Math.min(1, y / horizon)));
  }
}

/** The sky's colour at a height, 0 the zenith and 1 the horizon. */
function skyColour({ sky: [zenith, middle, low] }: Mood, share: number): Colour {
  return share < 0.6
    ? blend(zenith, middle, smoothstep(0, 0.6, share))
    : blend(middle, low, smoothstep(0.55, 1.02, share));
}

function paintStars({ picture, random, horizon, unit }: Scene): void {
  for (let star = 0; star < 260; star++) {
    const at: Point = [random.next() * picture.width, random.next() ** 1.4 * horizon];
    const radius = unit * random.between(0.0006, 0.0019);
    fillEllipse(picture, { at, rx: radius, ry: radius }, { colour: [255, 250, 235], alpha: random.between(0.35, 1) });
  }
}

function paintLight({ picture, mood, light, unit }: Scene): void {
  const glow = mood.name === 'night' || mood.name === 'storm' ? 0.45 : 1.1;
  if (mood.name !== 'storm') shine(picture, { at: light, radius: unit * glow }, { colour: mood.light, alpha: 0.55 });
  shine(picture, { at: light, radius: unit * 0.22 }, { colour: mood.light, alpha: 0.6 });
  const radius = unit * 0.052;
  fillEllipse(
    picture,
    { at: light, rx: radius, ry: radius },
    { colour: mood.light, alpha: mood.name === 'storm' ? 0.25 : 1 },
  );
  if (mood.name !== 'night') return;
  const shadow: Colour = [222, 216, 194];
  for (const [dx, dy, size] of [
    [-0.3, -0.2, 0.22],
    [0.25, 0.1, 0.3],
    [-0.1, 0.42, 0.18],
  ] as const) {
    fillEllipse(
      picture,
      { at: [light[0] + dx * radius, light[1] + dy * radius], rx: size * radius, ry: size * radius },
      { colour: shadow },
    );
  }
}

function paintClouds({ picture, mood, horizon, unit }: Scene, noise: Noise): void {
  const { width } = picture;
  const columns = Math.ceil(width / cell) + 2;
  const least = mood.name === 'storm' ? 0.38 : 0.54;
  const densityAt = (column: number, row: number): number => {
    const low = smoothstep(0, 0.25, 1 - (row * cell) / horizon);
    return smoothstep(least, least + 0.3, noise.cloud((column * cell * 2.4) / unit, (row * cell * 7) / unit, 5)) * low;
  };
  let upper = Float32Array.from({ length: columns }, (_, column) => densityAt(column, 0));
  for (let row = 0; row * cell < horizon; row++) {
    const lower = Float32Array.from({ length: columns }, (_, column) => densityAt(column, row + 1));
    for (let y = row * cell; y < Math.min((row + 1) * cell, horizon); y++) {
      const down = y / cell - row;
      for (let x = 0; x < width; x++) {
        const column = (x / cell) | 0;
        const right = x / cell - column;
        const above = (upper[column] ?? 0) * (1 - right) + (upper[column + 1] ?? 0) * right;
        const below = (lower[column] ?? 0) * (1 - right) + (lower[column + 1] ?? 0) * right;
        const density = above * (1 - down) + below * down;
        if (density > 0.01) mixPixel(picture, (y * width + x) * 4, mood.cloud, density * 0.8);
      }
    }
    upper = lower;
  }
}
