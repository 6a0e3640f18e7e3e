/** How long the rest of a body is waited for; undefined: as long as it takes. Asked before each chunk. */
export type Patience = () => number | undefined;

/**
 * Reads a body that may not end though its reply has (deviation 24: only pings follow). The time runs from the moment
 * the patience changes; when it is over, so is the body.
 */
export async function* readWhilePatient(
  chunks: AsyncIterable<Uint8Array>,
  patience: Patience,
): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  let limit: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  let over: Promise<undefined> | undefined;
  try {
    for (;;) {
      const ms = patience();
      if (ms !== undefined && ms !== limit) {
        clearTimeout(timer);
        over = new Promise((resolve) => (timer = setTimeout(() => resolve(undefined), ms)));
        limit = ms;
      }
      const next = await (over ? Promise.race([iterator.next(), over]) : iterator.next());
      if (next === undefined || next.done) return;
      yield next.value;
    }
  } finally {
    clearTimeout(timer);
    // Not waited for: it would wait for the chunk that never comes.
    void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}
