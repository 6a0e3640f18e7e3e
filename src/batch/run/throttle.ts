import type { Sleep, SharedGate } from '../../transport/gate.ts';
import type { Lock } from '../folder/lock.ts';
import type { Context } from '../../cli/context.ts';
import { countOf } from '../report/summary.ts';
import { readFile, readdir } from 'node:fs/promises';

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

/** A job that finds no descriptor left may be paid for and lost: there are fewer at once instead. */
export async function limitToFiles(wanted: number, { ui }: Context): Promise<number> {
  const files = await countOpenFiles();
  if (files === undefined || jobsWithin(files) >= wanted) return wanted;
  const jobs = jobsWithin(files);
  const limit = `the limit of ${files.most} open files leaves room for ${countOf(jobs, 'job')} at once, not ${wanted}`;
  await ui.warn(`${limit}; to raise it: ulimit -n ${filesFor(wanted, files)}`);
  return jobs;
}

/** Descriptors that a process may have, and those that it has. */
export interface OpenFiles {
  most: number;
  now: number;
}

/** A job has a connection, a file that it sends and two pictures that are being written, at most times. */
const each = 4;

/** For journal, results, lock, look-ups of names, and what Node opens itself. */
const spare = 32;

/** So many jobs may be under way at once; one in any case. */
export function jobsWithin({ most, now }: OpenFiles): number {
  return Math.max(1, Math.floor((most - now - spare) / each));
}

/** Under this limit so many jobs may be under way. */
export function filesFor(jobs: number, { now }: OpenFiles): number {
  return now + spare + jobs * each;
}

/** Linux alone tells. Undefined where nobody does, or where there is no limit. */
export async function countOpenFiles(): Promise<OpenFiles | undefined> {
  try {
    const [limits, open] = await Promise.all([readFile('/proc/self/limits', 'utf8'), readdir('/proc/self/fd')]);
    const most = Number(/^Max open files +(\d+)/m.exec(limits)?.[1]);
    return Number.isNaN(most) ? undefined : { most, now: open.length };
  } catch {
    return undefined;
  }
}

/** Work of one turn of the event loop, in ms: what comes behind it waits for turns of its own. */
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
