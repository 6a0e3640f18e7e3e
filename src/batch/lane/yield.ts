/** The longest work in one turn of the event loop, in ms. What is left waits for turns of its own. */
const longestMs = 2;

/**
 * Keeps turns short. Many replies may come at once; read all in one turn, they would hold up the requests that follow them
 * until its end, and go out together again. Undefined: there is time left.
 */
export function createYield(elapsed: () => number): () => Promise<void> | undefined {
  const waiting: (() => void)[] = [];
  let began: number | undefined;
  const end = (): void => void (began = undefined);
  const next = (): void => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(next);
  };
  const isShort = (): boolean => {
    if (began === undefined) setImmediate(end);
    began ??= elapsed();
    return elapsed() - began < longestMs;
  };
  return () => {
    if (waiting.length === 0 && isShort()) return undefined;
    return new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(next);
    });
  };
}
