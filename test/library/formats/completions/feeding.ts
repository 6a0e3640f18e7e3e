import { GatewayError } from '../../../../src/library/errors.ts';
import { createCompletionsDecoder } from '../../../../src/library/formats/completions/reply.ts';
import type { ReplyProgress, ReplyEvent, DecoderInput } from '../../../../src/library/formats/events.ts';
import { readEvents } from '../../../../src/library/transport/sse.ts';

/** What a decoder made of a stream. */
export interface Fed {
  events: ReplyEvent[];
  error: GatewayError | undefined;
  progress: ReplyProgress;
}

/** Feeds the data of events, then ends. */
export function feedAll(data: readonly (string | DecoderInput)[]): Fed {
  const events: DecoderInput[] = data.map((one) => (typeof one === 'string' ? { data: one } : one));
  const reading = startReading();
  reading.feed(events);
  return reading.end();
}

/** Feeds the bytes of a body through the parser of streams, each of `parts` as it arrives. */
export async function feedBytes(...parts: Uint8Array[]): Promise<Fed> {
  const reading = startReading();
  for await (const events of readEvents(arriving(parts))) reading.feed(events);
  return reading.end();
}

/** As the client reads a stream: what throws ends it, and so does what is broken. */
function startReading(): { feed(events: readonly DecoderInput[]): void; end(): Fed } {
  const decoder = createCompletionsDecoder();
  const events: ReplyEvent[] = [];
  let error: GatewayError | undefined;
  return {
    feed(list) {
      for (const event of list) {
        if (error !== undefined || decoder.progress === 'ended') return;
        try {
          events.push(...decoder.feed(event));
        } catch (thrown) {
          if (!(thrown instanceof GatewayError)) throw thrown;
          error = thrown;
        }
        const last = events.at(-1);
        if (last?.type === 'broken') error = last.error;
      }
    },
    end() {
      events.push(...decoder.end());
      return { events, error, progress: decoder.progress };
    },
  };
}

async function* arriving(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield part;
}

/** A body of events without names. */
export function sse(...data: string[]): string {
  return data.map((one) => `data: ${one}\n\n`).join('');
}

/** A chunk that adds to the first candidate. */
export function chunk(delta: object | null, more: object = {}): string {
  return JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
  });
}

/** The text of events of one kind, joined. */
export function textOf(events: readonly ReplyEvent[], type: 'text' | 'thinking' = 'text'): string {
  return events.map((event) => (event.type === type ? event.text : '')).join('');
}

/** The events of some kinds. */
export function only(events: readonly ReplyEvent[], ...types: ReplyEvent['type'][]): ReplyEvent[] {
  return events.filter(({ type }) => types.includes(type));
}
