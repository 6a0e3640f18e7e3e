/** The first bytes of a body that are no white space (BOM included), and the body from its start. */
export async function peek(
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ head: Uint8Array; chunks: AsyncIterable<Uint8Array> }> {
  const iterator = chunks[Symbol.asyncIterator]();
  const seen: Uint8Array[] = [];
  let head: Uint8Array = new Uint8Array();
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    seen.push(Uint8Array.from(next.value));
    head = Buffer.concat(seen);
    if (head.byteLength >= enough || new TextDecoder().decode(head).trim().length >= longestMark) break;
  }
  return { head, chunks: rest(seen, iterator) };
}

/** White space in front of a reply ends somewhere; the sniffers need no more than this. */
const enough = 4096;
const longestMark = 'event:'.length;

/** No generator: that one would hear of a reader's leave only when the next chunk comes. */
function rest(seen: Uint8Array[], iterator: AsyncIterator<Uint8Array>): AsyncIterableIterator<Uint8Array> {
  return {
    next() {
      const value = seen.shift();
      return value === undefined ? iterator.next() : Promise.resolve({ done: false, value });
    },
    return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
