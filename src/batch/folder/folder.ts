import { readdir, lstat, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type FolderLock, lockFolder } from './lock.ts';
import {
  asideFile,
  cannotWrite,
  clearDeadParts,
  describeWriteError,
  GatewayError,
  getErrorCode,
  ignoreMissing,
  isPartName,
  type LockTimes,
  makeFolder,
  openIfThere,
  usageError,
  withoutHole,
  writeAtomically,
} from '../../library/index.ts';
import { type BatchHost, batchFiles } from '../types.ts';
import { parseRecord, notAJournal, readJournal } from './journal.ts';
import { readManifest, readManifestHeader } from './manifest.ts';
import { findLostEnds, type LostEnds } from './results.ts';
import type { BatchState } from './state.ts';
import { showAnswers } from '../run/show-rows.ts';
import { markWanted } from '../run/table.ts';

/** The batch of a folder, as its files tell it. */
export interface KnownBatch extends LostEnds {
  state: BatchState;
}

/**
 * Reads the batch of a folder; the state of a folder without a journal is empty. Throws GatewayError batch-locked, and errors of the
 * system.
 */
export async function readFolder(folder: string): Promise<KnownBatch> {
  const header = await readManifestHeader(folder);
  const state = await readJournal(folder, header?.rows);
  const ends = await findLostEnds(folder, state);
  // A `jobs.jsonl` without a journal beside it can be another file of that name.
  if (state.run === undefined) return { state, ...ends };
  state.manifest = await readManifest(folder, state.slots);
  markWanted(state.manifest.rows, state.slots);
  return { state: showAnswers(state), ...ends };
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
 * Makes the folder if it does not exist, locks it until the end of the run, and removes unfinished files of killed runs. A folder that
 * is there is `requireOwn`. Throws usage or batch-locked.
 */
export async function enterOutdir(path: string, host: BatchHost, times?: LockTimes): Promise<FolderLock> {
  const lock = await lockOutdir(path, host, times);
  await removePartFiles(path);
  return lock;
}

/** Makes a folder that did not exist, and locks it. Throws usage, or batch-locked if another run has begun in it since. */
export async function enterNewOutdir(path: string, host: BatchHost, times?: LockTimes): Promise<FolderLock> {
  const lock = await lockOutdir(path, host, times);
  const found = await lstat(join(path, batchFiles.journal)).catch(ignoreMissing);
  if (found === undefined || found.size === 0) return lock;
  throw new GatewayError('batch-locked', 'another run began in this folder meanwhile', {
    hint: 'run the same command again',
    sent: 'no',
    retryable: true,
  });
}

async function lockOutdir(path: string, host: BatchHost, times?: LockTimes): Promise<FolderLock> {
  await makeBatchFolder(path);
  await makeBatchFolder(join(path, batchFiles.images));
  const lock = await lockWritable(path, times);
  host.atEnd(() => lock.release());
  if (lock.takenFrom) await host.on({ type: 'took-over', owner: lock.takenFrom });
  return lock;
}

/** Makes a folder. Throws GatewayError usage if the system refuses, and not-written if the disk is full. */
async function makeBatchFolder(path: string): Promise<void> {
  await makeFolder(path).catch((error: unknown) => {
    if (isFull(error)) throw cannotWrite(path, error).withDetails(unsent);
    throw usageError(`-o: cannot make ${path}: ${describeWriteError(error)}`, 'name another folder', error);
  });
}

/** Whether the disk is full. The hint then names no other folder, in which all jobs would be sent and paid again: this one needs room. */
function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(getErrorCode(error) ?? '');
}

const unsent = { sent: 'no', billed: 'no' } as const;

/**
 * Locks a folder. Throws GatewayError batch-locked; not-written if the disk is full; usage if the folder is not writable, as
 * nothing was sent yet.
 */
async function lockWritable(path: string, times?: LockTimes): Promise<FolderLock> {
  return lockFolder(path, times).catch((error: unknown) => {
    const denied = error instanceof GatewayError && error.class === 'not-written';
    if (denied && isFull(error)) throw error.withDetails(unsent);
    throw denied ? usageError(error.message, 'name another folder with -o', error) : error;
  });
}

/** Writes summary.json, whole or not at all. Throws GatewayError not-written. */
export async function writeSummary(folder: string, text: string): Promise<void> {
  const path = join(folder, batchFiles.summary);
  try {
    await writeAtomically(path, (handle) => handle.writeFile(`${text}\n`), { mode: 0o666 });
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

/** Files of systems and of git: a folder that has only these is empty. */
const harmless = new Set(['.DS_Store', '.gitignore', '.gitkeep', 'lost+found']);

/** The record of a run is shorter than this. */
const headBytes = 64 * 1024;

/**
 * Reads a folder before anything is written there, and returns the names of files that are not of a batch. Throws GatewayError
 * batch-locked if its journal was not written by this program.
 */
async function findForeign(folder: string): Promise<string[]> {
  const head = await readHead(folder, journal);
  if (head === undefined) return [batchFiles.journal];
  const end = head.indexOf('\n');
  if (end >= 0 && parseRecord(head.slice(0, end))?.t !== 'run') throw notAJournal(join(folder, batchFiles.journal), 1);
  const isBatch = end >= 0;
  const foreign: string[] = [];
  for (const name of await readdir(folder)) if (!(await isOwn(folder, name, isBatch))) foreign.push(name);
  return foreign;
}

/** The beginning of a file, without the holes that power cuts left: empty if the file is not there yet; undefined for a link or a device. */
async function readHead(folder: string, name: string): Promise<string | undefined> {
  const path = join(folder, name);
  const stats = await lstat(path).catch(() => undefined);
  if (stats === undefined) return '';
  if (!stats.isFile()) return undefined;
  const handle = await openIfThere(path);
  if (handle === undefined) return '';
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    const lines = buffer.toString('utf8', 0, bytesRead).split(/(?<=\n)/);
    return lines.map(withoutHole).join('');
  } finally {
    await handle.close().catch(() => undefined);
  }
}

const { manifest, journal, results, summary, images, lock } = batchFiles;

/** The beginnings of files that a run replaces, and of the journal. */
const beginnings: Readonly<Record<string, string>> = {
  [manifest]: '{"manifest":1,',
  [journal]: '{"t":"run",',
  [summary]: '{"schema":"gateway-cli/batch@',
};

const appended = new Set<string>([results, asideFile(journal), asideFile(results)]);

/**
 * Whether a file is of a batch. Files that a run writes are regular ones, and begin as this program writes them: the target of a link
 * and a table of the user's own must not change. Beside a journal there can be any other file; without one, only what a run left that
 * ended before its first record.
 */
async function isOwn(folder: string, name: string, isBatch: boolean): Promise<boolean> {
  const path = join(folder, name);
  const beginning = beginnings[name];
  if (beginning !== undefined) {
    const head = await readHead(folder, name);
    return head !== undefined && (head.startsWith(beginning) || beginning.startsWith(head));
  }
  if (appended.has(name)) {
    const stats = await lstat(path);
    return stats.isFile() && (isBatch || name !== results || stats.size === 0);
  }
  if (isBatch || harmless.has(name) || isPartName(name) || name === lock || name.startsWith(`${lock}.`)) return true;
  return name === images && (await readdir(path).catch(() => [''])).every((inside) => isPartName(inside));
}

/** Removes the unfinished files of runs and reports that were killed. The caller holds the folder's lock, so no other run goes on. */
export async function removePartFiles(folder: string): Promise<void> {
  for (const place of [folder, join(folder, batchFiles.images)]) {
    const names = await readdir(place).catch(() => []);
    for (const name of names) if (isPartName(name)) await rm(join(place, name), { recursive: true, force: true });
    await clearDeadParts(place, names);
  }
}
