import { createRandom, type Random } from '../models/random.ts';
import { createPicture, mixPixel, type Colour, type Picture, type Size } from '../../images/pixels/picture.ts';

/** What is written on a picture: its prompt, cut to two lines, and facts of it in one. */
export interface Label {
  prompt: string;
  facts: string;
}

/** A card of a size: a gradient and discs that depend only on prompt and seed, and the label below. */
export function drawCard(size: Size, label: Label, seed: string): Picture {
  const random = createRandom(`${label.prompt}\n${seed}`);
  const picture = createPicture(size.width, size.height);
  const hue = random.next();
  paintGradient(picture, hueColour(hue, 0.42), hueColour(hue + random.between(0.12, 0.35), 0.66));
  for (let disc = 0; disc < 7; disc++) paintDisc(picture, hueColour(hue + random.between(-0.1, 0.45), 0.62), random);
  layLabel(picture, label, seed);
  return picture;
}

/** Lays the label along the lower edge; a picture that is too small for it stays as it is. */
export function layLabel(picture: Picture, { prompt, facts }: Label, seed: string): void {
  const { width, height } = picture;
  const dot = Math.max(1, Math.round(Math.min(width, height) / 240));
  const columns = Math.floor(width / (letterSize.width * dot)) - 2;
  if (columns < facts.length) return;
  const lines = [...wrap(writable(prompt), columns).slice(0, 2), writable(facts)];
  const band = (lines.length * letterSize.height + 6) * dot;
  if (band > height / 2) return;
  const top = height - band;
  paintBox(picture, { top, bottom: height }, { colour: [14, 16, 24], alpha: 0.88 });
  const accent = hueColour(createRandom(`${prompt}\n${seed}`).next(), 0.6);
  paintBox(picture, { top, bottom: top + dot }, { colour: accent, alpha: 1 });
  for (const [index, line] of lines.entries()) {
    const colour: Colour = index === lines.length - 1 ? [176, 184, 204] : [255, 255, 255];
    const at = { left: letterSize.width * dot, top: top + (4 + index * letterSize.height) * dot };
    writeLine(picture, line, { ...at, dot, colour });
  }
}

/** Lines of words; a word that is longer than a line is cut. */
function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/).filter((part) => part !== '')) {
    const joined = `${lines.at(-1) ?? ''} ${word}`.trim();
    if (lines.length > 0 && joined.length <= columns) lines[lines.length - 1] = joined;
    else lines.push(word.slice(0, columns));
  }
  return lines;
}

function paintGradient({ width, height, data }: Picture, from: Colour, to: Colour): void {
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 4) {
      const share = (x / width + y / height) / 2;
      data[at] = from[0] + (to[0] - from[0]) * share;
      data[at + 1] = from[1] + (to[1] - from[1]) * share;
      data[at + 2] = from[2] + (to[2] - from[2]) * share;
    }
  }
}

/** A translucent disc with a smooth edge, anywhere. */
function paintDisc(picture: Picture, colour: Colour, random: Random): void {
  const { width, height } = picture;
  const radius = Math.min(width, height) * random.between(0.08, 0.38);
  const [left, top] = [width * random.next(), height * random.next()];
  const alpha = random.between(0.12, 0.4);
  for (let y = Math.max(0, Math.floor(top - radius)); y < Math.min(height, top + radius); y++) {
    for (let x = Math.max(0, Math.floor(left - radius)); x < Math.min(width, left + radius); x++) {
      const covered = Math.min(1, radius - Math.hypot(x - left, y - top));
      if (covered > 0) mixPixel(picture, (y * width + x) * 4, colour, alpha * covered);
    }
  }
}

/** Rows of a picture, whole. */
function paintBox(
  picture: Picture,
  { top, bottom }: { top: number; bottom: number },
  { colour, alpha }: { colour: Colour; alpha: number },
): void {
  for (let at = top * picture.width * 4; at < bottom * picture.width * 4; at += 4) {
    mixPixel(picture, at, colour, alpha);
    picture.data[at + 3] = 255;
  }
}

/** A colour of a hue (0 … 1, all around) and a lightness. */
function hueColour(hue: number, lightness: number): Colour {
  const strength = 0.62 * Math.min(lightness, 1 - lightness);
  const channel = (offset: number): number => {
    const turn = (((offset + hue * 12) % 12) + 12) % 12;
    return 255 * (lightness - strength * Math.max(-1, Math.min(turn - 3, 9 - turn, 1)));
  };
  return [channel(0), channel(8), channel(4)];
}

/** Seven rows a letter, each a digit of base 32 whose five bits are the columns, the highest on the left. */
const letters: Readonly<Record<string, string>> = {
  ' ': '0000000',
  A: 'ehhvhhh',
  B: 'uhhuhhu',
  C: 'ehggghe',
  D: 'uhhhhhu',
  E: 'vgguggv',
  F: 'vgguggg',
  G: 'ehgnhhe',
  H: 'hhhvhhh',
  I: 'e44444e',
  J: '72222ic',
  K: 'hikokih',
  L: 'ggggggv',
  M: 'hrllhhh',
  N: 'hpljhhh',
  O: 'ehhhhhe',
  P: 'uhhuggg',
  Q: 'ehhhlid',
  R: 'uhhukih',
  S: 'fgge11u',
  T: 'v444444',
  U: 'hhhhhhe',
  V: 'hhhhha4',
  W: 'hhhllla',
  X: 'hha4ahh',
  Y: 'hha4444',
  Z: 'v1248gv',
  0: 'ehjlphe',
  1: '4c4444e',
  2: 'eh1248v',
  3: 'v2421he',
  4: '26aiv22',
  5: 'vgu11he',
  6: '68guhhe',
  7: 'v124888',
  8: 'ehhehhe',
  9: 'ehhf12c',
  '.': '00000cc',
  ',': '0000c48',
  ':': '0cc0cc0',
  ';': '0cc0c48',
  '!': '4444404',
  '?': 'eh12404',
  '-': '000v000',
  _: '000000v',
  '/': '01248g0',
  '+': '044v440',
  '=': '00v0v00',
  "'": '4480000',
  '"': 'aaa0000',
  '(': '2488842',
  ')': '8422248',
  '#': 'aavavaa',
  '%': 'op248j3',
  '&': 'cik8lid',
  '*': '04lel40',
  '×': '0ha4ah0',
};
const unknown = 'vhhhhhv';

/** What a letter takes with the gap beside and below it, in dots. */
const letterSize: Size = { width: 6, height: 9 };

/** The text as it can be written: without accents and in capitals. */
function writable(text: string): string {
  return text.normalize('NFD').replaceAll(/\p{M}/gu, '').toUpperCase();
}

/** Writes one line into a picture, from its upper left corner; `dot` is the width of a dot in pixels. */
function writeLine(
  { width, height, data }: Picture,
  text: string,
  { left, top, dot, colour }: { left: number; top: number; dot: number; colour: Colour },
): void {
  for (const [index, letter] of [...text].entries()) {
    const rows = letters[letter] ?? unknown;
    for (let y = 0; y < 7 * dot; y++) {
      const bits = Number.parseInt(rows[Math.floor(y / dot)] ?? '0', 32);
      for (let x = 0; x < 5 * dot; x++) {
        if ((bits & (16 >> Math.floor(x / dot))) === 0) continue;
        const column = left + index * letterSize.width * dot + x;
        if (column < width && top + y < height) data.set([...colour, 255], ((top + y) * width + column) * 4);
      }
    }
  }
}
