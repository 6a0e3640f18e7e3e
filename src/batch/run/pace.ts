import { createGate, type GateOptions, type SharedGate, sleepByTimer } from '../../library/index.ts';
import type { BatchHost, BatchPolicy } from '../types.ts';
import { shareRate } from './rate-group.ts';

/** Waits for the turn of one request; rejects with the signal's reason. */
export type Pacer = (signal: AbortSignal) => Promise<void>;

/**
 * The throttle of a run: the spacing of its requests, and the gate that holds them back after a 429. It is of this run alone, or
 * shared with all processes that name a file.
 */
export async function openThrottle(
  { everyMs, rateFile }: BatchPolicy,
  jobs: number,
  host: BatchHost,
): Promise<{ gate: SharedGate; pace: Pacer | undefined }> {
  const clock = { elapsed: () => host.elapsed(), sleep: sleepByTimer };
  const gate = createGate({ ...clock, jobs });
  if (everyMs === undefined) return { gate, pace: undefined };
  if (rateFile === undefined) return { gate, pace: createPacer(everyMs, clock) };
  return shareRate(gate, { path: rateFile, spacingMs: everyMs, now: () => host.now(), sleep: sleepByTimer });
}

/** Spaces requests evenly: each call waits for its own turn. A time without requests is not made up for by a burst. */
export function createPacer(spacingMs: number, { elapsed, sleep }: Pick<GateOptions, 'elapsed' | 'sleep'>): Pacer {
  let nextAt = Number.NEGATIVE_INFINITY;
  return async (signal) => {
    const turn = Math.max(nextAt, elapsed());
    nextAt = turn + spacingMs;
    for (let ms = turn - elapsed(); ms > 0; ms = turn - elapsed()) await sleep(ms, signal);
  };
}
