import { minOf } from '../long-lists.ts';

const quotationMark = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const [openBracket, closeBracket] = [0x5b, 0x5d];
const [openBrace, closeBrace] = [0x7b, 0x7d];

/** The place of an array in a JSON text. */
export interface ArrayPlace {
  /** The key of the array, in camel case; the text can have snake case. */
  key: string;
  /** The top-level keys that it is below. */
  below: readonly string[];
}

/**
 * The position of the next end of a string or escape in a chunk; otherwise the chunk's end. The search goes piece by piece: the
 * next quotation mark can be far behind an escape.
 */
function findStop(chunk: Uint8Array, start: number): number {
  for (let from = start, bytes = 64; from < chunk.length; from += bytes, bytes = 4096) {
    const piece = chunk.subarray(from, from + bytes);
    const stops = [piece.indexOf(quotationMark), piece.indexOf(backslash)].filter((at) => at >= 0);
    if (stops.length > 0) return from + minOf(stops);
  }
  return chunk.length;
}

/**
 * Leaves the items of an array out of a JSON text while it arrives: they need not fit into memory. Any other JSON passes unchanged.
 */
export class ArraySkipper {
  readonly #place: ArrayPlace;
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** The last string, while it can be a key. */
  #word: number[] = [];
  #key = '';
  #topKey = '';
  /** The depth inside the array; 0 outside. */
  #arrayDepth = 0;
  #rest: Buffer[] = [];
  #restBytes = 0;

  constructor(place: ArrayPlace) {
    this.#place = place;
  }

  /** Reads the next piece. */
  feed(chunk: Uint8Array): void {
    let start = 0;
    const keepUntil = (end: number): void => {
      this.#rest.push(Buffer.from(chunk.subarray(start, end)));
      this.#restBytes += end - start;
    };
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (this.#inString) at = this.#readString(chunk, at);
      else if (byte === quotationMark) {
        this.#inString = true;
        this.#word = [];
      } else if (byte === colon) this.#readKey();
      else if (byte === openBrace || byte === openBracket) {
        this.#depth++;
        if (byte !== openBracket || !this.#isPlace()) continue;
        keepUntil(at + 1);
        this.#arrayDepth = this.#depth;
      } else if (byte === closeBrace || byte === closeBracket) {
        if (this.#depth === this.#arrayDepth) [this.#arrayDepth, start] = [0, at];
        this.#depth--;
      }
    }
    if (this.#arrayDepth === 0) keepUntil(chunk.length);
  }

  /** Bytes of the rest so far. */
  get restBytes(): number {
    return this.#restBytes;
  }

  /** The text with an empty array in that place, once all of it was read. */
  rest(): string {
    return Buffer.concat(this.#rest).toString();
  }

  /** Reads the string up to its end, to an escape or to the end of the chunk. Returns the position of its last byte. */
  #readString(chunk: Uint8Array, start: number): number {
    if (this.#isEscaped) {
      this.#isEscaped = false;
      return start;
    }
    const at = findStop(chunk, start);
    for (let next = start; next < at && this.#word.length < 64; next++) this.#word.push(chunk[next] as number);
    this.#isEscaped = chunk[at] === backslash;
    this.#inString = chunk[at] !== quotationMark;
    return at;
  }

  #readKey(): void {
    this.#key = Buffer.from(this.#word).toString();
    if (this.#depth === 1) this.#topKey = this.#key;
  }

  #isPlace(): boolean {
    if (this.#arrayDepth > 0 || !this.#place.below.includes(this.#topKey)) return false;
    return this.#key.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()) === this.#place.key;
  }
}
