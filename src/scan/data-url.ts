import { escapedByte, escapeLength, isLineBreak } from './string.ts';

const opening = 'data:image/';
const ending = ';base64';
const longestType = 200;
const longestAlt = 1000;
/** A text of nothing but `![` must not be read a thousand times over. */
const deepestAlt = 32;
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/** How the text at a position relates to something that is looked for there. */
export type HeadMatch =
  | { kind: 'no' }
  | { kind: 'partial' }
  | { kind: 'match'; mimeType: string; alt: string; end: number };

const no: HeadMatch = { kind: 'no' };
const partial: HeadMatch = { kind: 'partial' };

/** Follows `data:image/…;base64,` (deviations 1 and 4) character by character; case does not matter. */
class UrlHead {
  /** Characters of the opening that were seen. */
  matched = 0;
  type = '';

  /** Takes the next character: whether Base64 begins behind it, the URL goes on, or it was none. */
  push(code: number): 'match' | 'partial' | 'no' {
    if (this.matched < opening.length) {
      if (lower(code) !== opening.charCodeAt(this.matched)) return this.restart(code);
      this.matched++;
      return 'partial';
    }
    if (code === comma) {
      if (this.type.toLowerCase().endsWith(ending)) return 'match';
      return this.restart(code);
    }
    if (!isTypeCode(code) || this.type.length >= longestType) return this.restart(code);
    this.type += String.fromCharCode(code);
    return 'partial';
  }

  /** What ended one URL may begin the next. */
  restart(code: number): 'no' {
    this.matched = lower(code) === opening.charCodeAt(0) ? 1 : 0;
    this.type = '';
    return 'no';
  }

  get mimeType(): string {
    return `image/${this.type}`.toLowerCase().split(';', 1)[0] as string;
  }
}

function lower(code: number): number {
  return code >= 0x41 && code <= 0x5a ? code + 0x20 : code;
}

/** Characters of a media type with parameters. */
function isTypeCode(code: number): boolean {
  return code > 0x20 && code < 0x7f && !'"()<>[]\\`'.includes(String.fromCharCode(code));
}

/** Reads `data:image/…;base64,` at a position of a text. `end` is where the Base64 begins. */
export function matchDataUrl(text: string, at: number, alt = ''): HeadMatch {
  const head = new UrlHead();
  for (let i = at; i < text.length; i++) {
    const step = head.push(text.charCodeAt(i));
    if (step === 'no') return no;
    if (step === 'match') return { kind: 'match', mimeType: head.mimeType, alt, end: i + 1 };
  }
  return partial;
}

/** Reads `![alt](data:image/…;base64,` at a position. Brackets in the alt text balance, as in CommonMark. */
export function matchMarkdownImage(text: string, at: number): HeadMatch {
  if (text[at + 1] === undefined) return partial;
  if (text[at + 1] !== '[') return no;
  const close = closingBracket(text, at + 2);
  if (close === 'cut') return partial;
  if (close === 'none') return no;
  if (text[close + 1] === undefined) return partial;
  if (text[close + 1] !== '(') return no;
  let url = close + 2;
  while (url - close < 16 && (text[url] === ' ' || text[url] === '\n' || text[url] === '<')) url++;
  return matchDataUrl(text, url, text.slice(at + 2, close));
}

function closingBracket(text: string, start: number): number | 'cut' | 'none' {
  let depth = 0;
  for (let i = start; i <= start + longestAlt; i++) {
    const char = text[i];
    if (char === undefined) return 'cut';
    if (char === '\\') i++;
    else if (char === '[' && ++depth > deepestAlt) return 'none';
    else if (char === '\n' && text[i + 1] === '\n') return 'none';
    else if (char === ']' && depth-- === 0) return i;
  }
  return 'none';
}

/** Finds the data URLs in the text of a JSON string that comes in chunks. */
export class DataUrlFinder {
  readonly #head = new UrlHead();
  /** The character in front of the next one. */
  #before: number | undefined;
  #inParens = false;

  /** Whether the URL stands in parentheses, as in Markdown: it ends where they close, and nowhere before. */
  get inParens(): boolean {
    return this.#inParens;
  }

  /**
   * Looks through a string's inside for the Base64 of a data URL: its position where one was found, else that of the quote or
   * line break that ends the string, of an escape that is cut, or the chunk's length.
   */
  find(bytes: Uint8Array, start: number): { end: number; found: boolean } {
    let at = start;
    while (at < bytes.length) {
      if (this.#head.matched === 0) {
        const next = findUrlStart(bytes, at);
        if (next > at) this.#before = bytes[next - 1];
        at = next;
      }
      const byte = bytes[at];
      if (byte === undefined || byte === quote || isLineBreak(byte)) break;
      const length = byte === backslash ? escapeLength(bytes, at) : 1;
      if (length === 0) break;
      const meant = byte === backslash ? escapedByte(bytes, at, length) : byte;
      at += length;
      if (this.#push(meant)) return { end: at, found: true };
    }
    return { end: at, found: false };
  }

  #push(byte: number): boolean {
    if (this.#head.matched === 0) {
      this.#inParens = this.#before === 0x28;
      this.#before = byte;
    }
    const found = this.#head.push(byte) === 'match';
    if (found) this.#head.restart(byte);
    return found;
  }
}

/** The next byte that may begin a URL, end the string or its line, or begin an escape; or the chunk's length. */
function findUrlStart(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length) {
    const byte = bytes[at] as number;
    if (byte === 0x64 || byte === 0x44 || byte === quote || byte === backslash || isLineBreak(byte)) break;
    at++;
  }
  return at;
}
