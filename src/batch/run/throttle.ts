import type { Sleep, SharedGate } from '../../transport/gate.ts';
import type { Lock } from '../folder/lock.ts';

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
type JobGate = Pick<SharedGate, 'enter' | 'close' | 'allowRetry'>;

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
