/** The place of the fault in a JSON text, counted from 1, and the token that is expected there. */
interface JsonFault {
  line: number;
  column: number;
  expected: string;
}

/**
 * Finds the first syntax error of a JSON text. Messages of JSON.parse give no position for every error on Node 20,
 * and quote the text, which may hold a key. Only called for text that JSON.parse refused.
 */
export function findJsonFault(text: string): JsonFault {
  const { at, expected } = findJsonStop(text);
  const lines = text.slice(0, at).split('\n');
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1, expected };
}

/** The fault of a JSON text in words: `a value is expected at line 1, column 2`. */
export function jsonFaultWords(text: string): string {
  const { line, column, expected } = findJsonFault(text);
  return `${expected} is expected at line ${line}, column ${column}`;
}

/** The place to which a text is JSON. */
interface JsonStop {
  /** The text can go on to be JSON; otherwise a token of it is wrong. */
  isCut: boolean;
  /** The position of the token that is cut or wrong; the end of the text if there is none. */
  at: number;
  /** The words for the token that is expected there. */
  expected: string;
  /** The end of the last value that is surely whole. A number at the end of the text may have lost digits. */
  wholeEnd: number;
  /** The brackets that are missing after that value. */
  closers: readonly string[];
}

/** The token that may come next, and whether the bracket around it may end in its place. */
interface Expected {
  token: 'value' | 'key' | 'colon' | 'comma';
  mayEnd: boolean;
}

/** Reads a text token by token, with its own stack: deep nesting cannot overflow that of the program. */
export function findJsonStop(text: string): JsonStop {
  // The stack changes only where a value is noted as whole, so the stack at the end is the one at that value.
  const closers: string[] = [];
  let [expected, wholeEnd]: [Expected, number] = [{ token: 'value', mayEnd: false }, 0];
  for (let at = 0; at < text.length;) {
    const char = text[at] as string;
    const end = mayFollow(char, expected, closers.at(-1)) ? tokenEnd(text, at) : 'wrong';
    if (typeof end !== 'number') {
      const isText = char === '"' && expected.token === 'value';
      const words = isText
        ? 'a string without raw line breaks, and its end'
        : describeExpected(expected, closers.at(-1));
      return { isCut: end === 'cut', at, expected: words, wholeEnd, closers };
    }
    if (char === '{' || char === '[') closers.push(char === '{' ? '}' : ']');
    else if (char === '}' || char === ']') closers.pop();
    if (!isSpace(char)) {
      expected = expectAfter(char, expected, closers.at(-1));
      const isWhole = end < text.length || !isDigit(text[end - 1] as string);
      // A key, a colon or a comma says nothing without what follows.
      if (isWhole && expected.mayEnd) wholeEnd = end;
    }
    at = end;
  }
  return { isCut: true, at: text.length, expected: describeExpected(expected, closers.at(-1)), wholeEnd, closers };
}

function isSpace(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\r' || char === '\t';
}

function isDigit(char: string): boolean {
  return char >= '0' && char <= '9';
}

/** The words for a token; `closer` ends the bracket around it. */
function describeExpected({ token }: Expected, closer: string | undefined): string {
  if (token === 'colon') return "':' after the key";
  if (token === 'comma') return closer === undefined ? 'the end of the file' : `',' or '${closer}'`;
  return token === 'key' ? 'a key in double quotes' : 'a value';
}

/** Whether the character may be the next one; `closer` ends the bracket around it. */
function mayFollow(char: string, { token, mayEnd }: Expected, closer: string | undefined): boolean {
  if (isSpace(char)) return true;
  if (char === ':') return token === 'colon';
  if (char === ',') return token === 'comma' && closer !== undefined;
  if (char === '}' || char === ']') return char === closer && mayEnd;
  if (token === 'key') return char === '"';
  return token === 'value';
}

function expectAfter(char: string, { token }: Expected, closer: string | undefined): Expected {
  if (char === '{') return { token: 'key', mayEnd: true };
  if (char === '[') return { token: 'value', mayEnd: true };
  if (char === ':') return { token: 'value', mayEnd: false };
  if (char === ',') return { token: closer === '}' ? 'key' : 'value', mayEnd: false };
  if (token === 'key' && char === '"') return { token: 'colon', mayEnd: false };
  return { token: 'comma', mayEnd: true };
}

/** The position after a token of JSON; `cut` if the text ends inside the token, `wrong` if it is not a token. */
type TokenEnd = number | 'cut' | 'wrong';

const words = ['true', 'false', 'null'];
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const cutNumber = /^-?(?:0|[1-9]\d*)?(?:(?<=\d)\.\d*)?(?:(?<=\d)[eE][+-]?\d*)?$/;
const longestNumber = 400;

/** The end of the token at a position: a bracket, a comma, a colon or a blank is one character long. */
function tokenEnd(text: string, at: number): TokenEnd {
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

function numberEnd(text: string, at: number): TokenEnd {
  number.lastIndex = at;
  const end = number.test(text) ? number.lastIndex : at;
  if (end === text.length) return end;
  if (text.length - at <= longestNumber && cutNumber.test(text.slice(at))) return 'cut';
  return end > at ? end : 'wrong';
}
