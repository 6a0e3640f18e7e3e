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

const mebibyte = 1024 * 1024;

/**
 * Cuts a body into server-sent events (spec.md 6); one array for each arriving chunk, so that its deltas may share a write.
 * Takes LF, CRLF and CR, a BOM, comments, and a last event without its blank line (wire.md 6 #27, 29, 31, 33).
 * Throws GatewayError bad-reply past a limit, and whatever the body throws.
 */
export async function* readEvents(
  chunks: AsyncIterable<Uint8Array>,
  { maxEventBytes = 64 * mebibyte, maxEvents = 10_000_000, maxBytes = 1024 * mebibyte }: EventLimits = {},
): AsyncGenerator<ServerEvent[]> {
  const decoder = new TextDecoder();
  const found = { events: [] as ServerEvent[], failure: undefined as GatewayError | undefined };
  const fail = (what: string): void => {
    found.failure ??= new GatewayError('bad-reply', what, { sent: 'yes', retryable: false });
  };
  const parser = createParser({
    maxBufferSize: maxEventBytes,
    onEvent({ event, data }) {
      // An event that lies whole inside one feed never meets the parser's own limit.
      if (data.length > maxEventBytes) fail(`an event of the stream is larger than ${maxEventBytes} bytes`);
      else found.events.push(event === undefined ? { data } : { event, data });
    },
    onError(error: ParseError) {
      if (error.type === 'max-buffer-size-exceeded')
        fail(`an event of the stream is larger than ${maxEventBytes} bytes`);
    },
  });
  const count = { events: 0, bytes: 0 };
  const feed = (text: string): ServerEvent[] => {
    parser.feed(text);
    const { events } = found;
    found.events = [];
    count.events += events.length;
    if (count.events > maxEvents) fail(`the stream has more than ${maxEvents} events`);
    if (count.bytes > maxBytes) fail(`the stream is larger than ${maxBytes} bytes`);
    if (found.failure !== undefined) throw found.failure;
    return events;
  };
  for await (const chunk of chunks) {
    count.bytes += chunk.byteLength;
    const events = feed(decoder.decode(chunk, { stream: true }));
    if (events.length > 0) yield events;
  }
  const rest = feed(`${decoder.decode()}\n\n`);
  for (const event of rest) event.unterminated = true;
  if (rest.length > 0) yield rest;
}
