import { createRandom } from '../../models/random.ts';
import { createPicture, type Picture, type Size } from '../../../images/pixels/picture.ts';
import { paintBirds, paintWeather } from './air.ts';
import { paintCastle, paintCity, paintHouse, paintLighthouse } from './buildings.ts';
import { paintLabel } from './label.ts';
import { paintHeadland, paintHills, paintMountains, paintSea, type Ground } from './land.ts';
import { chooseMood } from './mood.ts';
import { paintSky, type Scene } from './sky.ts';
import { paintBalloon, paintBoat, paintCat, paintTree } from './things.ts';

/** A painted scene, and what it shows in words. */
export interface Drawing {
  picture: Picture;
  caption: string;
}

const groundWords: readonly [RegExp, Ground][] = [
  [/\b(?:city|town|street|skyline|skyscrapers?|tokyo|paris|london|berlin)\b/, 'city'],
  [/\b(?:deserts?|dunes?|sand|camels?|pyramids?)\b/, 'desert'],
  [/\b(?:snow|snowy|winter|ice|arctic|christmas)\b/, 'snow'],
  [/\b(?:forests?|woods?|trees?|pines?|jungle)\b/, 'forest'],
  [/\b(?:sea|ocean|beach|lake|river|harbou?r|boats?|ships?|sail\w*|waves?|coast|island|lighthouse|water)\b/, 'sea'],
  [/\b(?:hills?|meadow|fields?|mountains?|village|castle|house|cabin|farm|cat|garden)\b/, 'hills'],
];

/** Paints a landscape from the words of a prompt; what they leave open follows from prompt and seed alone. */
export function paintScene(prompt: string, seed: string, { width, height }: Size): Drawing {
  const words = prompt.slice(0, 4000).toLowerCase();
  const random = createRandom(`${words}\n${seed}`);
  const mood = chooseMood(words, random);
  const any = random.pick<Ground>(['sea', 'hills', 'hills', 'forest', 'sea', 'desert']);
  const ground = groundWords.find(([word]) => word.test(words))?.[1] ?? any;
  const picture = createPicture(width, height);
  const horizon = height * (height > width ? 0.64 : 0.6) + random.between(-0.03, 0.03) * height;
  const light: Scene['light'] = [width * random.between(0.22, 0.78), horizon * (1 - mood.lightHeight)];
  const scene: Scene = { picture, mood, random, horizon, light, unit: Math.min(width, height) };
  paintSky(scene);
  const things = paintGround(scene, ground, words);
  paintLabel(picture);
  return { picture, caption: `${groundNames[ground]} by ${mood.name}${things}` };
}

const groundNames: Readonly<Record<Ground, string>> = {
  sea: 'the sea',
  hills: 'hills',
  desert: 'a desert',
  snow: 'a land in snow',
  city: 'a city',
  forest: 'a forest',
};

function paintGround(scene: Scene, ground: Ground, words: string): string {
  const things: string[] = [];
  const asked = (word: RegExp): boolean => word.test(words);
  const mountains = asked(/\b(?:mountains?|alps|peaks?|valley)\b/) || scene.random.next() > 0.45;
  if (mountains && ground !== 'city')
    paintMountains(scene, asked(/mountain|alps|peak/) ? 0.5 : ground === 'sea' ? 0.11 : 0.24);
  const ridge = ground === 'sea' ? paintShore(scene, words, things) : paintLand(scene, ground);
  paintThings(scene, { asked, ridge, things, ground });
  if (asked(/\b(?:rain|rainy|storm|stormy)\b/)) paintWeather(scene, 'rain');
  if (ground === 'snow') paintWeather(scene, 'snow');
  return things.length === 0 ? '' : ` with ${things.join(', ')}`;
}

/** The sea, and a headland where something has to stand on one. */
function paintShore(scene: Scene, words: string, things: string[]): (x: number) => number {
  const { picture, horizon, unit, random, light } = scene;
  paintSea(scene);
  const lonely = /\blighthouses?\b/.test(words);
  const side = light[0] > picture.width / 2 ? 'left' : 'right';
  if (/\b(?:boats?|ships?|sail\w*|yacht)\b/.test(words) || (!lonely && random.next() > 0.5)) {
    const x = picture.width * (side === 'left' ? 0.68 : 0.32);
    paintBoat(scene, { x, y: horizon + (picture.height - horizon) * 0.35, height: unit * 0.24 });
    things.push('a boat');
  }
  return paintHeadland(scene, side);
}

function paintLand(scene: Scene, ground: Ground): (x: number) => number {
  const { picture, random, unit, horizon } = scene;
  if (ground === 'city') {
    paintCity(scene);
    return () => picture.height * 0.97;
  }
  const ridge = paintHills(scene, ground);
  if (ground === 'forest' || ground === 'snow') {
    const count = ground === 'forest' ? 46 : 14;
    for (let tree = 0; tree < count; tree++) {
      const near = tree / count;
      const x = random.next() * picture.width;
      const y = horizon + (picture.height - horizon) * (0.1 + near * 0.8);
      paintTree(scene, { x, y, height: unit * (0.1 + near * 0.28) * random.between(0.75, 1.2) }, 0.35 + near * 0.65);
    }
  }
  return ridge;
}

interface Setting {
  asked: (word: RegExp) => boolean;
  ridge: (x: number) => number;
  things: string[];
  ground: Ground;
}

function paintThings(scene: Scene, { asked, ridge, things, ground }: Setting): void {
  const { picture, unit, light, random } = scene;
  const side = light[0] > picture.width / 2 ? 0.2 : 0.8;
  const stand = (share: number, height: number): { x: number; y: number; height: number } => {
    const x = picture.width * share;
    return { x, y: Math.min(ridge(x) + unit * 0.012, picture.height), height: unit * height };
  };
  const put = (name: string, paint: () => void): void => {
    paint();
    things.push(name);
  };
  if (asked(/\blighthouses?\b/)) put('a lighthouse', () => paintLighthouse(scene, stand(side, 0.52)));
  if (asked(/\bcastles?\b/)) put('a castle', () => paintCastle(scene, stand(side < 0.5 ? 0.28 : 0.72, 0.36)));
  if (asked(/\b(?:house|cabin|cottage|farm|hut|village|home)\b/))
    put('a house', () => paintHouse(scene, stand(1 - side, 0.16)));
  if (asked(/\b(?:cats?|kittens?|katze)\b/)) put('a cat', () => paintCat(scene, stand(0.5 + (side - 0.5) * 0.5, 0.3)));
  if (asked(/\bballoons?\b/)) {
    put('a balloon', () =>
      paintBalloon(scene, {
        x: picture.width * (things.length > 0 ? 0.5 : side),
        y: scene.horizon * 0.72,
        height: unit * 0.34,
      }),
    );
  }
  if (ground === 'hills' && !asked(/\bcastles?\b/)) {
    for (const share of [0.12, 0.17, 0.88]) paintTree(scene, stand(share, 0.2 + random.next() * 0.08));
  }
  if (!scene.mood.dark || asked(/\b(?:birds?|gulls?)\b/)) paintBirds(scene);
}
