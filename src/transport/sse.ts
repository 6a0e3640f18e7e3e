import { isAscii } from 'node:buffer';
import { createParser, type ParseError } from 'eventsource-parser';
import { GatewayError } from '../errors.ts';

/** One server-sent event. */
export interface ServerEvent {
  /** What its `event:` line said. */
  event?: string;
  data: string;
  /** The body ended without the blank line that ends an event: it is either whole or cut in the middle. */
  unterminated?: true;
}

/** Bounds of a stream (faults.md 2b). */
export interface EventLimits {
  /** Longest event (an image is one line of Base64). */
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
 * Cuts a body into server-sent events (spec.md 6); one array for each arriving chunk, so that its deltas may share a write.
 * Takes LF, CRLF and CR, a BOM, comments, and a last event without its blank line (wire.md 6 #27, 29, 31, 33).
 * Throws GatewayError bad-reply past a limit, and whatever the body throws.
 */
export async function* readEvents<Known extends object = never>(
  chunks: AsyncIterable<Uint8Array>,
  options: EventLimits & { shortcut?: Shortcut<Known> | undefined } = {},
): AsyncGenerator<(ServerEvent | Known)[]> {
  const decode = createDecoder();
  const cut = createCutter(options);
  for await (const chunk of chunks) {
    const events = cut(decode(chunk), chunk.byteLength);
    if (events.length > 0) yield events;
  }
  const rest = cut(`${decode()}\n\n`, 0);
  for (const event of rest) Object.assign(event, { unterminated: true });
  if (rest.length > 0) yield rest;
}

/** UTF-8 in pieces. Most are ASCII, which is copied where the decoder holds no half of a character. */
function createDecoder(): (chunk?: Uint8Array) => string {
  const decoder = new TextDecoder();
  // A mark of the byte order at the beginning is the decoder's.
  let isWhole = false;
  return (chunk) => {
    if (chunk === undefined) return decoder.decode();
    if (isWhole && isAscii(chunk))
      return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1');
    isWhole = (chunk.at(-1) ?? 0x80) < 0x80;
    return decoder.decode(chunk, { stream: true });
  };
}

/** Takes the stream's text as it comes and gives the events that ended in it. */
function createCutter<Known extends object>({
  maxEventBytes = 64 * mebibyte,
  maxEvents = 10_000_000,
  maxBytes = 1024 * mebibyte,
  shortcut,
}: EventLimits & { shortcut?: Shortcut<Known> | undefined }): (text: string, bytes: number) => (ServerEvent | Known)[] {
  let events: (ServerEvent | Known)[] = [];
  let failure: GatewayError | undefined;
  const fail = (what: string): void => {
    failure ??= new GatewayError('bad-reply', what, { sent: 'yes', retryable: false });
  };
  const tooLarge = `an event of the stream is larger than ${maxEventBytes} bytes`;
  const count = { events: 0, bytes: 0 };
  const parser = createParser({
    maxBufferSize: maxEventBytes,
    onEvent({ event, data }) {
      count.events++;
      // An event that lies whole inside one feed never meets the parser's own limit.
      if (data.length > maxEventBytes) fail(tooLarge);
      else events.push(event === undefined ? { data } : { event, data });
    },
    onError(error: ParseError) {
      if (error.type === 'max-buffer-size-exceeded') fail(tooLarge);
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
    if (known === undefined) parser.feed(text.slice(at, end));
    else events.push(known.value);
    count.events += known?.events ?? 0;
    isBetween = true;
    return end;
  };
  const feed = (text: string): void => {
    let at = 0;
    for (let next: number | undefined = 0; next !== undefined; next = take(text, at)) at = next;
    if (at === text.length || failure !== undefined) return;
    parser.feed(text.slice(at));
    isBetween = false;
  };
  return (text, bytes) => {
    count.bytes += bytes;
    feed(text);
    if (count.events > maxEvents) fail(`the stream has more than ${maxEvents} events`);
    if (count.bytes > maxBytes) fail(`the stream is larger than ${maxBytes} bytes`);
    if (failure !== undefined) throw failure;
    const found = events;
    events = [];
    return found;
  };
}
