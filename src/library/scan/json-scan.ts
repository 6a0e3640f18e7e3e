import { dataUrlHead, longestPartialHead, matchDataUrl } from './data-url.ts';
import {
  escapeLength,
  findStringEnd,
  isKeyByte,
  isLineBreak,
  isSpaceOrBom,
  latin1,
  lineBreakIn,
  longestKey,
  looksLikeBase64,
  Nesting,
  readBase64,
  readString,
  skipChars,
  type StringPart,
} from './json-bytes.ts';

/** Receives the Base64 text of one long string of a reply, as it arrives. */
export interface Base64Sink {
  /** A returned promise applies back-pressure: the next bytes follow when it resolves. The bytes are valid until then. */
  write(base64: Uint8Array): void | Promise<void>;
  /** The string is complete. Throws GatewayError bad-reply if it was not Base64. */
  end(): void | Promise<void>;
}

/** A long Base64 string that is removed from the reply. */
export interface DivertedString {
  sink: Base64Sink;
  placeholder: string;
}

/** The target for long Base64 strings of a reply, which keeps them out of memory. */
export interface Base64Diversion {
  /** Opens the sink of the next string; the JSON has its placeholder instead. */
  open(): Promise<DivertedString>;
}

/** Base64 of fewer characters stays in the JSON. */
export const divertedLength = 16 * 1024;

/** Options for scanning a body. */
export interface ScanOptions {
  /** Base64 of fewer characters stays in the JSON (default `divertedLength`). */
  threshold?: number | undefined;
  /** The threshold of data URLs in the text of events, which is short unless a whole image is one delta (default 256 KiB). */
  deltaThreshold?: number | undefined;
  /** Framing of the body; by default detected by its first character. */
  mode?: 'json' | 'sse' | undefined;
  /** Highest level of nesting (default 10,000). */
  maxDepth?: number | undefined;
}

/**
 * Passes a reply's body through (JSON, or server-sent events that contain JSON), except for long Base64 strings: they are
 * written to sinks as they arrive and replaced by the sink's placeholder. The placeholder follows when its string is complete,
 * so a body that is cut never has one for half an image. The JSON is not validated; its reader does that. Throws GatewayError
 * bad-reply (nested too deeply), errors of the chunks and of the sinks.
 */
export async function* divertBase64(
  chunks: AsyncIterable<Uint8Array>,
  diversion: Base64Diversion,
  options: ScanOptions = {},
): AsyncGenerator<Uint8Array, void> {
  const scanner = new Scanner(options);
  let open: DivertedString | undefined;
  try {
    for await (const chunk of chunks) {
      for (const piece of scanner.feed(chunk)) {
        if (piece.type === 'json') yield piece.bytes;
        else if (piece.type === 'open') open = await diversion.open();
        else if (piece.type === 'base64') await open?.sink.write(piece.bytes);
        else if (open) {
          await open.sink.end();
          yield Buffer.from(open.placeholder, 'latin1');
        }
      }
    }
  } catch (error) {
    // The bytes that were held back arrived before the error.
    yield* scanner.finish();
    throw error;
  }
  yield* scanner.finish();
}

/** JSON that is passed on, and the content of long Base64 strings. */
type ScanPiece =
  | { type: 'json'; bytes: Uint8Array }
  | { type: 'open' }
  | { type: 'base64'; bytes: Uint8Array }
  | { type: 'close' };

type ScanState = 'start' | 'line-start' | 'skipped-line' | 'outside' | 'plain' | 'data' | 'text' | 'url';

const quote = 0x22;
const backslash = 0x5c;
const cr = 0x0d;
const field = Buffer.from('data:');
const empty: Uint8Array = new Uint8Array();

/** Scans one body, whose chunks may be cut anywhere. Pieces refer to the memory of the chunk. */
class Scanner {
  readonly #threshold: number;
  readonly #deltaThreshold: number;
  readonly #mode: 'json' | 'sse' | undefined;
  readonly #nesting: Nesting;
  /** Server-sent events: no string spans their lines, and only `data:` lines contain JSON. */
  #isSse = false;
  #state: ScanState = 'start';
  /** Inside a long string, which goes to a sink. */
  #isDiverting = false;
  /** The data URL is in parentheses, as in Markdown: it ends only at the closing one. */
  #inParens = false;
  #afterCr = false;
  /** This chunk was searched for events with only short lines. */
  #isSearched = false;
  #pieces: ScanPiece[] = [];
  /** The end of the last chunk, if it cut a token or a string that can still become a long one. */
  #leftover = empty;
  #bytes = empty;
  #at = 0;
  /** Bytes before this position were passed on. */
  #from = 0;

  constructor({ threshold = divertedLength, deltaThreshold = 256 * 1024, mode, maxDepth = 10_000 }: ScanOptions) {
    this.#threshold = threshold;
    this.#deltaThreshold = deltaThreshold;
    this.#nesting = new Nesting(maxDepth);
    this.#mode = mode;
  }

  feed(chunk: Uint8Array): ScanPiece[] {
    this.#bytes = this.#leftover.length > 0 ? Buffer.concat([this.#leftover, chunk]) : chunk;
    this.#pieces = [];
    this.#isSearched = false;
    this.#at = 0;
    this.#from = 0;
    while (this.#at < this.#bytes.length && this.#step()) {}
    this.#emit(this.#at);
    this.#leftover = this.#at < this.#bytes.length ? new Uint8Array(this.#bytes.subarray(this.#at)) : empty;
    this.#bytes = empty;
    return this.#pieces;
  }

  /** The bytes that were held back at the end of the body. */
  finish(): Uint8Array[] {
    return this.#isDiverting || this.#leftover.length === 0 ? [] : [this.#leftover];
  }

  /** Advances by one token. False if the chunk ends inside it. */
  #step(): boolean {
    switch (this.#state) {
      case 'start':
        return this.#detect();
      case 'line-start':
        return this.#lineStart();
      case 'skipped-line':
        return this.#skipLine();
      case 'outside':
        return this.#outside();
      case 'plain':
        return this.#endString(findStringEnd(this.#bytes, this.#at, this.#isSse));
      case 'text':
        return this.#text();
      default:
        return this.#base64();
    }
  }

  #emit(end: number): void {
    const whole = this.#from === 0 && end === this.#bytes.length;
    const bytes = whole ? this.#bytes : this.#bytes.subarray(this.#from, end);
    if (bytes.length > 0) this.#pieces.push({ type: 'json', bytes });
    this.#from = end;
  }

  #detect(): boolean {
    while (this.#at < this.#bytes.length && isSpaceOrBom(this.#bytes[this.#at] as number)) this.#at++;
    const first = this.#bytes[this.#at];
    if (first === undefined) return true;
    this.#isSse = (this.#mode ?? (first === 0x7b || first === 0x5b ? 'json' : 'sse')) === 'sse';
    this.#state = this.#isSse ? 'line-start' : 'outside';
    return true;
  }

  #lineStart(): boolean {
    const bytes = this.#bytes;
    const short = this.#isSearched || this.#isDiverting ? 0 : skipShortLines(bytes, this.#at, this.#threshold);
    this.#isSearched = true;
    if (short > this.#at) {
      this.#nesting.reset();
      this.#at = short;
      return true;
    }
    const first = bytes[this.#at] as number;
    if (isLineBreak(first)) {
      // The end of an event, unless it is the LF of CR LF.
      if (first === cr || !this.#afterCr) this.#nesting.reset();
      this.#endLine(first);
      return true;
    }
    this.#afterCr = false;
    const name = bytes.subarray(this.#at, this.#at + field.length);
    const isData = field.subarray(0, name.length).equals(name);
    if (isData && name.length < field.length) return false;
    this.#state = isData ? 'outside' : 'skipped-line';
    if (isData) this.#at += field.length;
    return true;
  }

  #skipLine(): boolean {
    const end = lineBreakIn(this.#bytes, this.#at, this.#bytes.length);
    this.#at = end < 0 ? this.#bytes.length : end;
    if (end >= 0) this.#state = 'outside';
    return true;
  }

  #endLine(lineBreak: number): void {
    this.#afterCr = lineBreak === cr;
    this.#state = 'line-start';
    this.#at++;
  }

  #outside(): boolean {
    const bytes = this.#bytes;
    for (; this.#at < bytes.length; this.#at++) {
      const byte = bytes[this.#at] as number;
      if (byte === quote) return this.#nesting.expectsKey ? this.#key() : this.#openString();
      if (byte === 0x7b || byte === 0x5b) this.#nesting.open(byte === 0x5b);
      else if (byte === 0x7d || byte === 0x5d) this.#nesting.close();
      else if (byte === 0x2c) this.#nesting.comma();
      else if (this.#isSse && isLineBreak(byte)) {
        this.#endLine(byte);
        return true;
      }
    }
    return true;
  }

  #key(): boolean {
    const bytes = this.#bytes;
    const start = this.#at + 1;
    const limit = Math.min(bytes.length, start + longestKey + 1);
    let end = start;
    while (end < limit && isKeyByte(bytes[end] as number)) end++;
    if (end === bytes.length && end <= start + longestKey) return false;
    const isWhole = end < limit && bytes[end] === quote;
    this.#nesting.setKey(isWhole ? latin1(bytes.subarray(start, end)) : undefined);
    this.#at = isWhole ? end + 1 : start;
    if (!isWhole) this.#state = 'plain';
    return true;
  }

  #openString(): boolean {
    this.#at++;
    this.#state = this.#nesting.valueKind;
    if (this.#state === 'data') this.#isDiverting = false;
    if (this.#state !== 'text' || !this.#isSse) return true;
    // The text of an event: most are short, and data URLs that span several are found when these are joined.
    if (this.#isDiverting) {
      this.#emit(this.#at);
      this.#state = 'url';
      return true;
    }
    const end = findStringEnd(this.#bytes, this.#at, true);
    return this.#bytes[end] === quote && end - this.#at < this.#deltaThreshold ? this.#endString(end) : true;
  }

  /** Continues after the quote of a string, or at the line break that cut it. False at an escape that is cut. */
  #endString(end: number): boolean {
    this.#at = end;
    if (end < this.#bytes.length && this.#bytes[end] !== backslash) this.#state = 'outside';
    if (this.#bytes[end] === quote) this.#at++;
    return this.#bytes[end] !== backslash;
  }

  /** Searches prose for the head of a data URL. */
  #text(): boolean {
    const part = readString(this.#bytes, this.#at, this.#isSse);
    const text = latin1(part.decoded);
    const found = dataUrlHead.exec(text);
    if (found) {
      this.#inParens = text[found.index - 1] === '(';
      this.#at = skipChars(this.#bytes, this.#at, found.index + found[0].length);
      this.#state = 'url';
      return true;
    }
    if (this.#hasEnded(part)) return this.#endString(part.end);
    this.#at = skipChars(this.#bytes, this.#at, findPartialHead(text));
    return false;
  }

  /** The next part of a string that can be long Base64, or of the Base64 of a data URL in prose. */
  #base64(): boolean {
    const inProse = this.#state === 'url';
    const part = inProse ? readBase64(this.#bytes, this.#at) : readString(this.#bytes, this.#at, this.#isSse);
    const ended = this.#hasEnded(part);
    const threshold = inProse && this.#isSse ? this.#deltaThreshold : this.#threshold;
    const isShort = part.decoded.length < threshold;
    if (this.#isDiverting) this.#divert(part, ended);
    else if (isShort && !ended) return false;
    else if (!isShort && looksLikeBase64(part.decoded.subarray(0, threshold))) {
      this.#emit(this.#at);
      this.#pieces.push({ type: 'open' });
      this.#isDiverting = true;
      this.#divert(part, ended);
    } else if (!ended) {
      // A text document has `data` too: the string stays in the JSON.
      this.#state = 'plain';
      return true;
    }
    this.#at = part.end;
    if (!ended) return part.end === this.#bytes.length;
    if (!inProse) return this.#endString(part.end);
    this.#state = 'text';
    return true;
  }

  /** Whether a part ends with its string (or, in prose, with the Base64), not with the chunk. */
  #hasEnded({ end }: StringPart): boolean {
    return end < this.#bytes.length && (this.#bytes[end] !== backslash || escapeLength(this.#bytes, end) > 0);
  }

  #divert({ decoded, end }: StringPart, ended: boolean): void {
    if (decoded.length > 0) this.#pieces.push({ type: 'base64', bytes: decoded });
    this.#from = end;
    const byQuote = this.#bytes[end] === quote;
    // A Markdown image without its closing parenthesis continues in the text of the next event.
    if (!ended || (this.#isSse && this.#state === 'url' && this.#inParens && byQuote)) return;
    // A string that a line break ended was cut: it gets no placeholder.
    if (this.#state !== 'data' || byQuote) this.#pieces.push({ type: 'close' });
    this.#isDiverting = false;
  }
}

/**
 * The position after the last blank line, if every line from `start` up to there is shorter than `shortest`; otherwise 0. Such
 * events have nothing to divert; reading them line by line takes many times as long.
 */
function skipShortLines(bytes: Uint8Array, start: number, shortest: number): number {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = text.lastIndexOf('\n\n') + 2;
  for (let at = start; end - at > shortest;) {
    const next = text.lastIndexOf('\n', at + shortest - 1) + 1;
    if (next <= at) return 0;
    at = next;
  }
  return end < 2 ? 0 : end;
}

/** The start of a data URL head that can continue in the next chunk, its parenthesis included. */
function findPartialHead(text: string): number {
  let at = Math.max(0, text.length - longestPartialHead);
  while (at < text.length && matchDataUrl(text, at).kind !== 'partial') at++;
  return text[at - 1] === '(' ? at - 1 : at;
}
