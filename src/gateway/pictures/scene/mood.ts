import type { Random } from '../../models/random.ts';
import type { Colour } from '../../../images/pixels/picture.ts';

/** The light of a scene: colours of sky, water and land, and what shines. */
export interface Mood {
  name: 'dusk' | 'day' | 'dawn' | 'night' | 'storm';
  /** From the zenith over the middle to the horizon. */
  sky: readonly [Colour, Colour, Colour];
  /** From the horizon to the shore. */
  water: readonly [Colour, Colour];
  /** From the farthest to the nearest. */
  land: readonly [Colour, Colour];
  light: Colour;
  cloud: Colour;
  /** Height of the sun or moon above the horizon, as a share of the sky. */
  lightHeight: number;
  dark: boolean;
}

const dusk: Mood = {
  name: 'dusk',
  dark: true,
  lightHeight: 0.14,
  light: [255, 226, 160],
  cloud: [236, 126, 112],
  sky: [colour(0x2b2f66), colour(0xb3557f), colour(0xfbb268)],
  water: [colour(0xb06a74), colour(0x1d2347)],
  land: [colour(0x74507f), colour(0x17162b)],
};
const day: Mood = {
  name: 'day',
  dark: false,
  lightHeight: 0.72,
  light: [255, 250, 224],
  cloud: [255, 255, 255],
  sky: [colour(0x2f7fd3), colour(0x83bff0), colour(0xdff0f6)],
  water: [colour(0x5aa6c4), colour(0x0f4f78)],
  land: [colour(0xa3c2cf), colour(0x2f6238)],
};
const dawn: Mood = {
  name: 'dawn',
  dark: false,
  lightHeight: 0.2,
  light: [255, 240, 200],
  cloud: [255, 214, 196],
  sky: [colour(0x5d86c2), colour(0xe9b4b4), colour(0xffe6b5)],
  water: [colour(0xd0b2b4), colour(0x3a5a80)],
  land: [colour(0x9d97b8), colour(0x2e4550)],
};
const night: Mood = {
  name: 'night',
  dark: true,
  lightHeight: 0.7,
  light: [244, 241, 222],
  cloud: [58, 70, 112],
  sky: [colour(0x060a1f), colour(0x121d46), colour(0x31447a)],
  water: [colour(0x24345f), colour(0x060a1c)],
  land: [colour(0x2a3764), colour(0x070a16)],
};
const storm: Mood = {
  name: 'storm',
  dark: true,
  lightHeight: 0.6,
  light: [226, 230, 226],
  cloud: [62, 70, 78],
  sky: [colour(0x2a323b), colour(0x5b6771), colour(0xa9b1b0)],
  water: [colour(0x5d6d74), colour(0x1b262c)],
  land: [colour(0x66727a), colour(0x171d20)],
};

const words: readonly [RegExp, Mood][] = [
  [/\b(?:dusk|sunset|evening|twilight|golden hour|abend|coucher)\b/, dusk],
  [/\b(?:dawn|sunrise|morning|morgen)\b/, dawn],
  [/\b(?:night|midnight|stars?|starry|moon|moonlit|galaxy|nacht)\b/, night],
  [/\b(?:storm|stormy|thunder|rain|rainy|grey|gray|fog)\b/, storm],
  [/\b(?:day|noon|sunny|summer|bright|blue sky)\b/, day],
];

/** The mood that a prompt names, or any. */
export function chooseMood(prompt: string, random: Random): Mood {
  const any = random.pick([dusk, day, dawn, night]);
  return words.find(([word]) => word.test(prompt))?.[1] ?? any;
}

function colour(hex: number): Colour {
  return [hex >> 16, (hex >> 8) & 255, hex & 255];
}
