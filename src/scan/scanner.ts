import { dataUrlHead, longestPartialHead, matchDataUrl } from './data-url.ts';
import { longestKey, Nesting } from './nesting.ts';
import {
  escapeLength,
  findStringEnd,
  isKeyByte,
  isLineBreak,
  isSpaceOrBom,
  latin1,
  lineBreakIn,
  looksLikeBase64,
  readBase64,
  readString,
  skipChars,
  type StringPart,
} from './string.ts';

/** How a body is scanned. */
export interface ScannerOptions {
  /** Base64 shorter than this many characters stays in the JSON (default 16 KiB). */
  threshold?: number | undefined;
  /** The same for data URLs in the text of events, which is short but where a whole picture is one delta (default 256 KiB). */
  deltaThreshold?: number | undefined;
  /** Framing of the body; by default its first character tells. */
  mode?: 'json' | 'sse' | undefined;
  /** Most levels of nesting (default 10,000). */
  maxDepth?: number | undefined;
}

/** What the scanner makes of the bytes: JSON that goes on, and the content of long Base64 strings. */
type ScanPiece =
  | { type: 'json'; bytes: Uint8Array }
  | { type: 'open' }
  | { type: 'base64'; bytes: Uint8Array }
  | { type: 'close' };

type State = 'start' | 'line-start' | 'skipped-line' | 'outside' | 'plain' | 'data' | 'text' | 'url';

const quote = 0x22;
const backslash = 0x5c;
const cr = 0x0d;
const field = Buffer.from('data:');
const nothing: Uint8Array = new Uint8Array();

/** Starts at the beginning of a body; chunks may be cut anywhere. Pieces refer to the chunk's memory. */
export class Scanner {
  readonly #threshold: number;
  readonly #deltaThreshold: number;
  readonly #mode: 'json' | 'sse' | undefined;
  readonly #nesting: Nesting;
  /** Server-sent events: no string spans their lines, and only `data:` lines hold JSON. */
  #isSse = false;
  #state: State = 'start';
  /** A long string goes to a sink. */
  #isDiverting = false;
  /** The data URL stands in parentheses, as in Markdown: it ends where they close, and nowhere before. */
  #inParens = false;
  #afterCr = false;
  /** Whole events of short lines were looked for in this chunk. */
  #hasLooked = false;
  #pieces: ScanPiece[] = [];
  /** The end of the last chunk where it cut a token, or a string that may still become a long one. */
  #leftover = nothing;
  #bytes = nothing;
  #at = 0;
  /** Bytes before this position have gone on. */
  #from = 0;

  constructor({ threshold = 16 * 1024, deltaThreshold = 256 * 1024, mode, maxDepth = 10_000 }: ScannerOptions) {
    this.#threshold = threshold;
    this.#deltaThreshold = deltaThreshold;
    this.#nesting = new Nesting(maxDepth);
    this.#mode = mode;
  }

  feed(chunk: Uint8Array): ScanPiece[] {
    this.#bytes = this.#leftover.length > 0 ? Buffer.concat([this.#leftover, chunk]) : chunk;
    this.#pieces = [];
    this.#hasLooked = false;
    this.#at = 0;
    this.#from = 0;
    while (this.#at < this.#bytes.length && this.#step()) {}
    this.#emit(this.#at);
    this.#leftover = this.#at < this.#bytes.length ? new Uint8Array(this.#bytes.subarray(this.#at)) : nothing;
    this.#bytes = nothing;
    return this.#pieces;
  }

  /** What was held back when the body ended. */
  finish(): Uint8Array[] {
    return this.#isDiverting || this.#leftover.length === 0 ? [] : [this.#leftover];
  }

  /** Goes on by one token. False when the chunk ends inside it. */
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
    const short = this.#hasLooked || this.#isDiverting ? 0 : endOfShort(bytes, this.#at, this.#threshold);
    this.#hasLooked = true;
    if (short > this.#at) {
      this.#nesting.reset();
      this.#at = short;
      return true;
    }
    const first = bytes[this.#at] as number;
    if (isLineBreak(first)) {
      // An event is over, but for the LF of CR LF.
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
    // The text of an event: most are short, and whoever joins them finds what spans them.
    if (this.#isDiverting) {
      this.#emit(this.#at);
      this.#state = 'url';
      return true;
    }
    const end = findStringEnd(this.#bytes, this.#at, true);
    return this.#bytes[end] === quote && end - this.#at < this.#deltaThreshold ? this.#endString(end) : true;
  }

  /** Goes on behind a string's quote, or at the line break that broke it off. False at an escape that is cut. */
  #endString(end: number): boolean {
    this.#at = end;
    if (end < this.#bytes.length && this.#bytes[end] !== backslash) this.#state = 'outside';
    if (this.#bytes[end] === quote) this.#at++;
    return this.#bytes[end] !== backslash;
  }

  /** Prose: looks for the head of a data URL. */
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
    this.#at = skipChars(this.#bytes, this.#at, startOfPartialHead(text));
    return false;
  }

  /** The next part of a string that may be long Base64, or of a data URL's Base64 in prose. */
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
      // A text document has its `data`, too: the string goes on as JSON.
      this.#state = 'plain';
      return true;
    }
    this.#at = part.end;
    if (!ended) return part.end === this.#bytes.length;
    if (!inProse) return this.#endString(part.end);
    this.#state = 'text';
    return true;
  }

  /** Whether a string's part ends with the string (or, in prose, with its Base64), not with the chunk. */
  #hasEnded({ end }: StringPart): boolean {
    return end < this.#bytes.length && (this.#bytes[end] !== backslash || escapeLength(this.#bytes, end) > 0);
  }

  #divert({ decoded, end }: StringPart, ended: boolean): void {
    if (decoded.length > 0) this.#pieces.push({ type: 'base64', bytes: decoded });
    this.#from = end;
    const byQuote = this.#bytes[end] === quote;
    // A Markdown picture that lacks its parenthesis goes on in the text of the next event: its run stays open.
    if (!ended || (this.#isSse && this.#state === 'url' && this.#inParens && byQuote)) return;
    // A string that a line break ended was cut: no placeholder takes its place.
    if (this.#state !== 'data' || byQuote) this.#pieces.push({ type: 'close' });
    this.#isDiverting = false;
  }
}

/**
 * Behind the last blank line, where every line from `start` up to there is shorter than `shortest`; else 0. Such events have
 * nothing to divert; to read them line by line takes many times as long.
 */
function endOfShort(bytes: Uint8Array, start: number, shortest: number): number {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = text.lastIndexOf('\n\n') + 2;
  for (let at = start; end - at > shortest;) {
    const next = text.lastIndexOf('\n', at + shortest - 1) + 1;
    if (next <= at) return 0;
    at = next;
  }
  return end < 2 ? 0 : end;
}

/** Where the head of a data URL may begin that goes on in the next chunk; its parenthesis belongs to it. */
function startOfPartialHead(text: string): number {
  let at = Math.max(0, text.length - longestPartialHead);
  while (at < text.length && matchDataUrl(text, at).kind !== 'partial') at++;
  return text[at - 1] === '(' ? at - 1 : at;
}
