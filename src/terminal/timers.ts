/** Runs something later; what it returns calls that off. */
export type After = (ms: number, act: () => void) => () => void;

/** The real clock. A timer alone never keeps the process alive. */
export const afterOnClock: After = (ms, act) => {
  const timer = setTimeout(act, ms).unref();
  return () => clearTimeout(timer);
};

/** The same promise, but an abort rejects it at once. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.finally(() => signal.removeEventListener('abort', abort)).then(resolve, reject);
  });
}
