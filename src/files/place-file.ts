import { constants } from 'node:fs';
import { link, lstat, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../errors.ts';
import { copyRange } from './quarantine.ts';
import { type Nonce, randomNonce, removeFile, statNewFile, syncFolder, writeAnew, writeNew } from './temp-file.ts';

/** What `link` says on file systems that have none, across disks and under odd mounts. */
const linkless = new Set([
  'EPERM',
  'EACCES',
  'ENOTSUP',
  'EOPNOTSUPP',
  'EXDEV',
  'ENOSYS',
  'EMLINK',
  'EINVAL',
  'EISDIR',
  'UNKNOWN',
]);

/** How a finished temporary file gets its name. */
export interface Placing {
  /** Size of the file in bytes. */
  bytes: number;
  /** Take the place of what stands there; only ever of a regular file or a link. */
  replace: boolean;
  nonce?: Nonce | undefined;
  /** Replaced in tests of file systems that cannot link. */
  linkFile?: typeof link | undefined;
}

/**
 * Gives a temporary file its final name, whole or not at all; the temporary one is gone then. Without `replace` whatever
 * has the name stays, a dangling link too: EEXIST. Throws what the system says.
 */
export async function placeFile(temp: string, final: string, placing: Placing): Promise<void> {
  await (placing.replace ? replaceFile(temp, final, placing) : linkNew(temp, final, placing));
  await syncFolder(dirname(final));
}

async function linkNew(temp: string, final: string, { bytes, linkFile = link }: Placing): Promise<void> {
  try {
    await linkFile(temp, final);
  } catch (error) {
    if (!linkless.has(codeOf(error) ?? '')) throw error;
    // To a name that was free; a copy that fails is removed again, for it is ours.
    await writeNew(final, (to) => fillFrom(temp, to, bytes));
  }
  // The file stands; its other name is removed again at the end of the run.
  await removeFile(temp).catch(() => {});
}

async function fillFrom(temp: string, to: Awaited<ReturnType<typeof open>>, bytes: number): Promise<void> {
  const from = await open(temp, constants.O_RDONLY);
  try {
    await copyRange(from, to, { offset: 0, bytes });
  } finally {
    await from.close();
  }
}

async function replaceFile(temp: string, final: string, placing: Placing): Promise<void> {
  await refuseSpecial(final);
  try {
    await rename(temp, final);
  } catch (error) {
    if (codeOf(error) !== 'EXDEV') throw error;
    await replaceAcross(temp, final, placing);
  }
}

/** From another disk: first a temporary file beside the final name. */
async function replaceAcross(temp: string, final: string, { bytes, nonce = randomNonce }: Placing): Promise<void> {
  await writeAnew(final, (near) => fillFrom(temp, near, bytes), { nonce, mode: 0o666 });
  await removeFile(temp);
}

/** A rename would put a file in the place of /dev/null, or of a FIFO that somebody reads. */
async function refuseSpecial(path: string): Promise<void> {
  const stats = await lstat(path).catch(() => undefined);
  if (!stats || stats.isFile() || stats.isSymbolicLink()) return;
  throw new Error(stats.isDirectory() ? 'it is a folder' : 'it is a device, a pipe or a socket');
}

/** The mode that a new file gets in a folder: 0666 without the umask, or what the folder's own rules say. */
export async function newFileMode(folder: string, nonce: Nonce = randomNonce): Promise<number> {
  return (await statNewFile(folder, { nonce, mode: 0o666 })).mode & 0o777;
}

/** So many numbers are looked at one by one; behind them the steps double. */
const oneByOne = 8;

/**
 * A number from `from` on that is free. Where few are taken it is the first; behind a long row of taken ones it is found in a
 * number of looks that grows with the row's logarithm.
 */
export async function freeNumber(from: number, isTaken: (n: number) => Promise<boolean>): Promise<number> {
  let taken = from - 1;
  let free = from;
  for (let step = 1, looks = 1; await isTaken(free); looks++) {
    taken = free;
    if (looks >= oneByOne) step *= 2;
    free += step;
  }
  // Somewhere between the two the row ends.
  while (free - taken > 1) {
    const middle = Math.floor((taken + free) / 2);
    if (await isTaken(middle)) taken = middle;
    else free = middle;
  }
  return free;
}
