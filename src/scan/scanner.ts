import type { Base64Scanner, ScannerOptions, ScanPiece } from './types.ts';
import { DataUrlFinder } from './data-url.ts';
import { createLineReader, type LineReader } from './lines.ts';
import { knownKey, Nesting } from './nesting.ts';
import { Base64Run } from './run.ts';
import { escapeLength, findStringEnd, isKeyByte, isLineBreak, isSpaceOrBom, readBase64, readString } from './string.ts';

const quote = 0x22;
const longestKey = 64;
const nothing: Uint8Array = new Uint8Array();

/** Starts at the beginning of a body. */
export function createBase64Scanner(options: ScannerOptions = {}): Base64Scanner {
  return new Scanner(options);
}

type State = 'start' | 'line-start' | 'outside' | 'plain' | 'data' | 'text' | 'url';

class Scanner implements Base64Scanner {
  readonly #threshold: number;
  readonly #deltaThreshold: number;
  readonly #maxDepth: number;
  readonly #mode: 'json' | 'sse' | undefined;
  #nesting: Nesting;
  #lines: LineReader | undefined;
  #state: State = 'start';
  #run: Base64Run;
  #finder = new DataUrlFinder();
  #pieces: ScanPiece[] = [];
  /** The end of the last chunk where it cut a token (an escape, a key, a line's field). */
  #leftover = nothing;
  #bytes = nothing;
  #at = 0;
  /** Bytes before this position have gone on. */
  #from = 0;

  constructor({ threshold = 16 * 1024, deltaThreshold = 256 * 1024, mode, maxDepth = 10_000 }: ScannerOptions) {
    this.#threshold = threshold;
    this.#deltaThreshold = deltaThreshold;
    this.#maxDepth = maxDepth;
    this.#run = new Base64Run(threshold);
    this.#nesting = new Nesting(maxDepth);
    this.#mode = mode;
  }

  feed(chunk: Uint8Array): ScanPiece[] {
    this.#bytes = this.#leftover.length > 0 ? Buffer.concat([this.#leftover, chunk]) : chunk;
    this.#pieces = [];
    this.#at = 0;
    this.#from = 0;
    while (this.#at < this.#bytes.length && this.#step()) {}
    this.#emit(this.#at);
    this.#leftover = this.#at < this.#bytes.length ? new Uint8Array(this.#bytes.subarray(this.#at)) : nothing;
    this.#bytes = nothing;
    return this.#pieces;
  }

  finish(): Uint8Array[] {
    const held = this.#run.diverted ? [] : [this.#run.takeRaw(), this.#leftover];
    this.#leftover = nothing;
    return held.filter((bytes) => bytes.length > 0);
  }

  /** Goes on by one token. False when the chunk ends inside it. */
  #step(): boolean {
    switch (this.#state) {
      case 'start':
        return this.#detect();
      case 'line-start':
        return this.#lineStart();
      case 'outside':
        return this.#outside();
      case 'plain':
        return this.#plain();
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

  #begin(mode: 'json' | 'sse'): void {
    this.#nesting = new Nesting(this.#maxDepth);
    this.#lines = mode === 'sse' ? createLineReader(this.#threshold) : undefined;
    this.#state = mode === 'sse' ? 'line-start' : 'outside';
  }

  #detect(): boolean {
    while (this.#at < this.#bytes.length && isSpaceOrBom(this.#bytes[this.#at] as number)) this.#at++;
    const first = this.#bytes[this.#at];
    if (first !== undefined) this.#begin(this.#mode ?? (first === 0x7b || first === 0x5b ? 'json' : 'sse'));
    return true;
  }

  #lineStart(): boolean {
    const line = this.#lines?.read(this.#bytes, this.#at, this.#run.diverted);
    if (!line) return false;
    this.#at = line.end;
    if (line.blank) this.#nesting.reset();
    if (line.isData) this.#state = 'outside';
    return true;
  }

  #outside(): boolean {
    const bytes = this.#bytes;
    for (; this.#at < bytes.length; this.#at++) {
      const byte = bytes[this.#at] as number;
      if (byte === quote) return this.#nesting.expectsKey ? this.#key() : this.#openString();
      if (byte === 0x7b || byte === 0x5b) this.#nesting.open(byte === 0x5b);
      else if (byte === 0x7d || byte === 0x5d) this.#nesting.close();
      else if (byte === 0x2c) this.#nesting.comma();
      else if (this.#lines && isLineBreak(byte)) {
        this.#state = 'line-start';
        return true;
      }
    }
    return true;
  }

  #key(): boolean {
    const bytes = this.#bytes;
    const start = this.#at + 1;
    const limit = Math.min(bytes.length, start + longestKey);
    let end = start;
    while (end < limit && isKeyByte(bytes[end] as number)) end++;
    if (end === bytes.length && end < start + longestKey) return false;
    const whole = end < limit && bytes[end] === quote;
    this.#nesting.setKey(whole ? knownKey(bytes, start, end) : undefined);
    this.#at = whole ? end + 1 : start;
    if (!whole) this.#state = 'plain';
    return true;
  }

  #openString(): boolean {
    this.#at++;
    this.#state = this.#nesting.valueKind;
    if (this.#state === 'plain') return true;
    if (this.#state === 'text' && this.#lines) return this.#openDelta();
    this.#run = new Base64Run(this.#threshold);
    this.#finder = new DataUrlFinder();
    return true;
  }

  /** The text of an event: most are short, and whoever joins them finds what spans them. */
  #openDelta(): boolean {
    if (this.#run.diverted) {
      this.#emit(this.#at);
      this.#state = 'url';
      return true;
    }
    const end = findStringEnd(this.#bytes, this.#at, true);
    if (this.#bytes[end] === quote && end - this.#at < this.#deltaThreshold) return this.#endString(end);
    this.#finder = new DataUrlFinder();
    return true;
  }

  #plain(): boolean {
    return this.#endString(findStringEnd(this.#bytes, this.#at, this.#lines !== undefined));
  }

  /** Goes on behind a string's quote, or at the line break that broke it off. False at an escape that is cut. */
  #endString(end: number): boolean {
    this.#at = end;
    if (end < this.#bytes.length && this.#bytes[end] !== 0x5c) this.#state = 'outside';
    if (this.#bytes[end] === quote) this.#at++;
    return this.#bytes[end] !== 0x5c;
  }

  #text(): boolean {
    const { end, found } = this.#finder.find(this.#bytes, this.#at);
    if (!found) return this.#endString(end);
    this.#at = end;
    this.#state = 'url';
    this.#run = new Base64Run(this.#lines ? this.#deltaThreshold : this.#threshold);
    return true;
  }

  /** The next part of a string that may be long Base64, or of a data URL's Base64 in prose. */
  #base64(): boolean {
    const bytes = this.#bytes;
    const inProse = this.#state === 'url';
    const part = inProse ? readBase64(bytes, this.#at) : readString(bytes, this.#at, this.#lines !== undefined);
    if (!this.#run.diverted && this.#run.reaches(part)) {
      if (!this.#run.looksLikeBase64(part)) return this.#giveUp();
      this.#emit(this.#at);
      this.#pieces.push({ type: 'open' });
      this.#pushBase64(this.#run.takeDecoded());
    }
    const cutEscape = bytes[part.end] === 0x5c && escapeLength(bytes, part.end) === 0;
    const ended = part.end < bytes.length && !cutEscape;
    if (this.#run.diverted) this.#divert(part, ended);
    else if (ended) this.#flushHeld();
    else this.#hold(part);
    this.#at = part.end;
    if (!ended) return !cutEscape;
    if (!inProse) return this.#endString(part.end);
    this.#state = 'text';
    return true;
  }

  #divert({ decoded, end }: { decoded: Uint8Array; end: number }, ended: boolean): void {
    this.#pushBase64(decoded);
    this.#from = end;
    const byQuote = this.#bytes[end] === quote;
    // A Markdown picture that lacks its parenthesis goes on in the text of the next event: its run stays open.
    if (!ended || (this.#lines && this.#state === 'url' && this.#finder.inParens && byQuote)) return;
    // A string that a line break ended was cut: no placeholder takes its place.
    if (this.#state !== 'data' || byQuote) this.#pieces.push({ type: 'close' });
    this.#run = new Base64Run(this.#threshold);
  }

  #pushBase64(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#pieces.push({ type: 'base64', bytes });
  }

  #hold(part: { decoded: Uint8Array; end: number }): void {
    this.#emit(this.#at);
    this.#run.hold(this.#bytes.subarray(this.#at, part.end), part);
    this.#from = part.end;
  }

  #flushHeld(): void {
    const raw = this.#run.takeRaw();
    if (raw.length === 0) return;
    this.#emit(this.#at);
    this.#pieces.push({ type: 'json', bytes: raw });
  }

  /** No Base64 after all (a text document has its `data` too): the string goes on as JSON. */
  #giveUp(): boolean {
    this.#flushHeld();
    this.#state = 'plain';
    return true;
  }
}
