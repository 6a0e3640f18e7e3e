import { stat, readdir, lstat, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type FolderLock, lockFolder } from './lock.ts';
import { cannotWrite, asideFile } from '../../files/synced-file.ts';
import { batchFiles } from '../types.ts';
import { codeOf, GatewayError, usageError } from '../../errors.ts';
import { readReason, writeReason } from '../../files/file-reason.ts';
import { writeAnew, makeFolder, isFolder, isPartName } from '../../files/temp-file.ts';
import type { LockTimes } from '../../files/lock.ts';
import type { Context } from '../../cli/context.ts';
import { shellWord } from '../../shell-word.ts';
import { parseRecord, notAJournal, readJournal } from './journal.ts';
import { findLostEnds, type LostEnds } from './results.ts';
import { type BatchState, hasOpenJobs } from './state.ts';
import { openIfThere } from '../lines.ts';

/** The absolute path of `-o`. Throws GatewayError usage if none is given, it is not a folder, or its parent does not exist. */
export async function findOutdir(
  output: string | undefined,
  { io }: Context,
): Promise<{ path: string; exists: boolean }> {
  if (output === undefined || output === '' || output === '-')
    throw usageError('a batch needs a folder for its results', 'for example: -o out');
  const path = resolve(io.cwd, output);
  const found = await folderAt(path);
  if (found === 'file') throw usageError(`-o ${output}: it is not a folder`, 'name another one');
  if (found === 'none' && (await folderAt(dirname(path))) !== 'folder')
    throw usageError(
      `-o ${output}: its parent folder is not there`,
      `make it first: mkdir -p ${shellWord(dirname(output))}`,
    );
  return { path, exists: found === 'folder' };
}

/**
 * The folder of a batch, what its journal says, and the ends that it lacks if there can be any. Throws GatewayError usage if it is
 * not one.
 */
export async function readBatchFolder(
  outdir: string,
  { io, ui }: Context,
): Promise<{ folder: string; state: BatchState; ends: LostEnds | undefined }> {
  const folder = resolve(io.cwd, outdir);
  const hint = 'name the folder that you gave to gateway-cli batch -o';
  const progress = ui.progress(`reading ${outdir}`);
  try {
    const state = await readJournal(folder).catch((error: unknown) => {
      if (error instanceof GatewayError) throw error;
      const why = codeOf(error) === 'ENOTDIR' ? ' is not a folder' : `: ${readReason(error)}`;
      throw usageError(`${outdir}${why}`, hint, error);
    });
    if (state.run === undefined)
      throw usageError((await isFolder(folder)) ? `${outdir} holds no batch` : `there is no folder ${outdir}`, hint);
    const ends = hasOpenJobs(state) ? await findLostEnds(folder, state) : undefined;
    return { folder, state, ends };
  } finally {
    progress.stop();
  }
}

/** At most this many foreign files are named. */
const maxNamed = 3;

/** Throws GatewayError usage if a folder holds files that are not of a batch, batch-locked if its journal was not written by this program. */
export async function requireOwn(path: string): Promise<void> {
  const foreign = await findForeign(path);
  if (foreign.length === 0) return;
  const more = foreign.length > maxNamed ? ` and ${foreign.length - maxNamed} more` : '';
  const names = foreign.slice(0, maxNamed).join(', ');
  throw usageError(
    `-o: ${path} holds files that are not part of a batch: ${names}${more}`,
    'name a new or an empty folder',
  );
}

/**
 * Makes the folder if it does not exist, locks it until the end of the run, and removes what killed runs left. Throws
 * usage or batch-locked.
 */
export async function enterOutdir(path: string, context: Context, times?: LockTimes): Promise<FolderLock> {
  await makeBatchFolder(path);
  await requireOwn(path);
  await makeBatchFolder(join(path, batchFiles.images));
  const lock = await lockWritable(path, times);
  context.atEnd(() => lock.release());
  await clearParts(path);
  if (lock.takenFrom) {
    const { mark, isHere } = lock.takenFrom;
    const who = mark === undefined ? 'a run that did not say its name' : `process ${mark.pid} on ${mark.host}`;
    const why = isHere ? 'which is dead' : 'which gave no sign of life for a minute';
    await context.ui.note(`took over from ${who}, ${why}`);
  }
  return lock;
}

/** Makes a folder. Throws GatewayError usage if that fails. */
async function makeBatchFolder(path: string): Promise<void> {
  await makeFolder(path).catch((error: unknown) => {
    throw usageError(`-o: cannot make ${path}: ${writeReason(error)}`, 'name another folder', error);
  });
}

/** Locks a folder. Throws GatewayError batch-locked; or usage if it is not writable, as nothing was sent yet. */
async function lockWritable(path: string, times?: LockTimes): Promise<FolderLock> {
  return lockFolder(path, times).catch((error: unknown) => {
    const denied = error instanceof GatewayError && error.class === 'not-written';
    throw denied ? usageError(error.message, 'name another folder with -o', error) : error;
  });
}

/** Writes summary.json, whole or not at all. Throws GatewayError not-written. */
export async function writeSummary(folder: string, text: string): Promise<void> {
  const path = join(folder, batchFiles.summary);
  try {
    await writeAnew(path, (handle) => handle.writeFile(`${text}\n`), { mode: 0o666 });
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

async function folderAt(path: string): Promise<'folder' | 'file' | 'none'> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'file';
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 'none';
    throw usageError(`-o ${path}: ${readReason(error)}`, 'name another folder', error);
  }
}

/** Files of systems and of git: a folder that has only these is empty. */
const harmless = new Set(['.DS_Store', '.gitignore', '.gitkeep', 'lost+found']);

/** The record of a run is shorter. */
const headBytes = 64 * 1024;

/**
 * Reads a folder before anything is written there, and returns the names of files that are not of a batch. Throws GatewayError batch-locked if its journal was not written by this program.
 */
async function findForeign(folder: string): Promise<string[]> {
  const head = await headOfJournal(folder);
  if (head === undefined) return [batchFiles.journal];
  const end = head.indexOf('\n');
  if (end >= 0 && parseRecord(head.slice(0, end))?.type !== 'run')
    throw notAJournal(join(folder, batchFiles.journal), 1);
  const isBatch = end >= 0;
  const foreign: string[] = [];
  for (const name of await readdir(folder)) {
    const isOwn = isBatch ? await isSafe(folder, name) : await isLeftOver(folder, name, head);
    if (!isOwn) foreign.push(name);
  }
  if (isBatch || foreign.length === 0 || (await headOfJournal(folder)) === head) return foreign;
  // Another run has begun to write meanwhile: read the folder again.
  return findForeign(folder);
}

/** Empty if there is no journal yet; undefined if it is a link or a device. */
async function headOfJournal(folder: string): Promise<string | undefined> {
  const path = join(folder, batchFiles.journal);
  const stats = await lstat(path).catch(() => undefined);
  if (stats === undefined) return '';
  if (!stats.isFile()) return undefined;
  const handle = await openIfThere(path);
  if (handle === undefined) return '';
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** How the record of a run begins. */
const recordStart = '{"type":"run",';

const { journal, results } = batchFiles;

const cutOrAppended = new Set<string>([journal, results, asideFile(journal), asideFile(results)]);

/** Whether a file that a run cuts or appends to is a regular one: the target of a link must not change, and a pipe never ends. */
async function isSafe(folder: string, name: string): Promise<boolean> {
  if (!cutOrAppended.has(name)) return true;
  return (await lstat(join(folder, name))).isFile();
}

/** Whether a run that was killed before its first record left this file. */
async function isLeftOver(folder: string, name: string, head: string): Promise<boolean> {
  const { images, lock } = batchFiles;
  if (harmless.has(name) || isPartName(name) || name === lock || name.startsWith(`${lock}.`)) return true;
  if (name === journal) return head.startsWith(recordStart) || recordStart.startsWith(head);
  const stats = await lstat(join(folder, name));
  if (name === results) return stats.isFile() && stats.size === 0;
  const isImages = name === images && stats.isDirectory();
  return isImages && (await readdir(join(folder, name))).every((inside) => isPartName(inside));
}

/** Removes unfinished files of runs that were killed. The caller holds the folder's lock. */
export async function clearParts(folder: string): Promise<void> {
  for (const place of [folder, join(folder, batchFiles.images)]) {
    const names = await readdir(place).catch(() => []);
    for (const name of names) if (isPartName(name)) await rm(join(place, name), { recursive: true, force: true });
  }
}
