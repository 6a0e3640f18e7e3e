import { maxOf } from '../long-lists.ts';

/** The kind of a string value: any string, one that is Base64 as a whole, or prose that can contain a data URL. */
type ValueKind = 'plain' | 'data' | 'text';

interface Frame {
  array: boolean;
  /** The key of this container in its parent object. */
  name: string | undefined;
  /** The key of the next value, in an object; only a key that the scanner knows. */
  key: string | undefined;
  expectsKey: boolean;
  /** The place is in the payload of a tool, which is not changed. */
  inTool: boolean;
  inContent: boolean;
}

const blobKeys = new Set(['inlineData', 'inline_data', 'source', 'audio']);
const textKeys = new Set(['text', 'content']);
/** Strings that are an image in the completions format: its Base64, and the URL of `image_url`. */
const wholeKey = 'b64_json';
const urlHolder = 'image_url';
const contentKeys = new Set(['content', 'content_block']);
const toolKeys = new Set(
  'args arguments input functionCall function_call functionResponse function_response toolCall tool_call toolResponse tool_response'.split(
    ' ',
  ),
);

const knownKeys = new Set(['data', 'url', wholeKey, urlHolder, ...blobKeys, ...textKeys, ...contentKeys, ...toolKeys]);

/** Length of the longest key that the scanner knows. */
export const longestKey = maxOf([...knownKeys].map((key) => key.length));

/** The position of a value in the JSON: the containers around it and their keys. */
export class Nesting {
  readonly #frames: Frame[] = [];
  readonly #maxDepth: number;
  /** Levels below the deepest frame: no string in them is an image. */
  #beyond = 0;

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth;
  }

  get expectsKey(): boolean {
    return this.#top?.expectsKey === true;
  }

  setKey(key: string | undefined): void {
    const top = this.#top;
    if (!top) return;
    top.key = key !== undefined && knownKeys.has(key) ? key : undefined;
    top.expectsKey = false;
  }

  comma(): void {
    const top = this.#top;
    if (!top) return;
    top.key = undefined;
    top.expectsKey = !top.array;
  }

  open(array: boolean): void {
    if (this.#frames.length >= this.#maxDepth) {
      this.#beyond++;
      return;
    }
    const parent = this.#frames.at(-1);
    const name = parent?.key;
    const isContent = name !== undefined && contentKeys.has(name);
    // Blocks inside a block's content are results of server tools, which a later turn has to send back unchanged.
    const inTool =
      parent?.inTool === true ||
      (name !== undefined && toolKeys.has(name)) ||
      (isContent && parent?.inContent === true);
    const inContent = isContent || parent?.inContent === true;
    this.#frames.push({ array, name, key: undefined, expectsKey: !array, inTool, inContent });
  }

  close(): void {
    if (this.#beyond > 0) this.#beyond--;
    else this.#frames.pop();
  }

  reset(): void {
    this.#frames.length = 0;
    this.#beyond = 0;
  }

  get #top(): Frame | undefined {
    return this.#beyond > 0 ? undefined : this.#frames.at(-1);
  }

  /** The kind of the string at this place. */
  get valueKind(): ValueKind {
    const top = this.#top;
    if (!top || top.inTool || top.key === undefined) return 'plain';
    if (top.key === wholeKey) return 'data';
    if (top.key === 'data' && top.name !== undefined && blobKeys.has(top.name)) return 'data';
    // A reply in an array is the chunks of a stream, whose texts are joined: a data URL can continue in the next one.
    const whole = this.#frames[0]?.array === false;
    const isUrl = top.key === urlHolder || (top.key === 'url' && top.name === urlHolder);
    return whole && (isUrl || textKeys.has(top.key)) ? 'text' : 'plain';
  }
}

const quote = 0x22;
const backslash = 0x5c;
const lf = 0x0a;
const cr = 0x0d;

/** Replaces any character that is neither Base64 nor part of a data URL. */
const otherByte = 0xff;

/** Part of the content of a string: its end in the chunk, and its characters without JSON escapes. */
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

/** The byte of a simple escape, by the byte after the backslash: `" \\ /`, `n`, `r` and `t`. */
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
  let hex = '';
  for (const byte of bytes.subarray(at + 2, at + 6)) hex += String.fromCharCode(byte);
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

/** The characters of both alphabets of Base64. */
export const base64Characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_';

const base64Bytes = new Uint8Array(256);
for (const char of `${base64Characters}=`) base64Bytes[char.charCodeAt(0)] = 1;

/** Whether a byte is Base64 of either alphabet or padding. */
export function isBase64Byte(byte: number): boolean {
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

/** Whether a text is Base64, possibly after a stray `data:…,` (deviation 10). */
export function looksLikeBase64(start: Uint8Array): boolean {
  const isPrefixed = latin1(start.subarray(0, 5)).toLowerCase() === 'data:';
  const rest = start.subarray(isPrefixed ? start.subarray(0, 256).indexOf(0x2c) + 1 : 0);
  return rest.every((byte) => isBase64Byte(byte) || isLineBreak(byte));
}

/** Decodes each byte as one character. */
export function latin1(bytes: Uint8Array, start = 0, end = bytes.length): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1', start, end);
}
