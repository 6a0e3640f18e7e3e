import type { Colour, Picture, Size } from '../../images/pixels/picture.ts';

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
export const letterSize: Size = { width: 6, height: 9 };

/** The text as it can be written: without accents and in capitals. */
export function writable(text: string): string {
  return text.normalize('NFD').replaceAll(/\p{M}/gu, '').toUpperCase();
}

/** Writes one line into a picture, from its upper left corner on; each dot is a square of so many pixels. */
export function writeLine(
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
