/** What all requests may hold together. */
export interface Budget {
  /**
   * Waits until there is room, first come, first served; rejects when the signal aborts. More than the whole budget
   * counts as the whole. Returns what gives it back; only its first call counts.
   */
  take(bytes: number, signal: AbortSignal): Promise<() => void>;
}

/** A budget of `capacity` bytes. */
export function createBudget(capacity: number): Budget {
  let free = capacity;
  const waiting = new Set<{ bytes: number; start: () => void }>();
  const startNext = (): void => {
    for (const waiter of waiting) {
      if (waiter.bytes > free) return;
      waiting.delete(waiter);
      free -= waiter.bytes;
      waiter.start();
    }
  };
  const wait = (bytes: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.delete(waiter);
        startNext();
        reject(new Error('the caller left'));
      };
      const start = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const waiter = { bytes, start };
      if (signal.aborted) return leave();
      signal.addEventListener('abort', leave, { once: true });
      waiting.add(waiter);
      startNext();
    });
  return {
    async take(wanted, signal) {
      const bytes = Math.min(wanted, capacity);
      await wait(bytes, signal);
      let held = bytes;
      return () => {
        free += held;
        held = 0;
        startNext();
      };
    },
  };
}
