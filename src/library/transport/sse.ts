import { isAscii, isUtf8 } from 'node:buffer';
import { createParser, type ParseError } from 'eventsource-parser';
import { badReply } from '../errors.ts';

/** One server-sent event. */
export interface ServerEvent {
  /** The value of its `event:` line. */
  event?: string;
  data: string;
  /** The body ended without the blank line after the event: it may be complete or cut. */
  unterminated?: true;
}

/** Limits of a stream. */
export interface EventLimits {
  /** The memory limit for one event (an image is one line of Base64). */
  maxEventBytes?: number | undefined;
  /** Events of a body. */
  maxEvents?: number | undefined;
  /** Bytes of a body, comments included. */
  maxBytes?: number | undefined;
}

const mebibyte = 1024 * 1024;

/**
 * Parses a body of server-sent events; one array for each chunk that arrives, so that its deltas can share a write.
 * Accepts LF, CRLF and CR, a BOM, comments, and a last event without its blank line (deviations 27, 29, 31, 33).
 * Throws GatewayError bad-reply above a limit and at a byte that is not UTF-8, and any error of the body; earlier events are
 * yielded first.
 */
export async function* readEvents(
  chunks: AsyncIterable<Uint8Array>,
  limits: EventLimits = {},
): AsyncGenerator<ServerEvent[]> {
  const decode = createUtf8Decoder();
  const parser = createEventParser(limits);
  for await (const chunk of chunks) {
    const { text, isInvalid } = decode(chunk);
    const events = parser.parse(text, chunk.byteLength);
    if (events.length > 0) yield events;
    parser.check();
    if (isInvalid) throw badReply('an event of the stream is not UTF-8');
  }
  const rest = [...parser.parse(`${decode().text}\n\n`, 0), ...parser.end()];
  for (const event of rest) event.unterminated = true;
  if (rest.length > 0) yield rest;
  parser.check();
}

/** Memory of a line in addition to its characters: the parser joins lines one by one. */
const lineCost = 64;
const blankLine = /\n\r?\n|\r\r/;

/** The parser of a body, with a limit on the memory of an event that has not ended: its own limit ignores the number of lines. */
function createEventParser({
  maxEventBytes = 64 * mebibyte,
  maxEvents = 10_000_000,
  maxBytes = 1024 * mebibyte,
}: EventLimits) {
  let events: ServerEvent[] = [];
  let failure: string | undefined;
  const tooLarge = `an event of the stream is larger than ${maxEventBytes} bytes`;
  const count = { events: 0, bytes: 0, held: 0 };
  const stray = createStrayReader((event) => void events.push(event));
  const parser = createParser({
    maxBufferSize: maxEventBytes,
    onEvent({ event, data }) {
      count.events++;
      count.held = 0;
      stray.end();
      // The parser does not check its limit for an event that is complete in one feed.
      if (data.length > maxEventBytes) failure ??= tooLarge;
      else if (failure === undefined) events.push(event === undefined ? { data } : { event, data });
    },
    onError({ type, line = '' }: ParseError) {
      if (type === 'max-buffer-size-exceeded') failure ??= tooLarge;
      else if (type === 'unknown-field') stray.add(line);
    },
  });
  return {
    /** Adds text of the stream and returns the events that ended in it, up to a limit. */
    parse(text: string, bytes: number): ServerEvent[] {
      count.bytes += bytes;
      if (text !== '' && failure === undefined) {
        count.held += text.length + lineCost * linesIn(text);
        parser.feed(text);
        if (blankLine.test(text)) count.held = 0;
        if (count.held > maxEventBytes) failure ??= tooLarge;
      }
      if (count.events > maxEvents) failure ??= `the stream has more than ${maxEvents} events`;
      if (count.bytes > maxBytes) failure ??= `the stream is larger than ${maxBytes} bytes`;
      const found = events;
      events = [];
      return found;
    },
    /** Ends the body, and returns its last events. */
    end(): ServerEvent[] {
      stray.end();
      return events.splice(0);
    },
    /** Throws GatewayError bad-reply if a limit was exceeded. */
    check(): void {
      if (failure !== undefined) throw badReply(failure);
    },
  };
}

/** The most characters of such lines: a failure is short. */
const longestStray = 64 * 1024;

/**
 * Makes events of a failure that came without `data:`: in a line `error: …`, or as a body of JSON, which may have several lines
 * (deviation 81).
 */
function createStrayReader(onEvent: (event: ServerEvent) => void) {
  let held = '';
  const end = (): void => {
    if (held !== '') onEvent({ data: held });
    held = '';
  };
  return {
    add(line: string): void {
      const [, said] = /^error:\s*(\S[^]*)$/.exec(line) ?? [];
      if (said !== undefined) {
        end();
        onEvent({ event: 'error', data: said.startsWith('{') ? said : JSON.stringify({ error: said }) });
      } else if (line.startsWith('{')) {
        end();
        held = line;
      } else if (held !== '') held = held.length + line.length > longestStray ? '' : `${held}\n${line}`;
    },
    end,
  };
}

function linesIn(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  // Lines can end with CR only.
  if (lines === 0) for (let at = text.indexOf('\r'); at >= 0; at = text.indexOf('\r', at + 1)) lines++;
  return lines;
}

/**
 * Decodes a body chunk by chunk; a call without a chunk returns the rest at its end. `isInvalid` if the byte after the text is
 * not UTF-8. A byte order mark at the start is removed. Most chunks are ASCII, which is copied.
 */
function createUtf8Decoder(): (chunk?: Uint8Array) => { text: string; isInvalid: boolean } {
  let held: Uint8Array = new Uint8Array();
  let isStart = true;
  return (chunk) => {
    // A body that ends inside a character was cut there.
    if (chunk === undefined) return { text: held.length > 0 ? '\ufffd' : '', isInvalid: false };
    const view = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (!isStart && held.length === 0 && isAscii(view)) return { text: view.toString('latin1'), isInvalid: false };
    const bytes = held.length > 0 ? Buffer.concat([held, view]) : view;
    const end = wholeEnd(bytes);
    held = Uint8Array.from(bytes.subarray(end));
    const whole = bytes.subarray(0, end);
    const isInvalid = !isUtf8(whole);
    const text = whole.toString('utf8', 0, isInvalid ? validEnd(whole) : end);
    const isMarked = isStart && text.startsWith('\ufeff');
    isStart &&= text === '';
    return { text: isMarked ? text.slice(1) : text, isInvalid };
  };
}

/** The end of the last character that is complete. */
function wholeEnd(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    const isContinuation = (byte & 0xc0) === 0x80;
    if (isContinuation) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** The position of the first byte that is not UTF-8, or of the character that it breaks. */
function validEnd(bytes: Uint8Array): number {
  let [valid, invalid] = [0, bytes.length];
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >> 1;
    if (isUtf8(bytes.subarray(0, wholeEnd(bytes.subarray(0, middle))))) valid = middle;
    else invalid = middle;
  }
  return wholeEnd(bytes.subarray(0, valid));
}
