/** JSON text without its end, closed so that its values can be kept. */
export interface ClosedJson {
  /** Cut back to the last whole value, open brackets closed. */
  json: string;
  /** The text is not the beginning of JSON: `json` holds the part before its first wrong character. */
  isWrong: boolean;
}

/** Undefined when the text is whole, or when it does not begin as a JSON object or array. */
export function closeCutJson(text: string): ClosedJson | undefined {
  const cut = findCut(text);
  if (!cut || cut.closers.length === 0) return undefined;
  return { json: cut.text + cut.closers.toReversed().join(''), isWrong: cut.isWrong };
}

interface Cut {
  /** The text up to the last whole value, or up to the last character of a text that was cut. */
  text: string;
  /** The brackets that are missing after `text`. */
  closers: string[];
  isWrong: boolean;
}

type ExpectedToken = 'value' | 'first value' | 'key' | 'first key' | 'colon' | 'comma';

/**
 * Finds the last whole value, and the brackets that are open there. Their stack changes only where a whole value is noted, so the
 * stack at the end is the stack at that place.
 */
function findCut(text: string): Cut | undefined {
  const start = text.search(/\S/);
  if (start < 0 || (text[start] !== '{' && text[start] !== '[')) return undefined;
  const closers: string[] = [];
  let expected: ExpectedToken = 'value';
  let wholeEnd = start;
  for (let at = start; at < text.length;) {
    const char = text[at] as string;
    const end = mayFollow(char, expected, closers.at(-1)) ? jsonTokenEnd(text, at) : 'wrong';
    if (end === 'cut' && char === '"' && expected !== 'key') {
      const prose = cutProse(text, at);
      if (prose !== undefined) return { text: prose, closers, isWrong: false };
    }
    if (end === 'cut' || end === 'wrong') return { text: text.slice(0, wholeEnd), closers, isWrong: end === 'wrong' };
    if (char === '{' || char === '[') closers.push(char === '{' ? '}' : ']');
    else if (char === '}' || char === ']') closers.pop();
    if (!isSpace(char)) {
      expected = expectAfter(char, expected, closers.at(-1));
      // A key, a colon or a comma says nothing without what follows.
      if (expected === 'comma' || expected.startsWith('first')) wholeEnd = end;
    }
    at = end;
  }
  return { text: text.slice(0, wholeEnd), closers, isWrong: false };
}

function isSpace(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\r' || char === '\t';
}

/** Whether the character may be the next one; `closer` ends the bracket around it. */
function mayFollow(char: string, expected: ExpectedToken, closer: string | undefined): boolean {
  if (isSpace(char)) return true;
  if (char === ':') return expected === 'colon';
  if (char === ',') return expected === 'comma' && closer !== undefined;
  if (char === '}' || char === ']') return char === closer && (expected === 'comma' || expected.startsWith('first'));
  const isKey = expected === 'key' || expected === 'first key';
  return isKey ? char === '"' : expected === 'value' || expected === 'first value';
}

function expectAfter(char: string, expected: ExpectedToken, closer: string | undefined): ExpectedToken {
  if (char === '{') return 'first key';
  if (char === '[') return 'first value';
  if (char === ':') return 'value';
  if (char === ',') return closer === '}' ? 'key' : 'value';
  return expected === 'key' || (expected === 'first key' && char === '"') ? 'colon' : 'comma';
}

/** Prose is kept up to the cut; any other string, Base64 above all, only if it is whole. */
function cutProse(text: string, start: number): string | undefined {
  if (!/"(text|thinking)"\s*:\s*$/.test(text.slice(Math.max(0, start - 40), start))) return undefined;
  // The first bytes of a character that was cut become U+FFFD, which is removed.
  const prose = withoutCutEscape(withoutCutImage(text.slice(start + 1))).replace(/\uFFFD$/, '');
  return `${text.slice(0, start + 1)}${prose}"`;
}

function withoutCutImage(prose: string): string {
  const url = prose.lastIndexOf('data:');
  if (url < 0 || prose.indexOf(')', url) >= 0) return prose;
  const opening = prose.lastIndexOf('![', url);
  return prose.slice(0, opening < 0 ? url : opening);
}

function withoutCutEscape(prose: string): string {
  const at = prose.slice(-6).search(/\\(u[0-9a-fA-F]{0,3})?$/);
  if (at < 0) return prose;
  const cut = prose.length - Math.min(6, prose.length) + at;
  return isAfterBackslash(prose, cut) ? prose : prose.slice(0, cut);
}

function isAfterBackslash(text: string, at: number): boolean {
  let backslashes = 0;
  for (let i = at - 1; i >= 0 && text[i] === '\\'; i--) backslashes++;
  return backslashes % 2 === 1;
}

/** The position after a token of JSON; `cut` if the text ends inside the token, `wrong` if it is not a token. */
type TokenEnd = number | 'cut' | 'wrong';

const words = ['true', 'false', 'null'];
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const cutNumber = /^-?(?:0|[1-9]\d*)?(?:(?<=\d)\.\d*)?(?:(?<=\d)[eE][+-]?\d*)?$/;
const longestNumber = 400;

/** The end of the token at a position: a bracket, a comma, a colon or a blank is one character long. */
function jsonTokenEnd(text: string, at: number): TokenEnd {
  const char = text[at] as string;
  if ('{}[],: \n\r\t'.includes(char)) return at + 1;
  if (char === '"') return stringTokenEnd(text, at);
  const word = words.find((known) => known.startsWith(char));
  return word === undefined ? numberEnd(text, at) : wordEnd(text, at, word);
}

function stringTokenEnd(text: string, start: number): TokenEnd {
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
