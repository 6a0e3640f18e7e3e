import type { Random } from '../../models/random.ts';

/** Smooth noise 0 … 1 over the plane, the same for the same random numbers. */
export interface Noise {
  at(x: number, y: number): number;
  /** Several octaves of it: cloudy. */
  cloud(x: number, y: number, octaves: number): number;
}

const size = 256;
const mask = size - 1;

export function createNoise(random: Random): Noise {
  const values = Float32Array.from({ length: size }, () => random.next());
  const order = Uint8Array.from({ length: size }, () => Math.floor(random.next() * size));
  const corner = (x: number, y: number): number => values[((order[x & mask] ?? 0) + y * 57) & mask] ?? 0;
  const at = (x: number, y: number): number => {
    const left = Math.floor(x);
    const top = Math.floor(y);
    const u = ease(x - left);
    const v = ease(y - top);
    const upper = corner(left, top) * (1 - u) + corner(left + 1, top) * u;
    const lower = corner(left, top + 1) * (1 - u) + corner(left + 1, top + 1) * u;
    return upper * (1 - v) + lower * v;
  };
  const cloud = (x: number, y: number, octaves: number): number => {
    let sum = 0;
    let weight = 0.5;
    let total = 0;
    for (let octave = 0, scale = 1; octave < octaves; octave++, scale *= 2, weight /= 2) {
      sum += weight * at(x * scale + octave * 17, y * scale + octave * 31);
      total += weight;
    }
    return sum / total;
  };
  return { at, cloud };
}

function ease(share: number): number {
  return share * share * (3 - 2 * share);
}
