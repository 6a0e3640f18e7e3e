import { createRandom } from '../models/random.ts';
import { createPicture, type Colour, type Picture } from '../../images/pixels/picture.ts';
import { box, paintCastle, paintHouse, paintLighthouse, type Place } from './scene/buildings.ts';
import { paintLabel } from './scene/label.ts';
import { chooseMood } from './scene/mood.ts';
import type { Scene } from './scene/sky.ts';
import { paintBirds, paintWeather } from './scene/air.ts';
import { paintBalloon, paintBoat, paintCat, paintTree } from './scene/things.ts';
import { fillPolygon, shine } from './shapes.ts';

type Paint = (scene: Scene, place: Place) => void;

const colours: readonly [RegExp, Colour][] = [
  [/\bred\b/, [200, 44, 40]],
  [/\b(?:orange|warm|golden?)\b/, [236, 150, 50]],
  [/\byellow\b/, [242, 208, 64]],
  [/\bgreen\b/, [60, 150, 84]],
  [/\b(?:blue|cold|cool)\b/, [46, 110, 190]],
  [/\b(?:purple|violet)\b/, [120, 74, 168]],
  [/\bpink\b/, [232, 120, 160]],
];

const things: readonly [RegExp, string, Paint][] = [
  [/\blighthouses?\b/, 'a lighthouse', paintLighthouse],
  [/\bcastles?\b/, 'a castle', paintCastle],
  [/\b(?:house|cabin)\b/, 'a house', paintHouse],
  [/\b(?:boats?|ships?|sail\w*)\b/, 'a boat', paintBoat],
  [/\b(?:trees?|forest)\b/, 'a tree', (scene, place) => paintTree(scene, place)],
  [/\b(?:cats?|kittens?)\b/, 'a cat', paintCat],
  [/\bbirds?\b/, 'birds', (scene) => paintBirds(scene)],
  [/\bsnow\w*\b/, 'snow', (scene) => paintWeather(scene, 'snow')],
  [/\brain\w*\b/, 'rain', (scene) => paintWeather(scene, 'rain')],
  [
    /\bsun\w*\b/,
    'a sun',
    (scene, { x }) =>
      shine(scene.picture, { at: [x, scene.unit * 0.2], radius: scene.unit * 0.5 }, { colour: [255, 236, 170] }),
  ],
];

/** A copy of the picture with what the instruction names drawn over it, a balloon where it names nothing known. */
export function drawOver(picture: Picture, instruction: string, seed: string): { picture: Picture; caption: string } {
  const words = instruction.slice(0, 4000).toLowerCase();
  const { width, height } = picture;
  const copy = { ...createPicture(width, height), data: picture.data.slice() };
  const random = createRandom(`${words}\n${seed}`);
  const colour = colours.find(([word]) => word.test(words))?.[1];
  const unit = Math.min(width, height);
  const mood = { ...chooseMood('day', random), dark: false };
  const scene: Scene = { picture: copy, mood, random, horizon: height * 0.6, light: [width / 2, unit * 0.2], unit };
  const found = things.filter(([word]) => word.test(words));
  for (const [index, [, , paint]] of found.entries()) {
    paint(scene, { x: (width * (index + 1)) / (found.length + 1), y: height * 0.9, height: unit * 0.45 });
  }
  const balloon = found.length === 0;
  if (balloon)
    paintBalloon(scene, { x: width * random.between(0.3, 0.7), y: height * 0.72, height: unit * 0.5 }, colour);
  else if (colour) fillPolygon(copy, box(-1, -1, width + 1, height + 1), { colour, alpha: 0.18 });
  paintLabel(copy);
  return {
    picture: copy,
    caption: `${balloon ? 'a balloon' : found.map(([, name]) => name).join(', ')} drawn over it`,
  };
}
