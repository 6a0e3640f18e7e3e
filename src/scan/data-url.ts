import { escapedByte, escapeLength, isLineBreak } from './string.ts';

const opening = 'data:image/';
const ending = ';base64';
const longestType = 200;
const quote = 0x22;
const backslash = 0x5c;

/** Finds where the Base64 of a `data:image/…;base64,` URL begins (deviations 1 and 4), character by character. */
export interface DataUrlMatcher {
  /** Takes the next character; true when Base64 begins behind it. */
  push(byte: number): boolean;
  /** Nothing of a URL has been seen: characters that cannot begin one may be skipped. */
  isIdle(): boolean;
  /** Tells of the last character that was skipped. */
  skip(last: number | undefined): void;
  /** Whether the URL stands in parentheses, as in Markdown: it ends where they close, and nowhere before. */
  inParens(): boolean;
}

/** Starts at the beginning of a string. Case does not matter, as in any URL's scheme and media type. */
export function createDataUrlMatcher(): DataUrlMatcher {
  let matched = 0;
  let type = '';
  let before: number | undefined;
  let inParens = false;
  function fail(byte: number): false {
    matched = lower(byte) === opening.charCodeAt(0) ? 1 : 0;
    type = '';
    return false;
  }
  return {
    isIdle() {
      return matched === 0;
    },
    inParens() {
      return inParens;
    },
    skip(last) {
      before = last;
    },
    push(byte) {
      if (matched === 0) {
        inParens = before === 0x28;
        before = byte;
      }
      if (matched < opening.length) {
        if (lower(byte) !== opening.charCodeAt(matched)) return fail(byte);
        matched++;
        return false;
      }
      if (byte === 0x2c) {
        const found = type.toLowerCase().endsWith(ending);
        fail(byte);
        return found;
      }
      if (!isTypeByte(byte) || type.length >= longestType) return fail(byte);
      type += String.fromCharCode(byte);
      return false;
    },
  };
}

/**
 * Looks through a string's inside for the Base64 of a data URL: its position where one was found, else that of the quote or
 * line break that ends the string, of an escape that is cut, or the chunk's length.
 */
export function findDataUrl(
  bytes: Uint8Array,
  start: number,
  matcher: DataUrlMatcher,
): { end: number; found: boolean } {
  let at = start;
  while (at < bytes.length) {
    if (matcher.isIdle()) {
      const next = findUrlStart(bytes, at);
      if (next > at) matcher.skip(bytes[next - 1]);
      at = next;
    }
    const byte = bytes[at];
    if (byte === undefined || byte === quote || isLineBreak(byte)) break;
    const length = byte === backslash ? escapeLength(bytes, at) : 1;
    if (length === 0) break;
    const meant = byte === backslash ? escapedByte(bytes, at, length) : byte;
    at += length;
    if (matcher.push(meant)) return { end: at, found: true };
  }
  return { end: at, found: false };
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

function lower(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
}

/** Characters of a media type with parameters; the same as in images/data-url-head.ts. */
function isTypeByte(byte: number): boolean {
  return byte > 0x20 && byte < 0x7f && !'"()<>[]\\`'.includes(String.fromCharCode(byte));
}
