const quote = 0x22;
const backslash = 0x5c;
const lf = 0x0a;
const cr = 0x0d;

/** Replaces any character that is neither Base64 nor part of a data URL. */
const otherByte = 0xff;

/** Part of the content of a string: where it ends in the chunk, and its characters without JSON escapes. */
export interface StringPart {
  /** Position of the byte that ends it, or of an incomplete escape, or the length of the chunk. */
  end: number;
  decoded: Uint8Array;
}

/** Length of the escape that begins at a backslash: 2 or 6, or 0 if the chunk ends inside it. */
export function escapeLength(bytes: Uint8Array, at: number): number {
  if (at + 1 >= bytes.length) return 0;
  const length = bytes[at + 1] === 0x75 ? 6 : 2;
  return at + length <= bytes.length ? length : 0;
}

/** By the byte after the backslash: `" \\ /`, `n`, `r` and `t`. */
const simpleEscapes = new Map([
  [quote, quote],
  [backslash, backslash],
  [0x2f, 0x2f],
  [0x6e, lf],
  [0x72, cr],
  [0x74, 0x09],
]);

/** The ASCII character of an escape; 0xff for any other character and for an invalid escape. */
function escapedByte(bytes: Uint8Array, at: number, length: number): number {
  if (length === 2) return simpleEscapes.get(bytes[at + 1] as number) ?? otherByte;
  const hex = String.fromCharCode(...bytes.subarray(at + 2, at + 6));
  const code = /^[0-9a-f]{4}$/i.test(hex) ? Number.parseInt(hex, 16) : otherByte;
  return code < 0x80 ? code : otherByte;
}

/** First position of a line break in a part of a chunk, or -1. */
export function lineBreakIn(bytes: Uint8Array, start: number, end: number): number {
  const part = bytes.subarray(start, end);
  const first = part.indexOf(lf);
  const other = part.subarray(0, first < 0 ? part.length : first).indexOf(cr);
  const at = other < 0 ? first : other;
  return at < 0 ? -1 : start + at;
}

/** The end of a string: its quote, with `lines` a line break, an incomplete escape, or the end of the chunk. */
export function findStringEnd(bytes: Uint8Array, start: number, lines: boolean): number {
  let from = start;
  for (;;) {
    const found = bytes.indexOf(quote, from);
    const end = found < 0 ? bytes.length : found;
    const broken = lines ? lineBreakIn(bytes, from, end) : -1;
    if (broken >= 0) return broken;
    const escaping = backslashesBefore(bytes, end, start) % 2 === 1;
    if (found < 0) return escaping ? end - 1 : end;
    if (!escaping) return end;
    from = end + 1;
  }
}

function backslashesBefore(bytes: Uint8Array, end: number, start: number): number {
  let at = end;
  while (at > start && bytes[at - 1] === backslash) at--;
  return end - at;
}

/** The rest of a string's content, without a copy if it has no escape. */
export function readString(bytes: Uint8Array, start: number, lines: boolean): StringPart {
  const end = findStringEnd(bytes, start, lines);
  const plain = bytes.subarray(start, end);
  if (plain.indexOf(backslash) < 0) return { end, decoded: plain };
  return unescape(bytes.subarray(0, end), start, () => true);
}

const base64Bytes = new Uint8Array(256);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=') {
  base64Bytes[char.charCodeAt(0)] = 1;
}

/** Whether a byte is Base64 of either alphabet or padding. */
function isBase64Byte(byte: number): boolean {
  return base64Bytes[byte] === 1;
}

/** The Base64 characters from here on: the content of a data URL in prose. */
export function readBase64(bytes: Uint8Array, start: number): StringPart {
  let end = start;
  while (end < bytes.length && base64Bytes[bytes[end] as number] === 1) end++;
  if (bytes[end] !== backslash) return { end, decoded: bytes.subarray(start, end) };
  return unescape(bytes, start, isBase64Byte);
}

/** Copies characters while `belongs` accepts them, with escapes replaced by their characters. */
function unescape(bytes: Uint8Array, start: number, belongs: (byte: number) => boolean): StringPart {
  const decoded = Buffer.allocUnsafe(bytes.length - start);
  let size = 0;
  let at = start;
  while (at < bytes.length) {
    const length = charLength(bytes, at);
    const byte = length === 1 ? (bytes[at] as number) : escapedByte(bytes, at, length);
    if (length === 0 || !belongs(byte)) break;
    decoded[size++] = byte;
    at += length;
  }
  return { end: at, decoded: decoded.subarray(0, size) };
}

/** The position after a number of characters of a string's content. */
export function skipChars(bytes: Uint8Array, start: number, count: number): number {
  let at = start;
  for (let left = count; left > 0; left--) at += charLength(bytes, at);
  return at;
}

/** 1, or the length of an escape: 0 if the chunk ends inside it. */
function charLength(bytes: Uint8Array, at: number): number {
  return bytes[at] === backslash ? escapeLength(bytes, at) : 1;
}

/** Whether a byte can be in a known key: not a quote, an escape or a control character. */
export function isKeyByte(byte: number): boolean {
  return byte >= 0x20 && byte !== quote && byte !== backslash;
}

export function isLineBreak(byte: number): boolean {
  return byte === lf || byte === cr;
}

/** White space, or a byte of the UTF-8 byte order mark. */
export function isSpaceOrBom(byte: number): boolean {
  return [0x20, 0x09, lf, cr, 0xef, 0xbb, 0xbf].includes(byte);
}

/** Whether it is Base64, possibly after a stray `data:…,` (deviation 10). */
export function looksLikeBase64(start: Uint8Array): boolean {
  const isPrefixed = latin1(start.subarray(0, 5)).toLowerCase() === 'data:';
  const rest = start.subarray(isPrefixed ? start.subarray(0, 256).indexOf(0x2c) + 1 : 0);
  return rest.every((byte) => isBase64Byte(byte) || isLineBreak(byte));
}

/** Each byte as one character. */
export function latin1(bytes: Uint8Array, start = 0, end = bytes.length): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1', start, end);
}
