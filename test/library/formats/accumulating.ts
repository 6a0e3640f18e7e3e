import { createAccumulator } from '../../../src/library/client/accumulator.ts';
import type { Result } from '../../../src/library/client/result.ts';
import { GatewayError } from '../../../src/library/errors.ts';
import type { ReplyProgress, ReplyEvent, DecoderInput, StreamDelta } from '../../../src/library/formats/events.ts';
import type { Format } from '../../../src/library/formats/format.ts';
import { keepGoodImages, type ImageStore } from '../../../src/library/client/image-store.ts';
import { createMemoryStore } from '../../../src/library/images/store.ts';

/** What the decoder of a format said of a reply, and the result that it makes. Pictures stay where they are: in events. */
export interface Folded {
  events: ReplyEvent[];
  deltas: StreamDelta[];
  result: Result;
  /** The error that ended the reading: thrown, or reported by an event. */
  error: GatewayError | undefined;
  progress: ReplyProgress;
}

const head = { status: 200, headers: {} };

/** Reads a whole reply. Throws what its decoder throws. */
export function foldWhole(format: Format, json: unknown): Folded {
  const decoder = format.createDecoder(head);
  const fold = createAccumulator({ model: 'm', maxCandidates: 64, store: noStore() });
  const events = decoder.whole(json);
  const deltas = [...fold.add(events), ...fold.end(true)];
  const { result, error } = fold.result();
  return { events, deltas, result, error: brokenBy(events) ?? error, progress: decoder.progress };
}

/** Feeds a stream until one of its events throws. A string is the data of an event without a name. */
export function foldStream(format: Format, stream: readonly (string | DecoderInput)[]): Folded {
  const decoder = format.createDecoder(head);
  const fold = createAccumulator({ model: 'm', maxCandidates: 64, store: noStore() });
  const events: ReplyEvent[] = [];
  const deltas: StreamDelta[] = [];
  const add = (more: readonly ReplyEvent[]) => {
    events.push(...more);
    deltas.push(...fold.add(more));
  };
  let thrown: GatewayError | undefined;
  try {
    for (const event of stream) add(decoder.feed(typeof event === 'string' ? { data: event } : event));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    thrown = error;
  }
  add(decoder.end());
  deltas.push(...fold.end(decoder.progress !== 'open'));
  const { result, error } = fold.result();
  return { events, deltas, result, error: thrown ?? brokenBy(events) ?? error, progress: decoder.progress };
}

function noStore(): ImageStore {
  return keepGoodImages(createMemoryStore());
}

function brokenBy(events: readonly ReplyEvent[]): GatewayError | undefined {
  return events.flatMap((event) => (event.type === 'broken' ? event.error : []))[0];
}

/** The events of one type. */
export function eventsOf<Type extends ReplyEvent['type']>(
  events: readonly ReplyEvent[],
  type: Type,
): Extract<ReplyEvent, { type: Type }>[] {
  return events.filter((event): event is Extract<ReplyEvent, { type: Type }> => event.type === type);
}
