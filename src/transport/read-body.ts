/** Reads what comes of an error's body: at most `maxBytes`, at most `maxMs`. It never throws for a body that is cut or slow. */
export async function readSome(
  chunks: AsyncIterable<Uint8Array>,
  { maxBytes, maxMs }: { maxBytes: number; maxMs: number },
): Promise<Buffer> {
  const iterator = chunks[Symbol.asyncIterator]();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), maxMs)));
  try {
    while (bytes < maxBytes) {
      const next = await Promise.race([iterator.next(), over]);
      if (next === undefined || next.done) break;
      parts.push(next.value);
      bytes += next.value.byteLength;
    }
  } catch {
    // A cut body is no second failure: what came of it still tells about the first.
  } finally {
    clearTimeout(timer);
    void Promise.resolve(iterator.return?.()).catch(() => {});
  }
  return Buffer.concat(parts, Math.min(bytes, maxBytes));
}
