import { divertBase64 } from '../scan/json-scan.ts';
import type { Base64Diversion } from './types.ts';

/** So few bytes hold neither Base64 long enough for a sink nor too many levels: nobody need look at each of them. */
const shortBytes = 8 * 1024;

/**
 * Reads a body to its end and hands over what is left of it without Base64, like `divertBase64`; a short one passes as it is.
 * `take` may keep nothing of what it is given. Throws what reading throws, behind what came before it.
 */
export async function readDivertedBody(
  chunks: AsyncIterable<Uint8Array>,
  diversion: Base64Diversion,
  take: (part: Uint8Array) => void,
): Promise<void> {
  const source = chunks[Symbol.asyncIterator]();
  const held: Uint8Array[] = [];
  let bytes = 0;
  try {
    while (bytes <= shortBytes) {
      const { value, done } = await source.next();
      if (done) break;
      bytes += value.byteLength;
      held.push(new Uint8Array(value));
    }
  } catch (error) {
    held.forEach(take);
    throw error;
  }
  if (bytes <= shortBytes) return held.forEach(take);
  for await (const part of divertBase64(joined(held, source), diversion)) take(part);
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
