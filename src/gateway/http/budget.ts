/** What all requests may hold together. */
export interface Budget {
  /**
   * Waits until there is room, in the order of those who came; rejects when the signal aborts. More than the whole budget
   * counts as the whole. Returns what gives it back; only its first call counts.
   */
  take(bytes: number, signal: AbortSignal): Promise<() => void>;
}

interface Turn {
  bytes: number;
  start: () => void;
}

/** A budget of so many bytes. */
export function createBudget(capacity: number): Budget {
  let free = capacity;
  let waiting: Turn[] = [];
  const startNext = (): void => {
    for (let [next] = waiting; next !== undefined && next.bytes <= free; [next] = waiting) {
      waiting.shift();
      free -= next.bytes;
      next.start();
    }
  };
  const wait = (bytes: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting = waiting.filter((turn) => turn !== own);
        startNext();
        reject(new Error('the caller left'));
      };
      const start = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const own: Turn = { bytes, start };
      if (signal.aborted) return leave();
      signal.addEventListener('abort', leave, { once: true });
      waiting.push(own);
      startNext();
    });
  return {
    async take(wanted, signal) {
      const bytes = Math.min(wanted, capacity);
      await wait(bytes, signal);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        free += bytes;
        startNext();
      };
    },
  };
}
