import { readdir, readFile } from 'node:fs/promises';

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
