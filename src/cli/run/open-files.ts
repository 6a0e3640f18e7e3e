import { readdir, readFile } from 'node:fs/promises';
import type { Context } from '../context.ts';

/** Fewer requests at once if there are too few descriptors: a request without one may be paid for and lost. */
export async function limitToFiles(wanted: number, { ui }: Context): Promise<number> {
  const files = await countOpenFiles();
  if (files === undefined || requestsWithin(files) >= wanted) return wanted;
  const most = requestsWithin(files);
  const limit = `the limit of ${files.most} open files allows --concurrency ${most}, not ${wanted}`;
  await ui.warn(`${limit}; to raise it: ulimit -n ${filesFor(wanted, files)}`);
  return most;
}

/** The limit of file descriptors of the process, and the number in use. */
interface OpenFiles {
  most: number;
  now: number;
}

/** The most files of a request at a time: a connection, a file that it sends and two images that are being written. */
const filesOfRequest = 4;

/** File descriptors for files of a batch, look-ups of names, and Node itself. */
const otherFiles = 32;

/** The number of requests that can be in flight at once: at least one. */
export function requestsWithin({ most, now }: OpenFiles): number {
  return Math.max(1, Math.floor((most - now - otherFiles) / filesOfRequest));
}

/** The limit of open files that this many requests in flight need. */
export function filesFor(requests: number, { now }: OpenFiles): number {
  return now + otherFiles + requests * filesOfRequest;
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
