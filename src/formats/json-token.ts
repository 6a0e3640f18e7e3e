/** Where a token of JSON ends; it may be cut by the end of the text, or be no token at all. */
export type TokenEnd = number | 'cut' | 'wrong';

const words = ['true', 'false', 'null'];
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const cutNumber = /^-?(?:0|[1-9]\d*)?(?:(?<=\d)\.\d*)?(?:(?<=\d)[eE][+-]?\d*)?$/;
const longestNumber = 400;

/** The end of the token that begins at a position: a bracket, a comma, a colon or a blank is one character long. */
export function jsonTokenEnd(text: string, at: number): TokenEnd {
  const char = text[at] as string;
  if ('{}[],: \n\r\t'.includes(char)) return at + 1;
  if (char === '"') return stringEnd(text, at);
  const word = words.find((known) => known.startsWith(char));
  return word === undefined ? numberEnd(text, at) : wordEnd(text, at, word);
}

function stringEnd(text: string, start: number): TokenEnd {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at + 1;
    if (code < 0x20) return 'wrong';
    if (code !== 0x5c) continue;
    const end = escapeEnd(text, at);
    if (typeof end !== 'number') return end;
    at = end - 1;
  }
  return 'cut';
}

function escapeEnd(text: string, at: number): TokenEnd {
  const kind = text[at + 1];
  if (kind === undefined) return 'cut';
  if (kind !== 'u') return '"\\/bfnrt'.includes(kind) ? at + 2 : 'wrong';
  const digits = text.slice(at + 2, at + 6);
  if (!/^[0-9a-fA-F]*$/.test(digits)) return 'wrong';
  return digits.length === 4 ? at + 6 : 'cut';
}

function wordEnd(text: string, at: number, word: string): TokenEnd {
  const found = text.slice(at, at + word.length);
  if (found === word) return at + word.length;
  return at + found.length === text.length && word.startsWith(found) ? 'cut' : 'wrong';
}

/** A number that the text's end touches may have lost digits. */
function numberEnd(text: string, at: number): TokenEnd {
  const rest = text.length - at <= longestNumber ? text.slice(at) : '';
  if (rest !== '' && cutNumber.test(rest)) return 'cut';
  number.lastIndex = at;
  return number.test(text) ? number.lastIndex : 'wrong';
}
