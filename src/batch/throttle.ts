import { setTimeout as wait } from 'node:timers/promises';
import type { Lock } from './lock.ts';
import { longestTimerMs } from '../clock.ts';

/** Waits so many ms; rejects with the signal's reason. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** Waits by a timer of Node, which is not longer than one can be. */
export const sleepByTimer: Sleep = async (ms, signal) =>
  void (await wait(Math.min(ms, longestTimerMs), undefined, { signal }));

export interface GateOptions {
  /** Monotonic clock in ms: a jump of the wall clock changes no wait. */
  elapsed: () => number;
  sleep: Sleep;
  /** Jobs of the run; a tenth of them may be retried beyond what successes give back. */
  jobs: number;
}

/** What the workers of a batch share: the pause after a 429, and the budget of retries. */
export interface BatchGate {
  enter(signal: AbortSignal): Promise<void>;
  close(waitMs: number): void;
  allowRetry(): boolean;
  /** A success gives a tenth of a retry back. */
  succeeded(): void;
  /** ms until it opens; 0 when it is open. */
  readonly waitMs: number;
}

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

/** Waits for the turn of one request; rejects with the signal's reason. */
export type Pacer = (signal: AbortSignal) => Promise<void>;

/** Spaces requests evenly: each call waits for its own turn. A time without requests is not made up for by a burst. */
export function createPacer(
  spacingMs: number | undefined,
  { elapsed, sleep }: { elapsed: () => number; sleep: Sleep },
): Pacer {
  const atOnce = Promise.resolve();
  if (spacingMs === undefined) return () => atOnce;
  let nextAt = Number.NEGATIVE_INFINITY;
  return async (signal) => {
    const turn = Math.max(nextAt, elapsed());
    nextAt = turn + spacingMs;
    for (let ms = turn - elapsed(); ms > 0; ms = turn - elapsed()) await sleep(ms, signal);
  };
}

/** What one job has to do with the gate. */
type JobGate = Pick<BatchGate, 'enter' | 'close' | 'allowRetry'>;

/** The gate of one job, through which every attempt goes: the first one had its turn before it was written down as sent. */
export function paceRetries(gate: JobGate, pace: Pacer, lock: Pick<Lock, 'check'>): JobGate {
  let isFirst = true;
  return {
    close: gate.close,
    allowRetry: gate.allowRetry,
    async enter(signal) {
      if (!isFirst) await pace(signal);
      isFirst = false;
      // It may close while the turn is waited for, and the lock may be lost while it is closed.
      await gate.enter(signal);
      await lock.check();
    },
  };
}
