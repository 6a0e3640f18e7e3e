import type { StreamDelta } from '../../src/library/formats/events.ts';
import { content } from '../../src/library/formats/content/format.ts';
import type { Format } from '../../src/library/formats/format.ts';
import { messages } from '../../src/library/formats/messages/format.ts';
import { readDeltas, type ReadOptions } from '../../src/library/client/read-reply.ts';
import type { Answer } from '../../src/library/client/result.ts';
import { createMemoryStore } from '../../src/library/images/store.ts';
import type { HttpReply } from '../../src/library/transport/types.ts';

/** A reply of status 200 whose body comes in these chunks, and then ends, or breaks off with an error. */
export function replyOf(chunks: Iterable<Uint8Array>, end?: Error): HttpReply {
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield Uint8Array.from(chunk);
    if (end) throw end;
  }
  return { status: 200, headers: {}, body: body() };
}

/** How a reply is read. Pictures stay in memory. */
type Listening = Partial<Omit<ReadOptions, 'store' | 'model'>>;

/** What a reader of a reply sees: every delta, and the answer at its end. */
async function heardOf(reply: HttpReply, format: Format, reading: Listening = {}): Promise<Heard> {
  const deltas: StreamDelta[] = [];
  const steps = readDeltas(reply, { ...reading, store: createMemoryStore(), model: 'm' }, format);
  for (;;) {
    const next = await steps.next();
    if (next.done) return { deltas, answer: next.value };
    deltas.push(...next.value);
  }
}

/** The same of a reply of the messages format. */
export function messageOf(reply: HttpReply, reading?: Listening): Promise<Heard> {
  return heardOf(reply, messages, reading);
}

/** The same of a reply of the content format. */
export function contentOf(reply: HttpReply, reading?: Listening): Promise<Heard> {
  return heardOf(reply, content, reading);
}

export interface Heard {
  deltas: StreamDelta[];
  answer: Answer;
}

/** The text that was printed. */
export function printed(deltas: readonly StreamDelta[]): string {
  return deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join('');
}

/** Cuts a body in two at an offset. */
export function halves(body: Uint8Array, at: number): Uint8Array[] {
  return [body.subarray(0, at), body.subarray(at)];
}

/** Cuts a body at `first` and then every `step` bytes. */
export function* comb(body: Uint8Array, { first, step }: { first: number; step: number }): Generator<Uint8Array> {
  if (first > 0) yield body.subarray(0, first);
  for (let at = first; at < body.length; at += step) yield body.subarray(at, at + step);
}
