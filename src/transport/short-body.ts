import { divertBase64 } from './json-scan.ts';
import type { Base64Diversion } from './types.ts';

/** So few bytes hold neither Base64 long enough for a sink nor too many levels: nobody need look at each of them. */
const shortBytes = 8 * 1024;

/** Like `divertBase64`, for a body that is read whole anyway: a short one passes as it is. */
export async function* divertLongBase64(
  chunks: AsyncIterable<Uint8Array>,
  diversion: Base64Diversion,
): AsyncGenerator<Uint8Array, void> {
  const source = chunks[Symbol.asyncIterator]();
  const held: Uint8Array[] = [];
  let bytes = 0;
  try {
    while (bytes <= shortBytes) {
      const { value, done } = await source.next();
      if (done) return yield* held;
      bytes += value.byteLength;
      held.push(Uint8Array.from(value));
    }
  } catch (error) {
    yield* held;
    throw error;
  }
  yield* divertBase64(joined(held, source), diversion);
}

async function* joined(head: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* head;
    yield* { [Symbol.asyncIterator]: () => rest };
  } finally {
    // Whoever stops inside the head stops the rest, too.
    await rest.return?.();
  }
}
