/**
 * A body that gives what `next` gives. `leave` is called when its reader stops early. It is not a generator, whose `return` would
 * wait for the chunk that is not there yet, and which is slower: every chunk of every reply passes here.
 */
export function toReadableBody(
  next: () => Promise<IteratorResult<Uint8Array>>,
  leave: () => unknown,
): AsyncIterableIterator<Uint8Array> {
  return {
    next,
    async return() {
      await leave();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
