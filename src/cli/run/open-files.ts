import { readFile, readdir } from 'node:fs/promises';
import type { Context } from '../context.ts';

/** Fewer requests at once if there are too few descriptors: one without may be paid for and lost. */
export async function limitToFiles(wanted: number, { ui }: Context): Promise<number> {
  const files = await countOpenFiles();
  if (files === undefined || requestsWithin(files) >= wanted) return wanted;
  const most = requestsWithin(files);
  const limit = `the limit of ${files.most} open files allows --concurrency ${most}, not ${wanted}`;
  await ui.warn(`${limit}; to raise it: ulimit -n ${filesFor(wanted, files)}`);
  return most;
}

/** Descriptors that a process may have, and those that it has. */
interface OpenFiles {
  most: number;
  now: number;
}

/** A request has a connection, a file that it sends and two images that are being written, at most times. */
const each = 4;

/** For files of a batch, look-ups of names, and what Node opens itself. */
const spare = 32;

/** So many requests can be in flight at once, and at least one. */
export function requestsWithin({ most, now }: OpenFiles): number {
  return Math.max(1, Math.floor((most - now - spare) / each));
}

/** The limit under which so many requests can be in flight. */
export function filesFor(requests: number, { now }: OpenFiles): number {
  return now + spare + requests * each;
}

/** Undefined on systems other than Linux, and without a limit. */
export async function countOpenFiles(): Promise<OpenFiles | undefined> {
  try {
    const [limits, open] = await Promise.all([readFile('/proc/self/limits', 'utf8'), readdir('/proc/self/fd')]);
    const most = Number(/^Max open files +(\d+)/m.exec(limits)?.[1]);
    return Number.isNaN(most) ? undefined : { most, now: open.length };
  } catch {
    return undefined;
  }
}
