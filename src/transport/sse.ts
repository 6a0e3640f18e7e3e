import { createParser, type ParseError } from 'eventsource-parser';
import { GatewayError } from '../errors.ts';
import { isAscii, isUtf8 } from 'node:buffer';

/** One server-sent event. */
export interface ServerEvent {
  /** What its `event:` line said. */
  event?: string;
  data: string;
  /** The body ended without the blank line that ends an event: it is either whole or cut in the middle. */
  unterminated?: true;
}

/** Bounds of a stream. */
export interface EventLimits {
  /** Most that an event takes in memory (an image is one line of Base64). */
  maxEventBytes?: number | undefined;
  /** Most events of a body. */
  maxEvents?: number | undefined;
  /** Most bytes of a body, comments included. */
  maxBytes?: number | undefined;
}

/**
 * Reads what stands whole at a position of the stream's text, between two events, and how far it goes: events so frequent
 * that cutting each into its fields would take most of the time. Undefined for anything else.
 */
export type Shortcut<Known> = (text: string, at: number) => { value: Known; events: number; end: number } | undefined;

const mebibyte = 1024 * 1024;

/**
 * Cuts a body into server-sent events; one array for each arriving chunk, so that its deltas may share a write.
 * Takes LF, CRLF and CR, a BOM, comments, and a last event without its blank line (deviations 27, 29, 31, 33).
 * Throws GatewayError bad-reply past a limit and at a byte that is no UTF-8, and whatever the body throws; the events in
 * front of that are given before.
 */
export async function* readEvents<Known extends object = never>(
  chunks: AsyncIterable<Uint8Array>,
  options: EventLimits & { shortcut?: Shortcut<Known> | undefined } = {},
): AsyncGenerator<(ServerEvent | Known)[]> {
  const decode = createUtf8Decoder();
  const cutter = createCutter(options);
  for await (const chunk of chunks) {
    const { text, isBroken } = decode(chunk);
    const events = cutter.cut(text, chunk.byteLength);
    if (events.length > 0) yield events;
    cutter.check();
    if (isBroken) throw badStream('an event of the stream is not UTF-8');
  }
  const rest = cutter.cut(`${decode().text}\n\n`, 0);
  for (const event of rest) Object.assign(event, { unterminated: true });
  if (rest.length > 0) yield rest;
  cutter.check();
}

function badStream(what: string): GatewayError {
  return new GatewayError('bad-reply', what, { sent: 'yes', retryable: false });
}

interface Cutter<Known> {
  /** Takes the stream's text as it comes and gives the events that ended in it, up to a limit. */
  cut(text: string, bytes: number): (ServerEvent | Known)[];
  /** Throws GatewayError bad-reply where a limit was met. */
  check(): void;
}

function createCutter<Known extends object>({
  maxEventBytes = 64 * mebibyte,
  maxEvents = 10_000_000,
  maxBytes = 1024 * mebibyte,
  shortcut,
}: EventLimits & { shortcut?: Shortcut<Known> | undefined }): Cutter<Known> {
  let events: (ServerEvent | Known)[] = [];
  let failure: string | undefined;
  const tooLarge = `an event of the stream is larger than ${maxEventBytes} bytes`;
  const count = { events: 0, bytes: 0 };
  const open = createOpenEvent({
    maxEventBytes,
    onTooLarge() {
      failure ??= tooLarge;
    },
    onEvent({ event, data }) {
      count.events++;
      // An event that lies whole inside one feed never meets the parser's own limit.
      if (data.length > maxEventBytes) failure ??= tooLarge;
      else if (failure === undefined) events.push(event === undefined ? { data } : { event, data });
    },
  });
  /** The parser holds nothing: it has met the blank line of an event. */
  let isBetween = false;
  /** Takes an event, or a run of them, and says where it ends. */
  const take = (text: string, at: number): number | undefined => {
    if (shortcut === undefined || failure !== undefined || text.length > maxEventBytes) return undefined;
    const known = isBetween ? shortcut(text, at) : undefined;
    const end = known?.end ?? text.indexOf('\n\n', at) + 2;
    if (end < 2) return undefined;
    if (known === undefined) open.end(text.slice(at, end));
    else events.push(known.value);
    count.events += known?.events ?? 0;
    isBetween = true;
    return end;
  };
  return {
    cut(text, bytes) {
      count.bytes += bytes;
      let at = 0;
      for (let next: number | undefined = 0; next !== undefined; next = take(text, at)) at = next;
      if (at < text.length && failure === undefined) {
        open.feed(text.slice(at));
        isBetween = false;
      }
      if (count.events > maxEvents) failure ??= `the stream has more than ${maxEvents} events`;
      if (count.bytes > maxBytes) failure ??= `the stream is larger than ${maxBytes} bytes`;
      const found = events;
      events = [];
      return found;
    },
    check() {
      if (failure !== undefined) throw badStream(failure);
    },
  };
}

/** What a line costs beside its characters: the parser joins lines one by one. */
const lineCost = 64;
const blankLine = /\n\r?\n|\r\r/;

/** The event of a stream that has begun and not ended. */
interface OpenEvent {
  /** Goes on in the event that is open, maybe over its end. Not to be called past the limit. */
  feed(text: string): void;
  /** The same, where the text ends with a blank line. */
  end(text: string): void;
}

/** The parser with a bound on what it holds of an event that does not end: its own counts no lines. */
function createOpenEvent({
  maxEventBytes,
  onEvent,
  onTooLarge,
}: {
  maxEventBytes: number;
  onEvent(event: { event?: string | undefined; data: string }): void;
  onTooLarge(): void;
}): OpenEvent {
  let held = 0;
  const parser = createParser({
    maxBufferSize: maxEventBytes,
    onEvent(event) {
      held = 0;
      onEvent(event);
    },
    onError({ type }: ParseError) {
      if (type === 'max-buffer-size-exceeded') onTooLarge();
    },
  });
  return {
    feed(text) {
      held += text.length + lineCost * linesIn(text);
      parser.feed(text);
      if (blankLine.test(text)) held = 0;
      if (held > maxEventBytes) onTooLarge();
    },
    end(text) {
      parser.feed(text);
      held = 0;
    },
  };
}

function linesIn(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  // Lines may end with CR alone.
  if (lines === 0) for (let at = text.indexOf('\r'); at >= 0; at = text.indexOf('\r', at + 1)) lines++;
  return lines;
}

/** Text of a body. */
interface DecodedText {
  text: string;
  /** A byte behind the text is no UTF-8. */
  isBroken: boolean;
}

/**
 * Decodes a body in pieces; without one, what is left at its end. A byte order mark in front is taken away. Most pieces are
 * ASCII, which is copied.
 */
function createUtf8Decoder(): (chunk?: Uint8Array) => DecodedText {
  let held: Uint8Array = new Uint8Array();
  let isStart = true;
  return (chunk) => {
    // A body that ends inside a character was cut there.
    if (chunk === undefined) return { text: held.length > 0 ? '\ufffd' : '', isBroken: false };
    const view = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (!isStart && held.length === 0 && isAscii(view)) return { text: view.toString('latin1'), isBroken: false };
    const bytes = held.length > 0 ? Buffer.concat([held, view]) : view;
    const end = wholeEnd(bytes);
    held = Uint8Array.from(bytes.subarray(end));
    const whole = bytes.subarray(0, end);
    const isBroken = !isUtf8(whole);
    const text = whole.toString('utf8', 0, isBroken ? validEnd(whole) : end);
    const isMarked = isStart && text.startsWith('\ufeff');
    isStart &&= text === '';
    return { text: isMarked ? text.slice(1) : text, isBroken };
  };
}

/** In front of a last character of which bytes are missing. */
function wholeEnd(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    if (isContinuation(byte)) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Where the first byte stands that is no UTF-8, or the character that it breaks. */
function validEnd(bytes: Uint8Array): number {
  let [valid, broken] = [0, bytes.length];
  while (broken - valid > 1) {
    const middle = (valid + broken) >> 1;
    if (isUtf8(bytes.subarray(0, wholeEnd(bytes.subarray(0, middle))))) valid = middle;
    else broken = middle;
  }
  return wholeEnd(bytes.subarray(0, valid));
}
