import { type Answer, readContent, readStreamedContent } from '../../src/client/content.ts';
import { readMessage } from '../../src/client/messages.ts';
import type { StreamDelta } from '../../src/formats/messages/types.ts';
import { createMemoryStore } from '../../src/images/store.ts';
import type { HttpReply } from '../../src/transport/types.ts';

/** A reply of status 200 whose body comes in these chunks, and then ends, or breaks off with an error. */
export function replyOf(chunks: Iterable<Uint8Array>, end?: Error): HttpReply {
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield Uint8Array.from(chunk);
    if (end) throw end;
  }
  return { status: 200, headers: {}, body: body() };
}

/** What a reader of a messages reply sees: every delta, and the answer at its end. Pictures stay in memory. */
export function messageOf(reply: HttpReply, { joined }: { joined?: true | undefined } = {}): Promise<Heard> {
  return listen(readMessage(reply, { store: createMemoryStore(), model: 'm', joined }));
}

/** The same of a content reply. */
export function streamedContentOf(reply: HttpReply): Promise<Heard> {
  return listen(readStreamedContent(reply, { store: createMemoryStore(), model: 'm' }));
}

interface Heard {
  deltas: StreamDelta[];
  answer: Answer;
}

async function listen(reading: AsyncGenerator<StreamDelta[], Answer>): Promise<Heard> {
  const deltas: StreamDelta[] = [];
  for (;;) {
    const next = await reading.next();
    if (next.done) return { deltas, answer: next.value };
    deltas.push(...next.value);
  }
}

/** The answer of a content reply. Pictures stay in memory. */
export function contentOf(reply: HttpReply): Promise<Answer> {
  return readContent(reply, { store: createMemoryStore(), model: 'm' });
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
