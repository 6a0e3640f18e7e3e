import type { Signal } from '../client/client-types.ts';
import { setTimeout as wait } from 'node:timers/promises';
import { longestTimerMs } from '../clock.ts';

/** Waits; rejects with the signal's reason. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** Waits by a timer of Node, at most for its longest time. */
export const sleepByTimer: Sleep = (ms, signal) =>
  wait(Math.min(ms, longestTimerMs), undefined, { signal }).catch(() => signal.throwIfAborted());

export interface GateOptions {
  /** Monotonic clock in ms: the wall clock can jump. */
  elapsed: () => number;
  sleep: Sleep;
  /** Number of requests; a tenth of them can be retried, and more after successes. */
  jobs: number;
}

/** A gate that the calls of a batch share: one 429 makes all of them wait, and too many failures end the retries. */
export interface Gate {
  /** Resolves when a request may be sent. Rejects with the signal's reason. */
  enter(signal: Signal): Promise<void>;
  /** Holds back other requests for this time, in ms, after a 429. */
  close(waitMs: number): void;
  /** Called before each retry; false ends the retries. */
  allowRetry?(): boolean;
}

/** A gate for many requests: the pause after a 429, and the budget of retries. */
export interface SharedGate extends Gate {
  allowRetry(): boolean;
  /** A success gives back a tenth of a retry. */
  succeeded(): void;
  /** ms until it opens; 0 when it is open. */
  readonly waitMs: number;
}

/** Opens a gate with a full budget: max(10, 10 % of the jobs) retries. */
export function createGate({ elapsed, sleep, jobs }: GateOptions): SharedGate {
  const budget = Math.max(10, Math.ceil(jobs / 10));
  let tokens = budget;
  let opensAt = 0;
  // Shared, because an open gate is entered thousands of times.
  const atOnce = Promise.resolve();
  const left = (): number => Math.max(0, opensAt - elapsed());
  const wait = async (signal: AbortSignal): Promise<void> => {
    for (let ms = left(); ms > 0; ms = left()) await sleep(ms, signal);
  };
  return {
    enter: (signal) => (left() > 0 ? wait(signal) : atOnce),
    close(waitMs) {
      opensAt = Math.max(opensAt, elapsed() + Math.min(Math.max(0, waitMs), longestTimerMs));
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
