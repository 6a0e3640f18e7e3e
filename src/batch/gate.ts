/** Waits so many ms; rejects with the signal's reason. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

export interface GateOptions {
  /** Monotonic clock in ms: a jump of the wall clock changes no wait. */
  elapsed: () => number;
  sleep: Sleep;
  /** Jobs of the run; a tenth of them may be retried beyond what successes give back. */
  jobs: number;
}

/** What the workers of a batch share: the pause after a 429, and the budget of retries (faults.md 3). */
export interface BatchGate {
  enter(signal: AbortSignal): Promise<void>;
  close(waitMs: number): void;
  allowRetry(): boolean;
  /** A success gives a tenth of a retry back. */
  succeeded(): void;
  /** ms until it opens; 0 when it is open. */
  readonly waitMs: number;
}

const longestWaitMs = 2 ** 31 - 1;

/** An open gate is passed thousands of times. */
const open = Promise.resolve();

/** Opens a gate with a full budget: max(10, 10 % of the jobs) retries. */
export function createGate({ elapsed, sleep, jobs }: GateOptions): BatchGate {
  const budget = Math.max(10, Math.ceil(jobs / 10));
  let tokens = budget;
  let opensAt = 0;
  const left = (): number => Math.max(0, opensAt - elapsed());
  const wait = async (signal: AbortSignal): Promise<void> => {
    for (let ms = left(); ms > 0; ms = left()) await sleep(ms, signal);
  };
  return {
    enter: (signal) => (left() > 0 ? wait(signal) : open),
    close(waitMs) {
      opensAt = Math.max(opensAt, elapsed() + Math.min(Math.max(0, waitMs), longestWaitMs));
    },
    allowRetry() {
      if (tokens < 1) return false;
      tokens--;
      return true;
    },
    succeeded() {
      tokens = Math.min(budget, tokens + 0.1);
    },
    get waitMs() {
      return left();
    },
  };
}
