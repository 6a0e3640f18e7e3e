import { blur, brighten, grayscale, invert, sepia } from './filter.ts';
import type { Picture } from '../../images/pixels/picture.ts';
import { ratioOf } from './size.ts';
import { cropTo, flip, mirror, rotate } from '../../images/pixels/transform.ts';

/** One change to a picture, with its name for the caption. */
export interface Edit {
  name: string;
  apply(picture: Picture): Picture;
}

interface Known {
  words: RegExp;
  edit(found: RegExpExecArray, aspectRatio: string | undefined): Edit | undefined;
}

/** What may stand behind `gray` or `the colours` where the whole picture is meant: not the noun of `a gray cat`. */
const nothingMore = String.raw`(?=\s*(?:$|[^\w\s]|(?:and|then|but|please|now|again|from|out)\b))`;
const gray = String.raw`(?:(?:in|into|to|all|fully|completely|more|go|be|become|look) ){0,3}gr[ae]y`;
const whole = '(?:it|this|them|everything|picture|image|photo|photograph|drawing|version|colou?rs?)';
const noColour = String.raw`(?:remove|drop|strip|take|lose|delete|discard|without|no|get rid of)(?: (?:out|away|all|any|of|the|its|their)){0,4}`;
const grayWords = [
  String.raw`\b(?:gr[ae]y[ -]?scale\w*|monochrom\w*|desaturat\w*|decolou?ri[sz]\w*|colou?rless|b ?[&/] ?w)\b`,
  String.raw`\bblack(?: and |-and-| ?& ?| ?/ ?| n )white\b`,
  String.raw`\b(?:shades|tones) of gr[ae]y\b|\bgr[ae]y (?:shades|tones)\b`,
  String.raw`^\W*(?:please )?${gray}${nothingMore}`,
  String.raw`\b${whole} ${gray}${nothingMore}`,
  String.raw`\b${noColour} colou?rs?${nothingMore}`,
];

/** The instructions that local-edit follows (README); everything else is answered by drawing over the picture. */
const known: readonly Known[] = [
  simple(new RegExp(grayWords.join('|'), 'g'), 'grayscale', grayscale),
  simple(/\b(?:invert\w*|negative)\b/g, 'invert', invert),
  simple(/\bsepia\b/g, 'sepia', sepia),
  simple(/\bblur\w*\b/g, 'blur', blur),
  simple(/\b(?:bright\w*|lighter)\b/g, 'brighten', (picture) => brighten(picture, 1.35)),
  simple(/\b(?:dark|darker|darken)\b/g, 'darken', (picture) => brighten(picture, 0.65)),
  simple(/\bmirror\w*\b/g, 'mirror', mirror),
  {
    words: /\bflip\w*\b(.{0,40})/g,
    edit: ([, rest = '']) =>
      /horizontal|left|right|sideways/.test(rest) ? { name: 'mirror', apply: mirror } : { name: 'flip', apply: flip },
  },
  { words: /\b(?:rotat\w*|turn)\b(.{0,40})/g, edit: ([found, rest = '']) => turn(rest, found.startsWith('rotat')) },
  {
    words: /(?:\b(\d{1,4}:\d{1,4}) )?\bcrop(?:ped|ping)?\b(?:.{0,40}?\b(\d{1,4}:\d{1,4})\b)?/g,
    edit: ([, before, behind], aspectRatio) => {
      const ratio = behind ?? before ?? aspectRatio;
      return ratio === undefined ? { ...cropEdit('1:1'), name: 'crop to a square from the middle' } : cropEdit(ratio);
    },
  },
];

/** The edits that an instruction names, in the order of its words; a crop that names no ratio takes `aspectRatio`. */
export function readInstruction(instruction: string, aspectRatio?: string): Edit[] {
  const words = instruction.slice(0, 2000).toLowerCase();
  const found = known.flatMap(({ words: pattern, edit }) =>
    [...words.matchAll(pattern)].map((match) => ({ at: match.index, edit: edit(match, aspectRatio) })),
  );
  return found.sort((one, other) => one.at - other.at).flatMap(({ edit }) => edit ?? []);
}

/** Cropping to `W:H`; pictures that fit already (4 %, as the client measures) stay whole. */
export function cropEdit(aspectRatio: string): Edit {
  const ratio = ratioOf(aspectRatio);
  const fits = ({ width, height }: Picture): boolean => Math.abs(width / height / ratio - 1) <= 0.04;
  return { name: `crop to ${aspectRatio}`, apply: (picture) => (fits(picture) ? picture : cropTo(picture, ratio)) };
}

/** A quarter turn to the right where nothing else is said; `turn` alone means one only with degrees or a side. */
function turn(rest: string, certain: boolean): Edit | undefined {
  const [, sign, digits] = /(-?)\b(90|180|270)\b/.exec(rest) ?? [];
  const left = sign === '-' || /\bleft|counter[ -]?clockwise|anti[ -]?clockwise/.test(rest);
  if (digits === undefined && !certain && !/\b(?:left|right|clockwise|upside)\b/.test(rest)) return undefined;
  const named = digits === undefined ? (/upside/.test(rest) ? 180 : 90) : Number(digits);
  const degrees = left ? 360 - named : named;
  if (degrees !== 90 && degrees !== 180 && degrees !== 270) return undefined;
  return { name: `rotate ${degrees}°`, apply: (picture) => rotate(picture, degrees) };
}

function simple(words: RegExp, name: string, apply: (picture: Picture) => Picture): Known {
  return { words, edit: () => ({ name, apply }) };
}
