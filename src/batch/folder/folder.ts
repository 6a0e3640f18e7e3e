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
import { type Adopting, adoptReplies } from './adopt.ts';
import { parseRecord, notAJournal, readJournal } from './journal.ts';
import { readManifest, readManifestHeader } from './manifest.ts';
import { findLostEnds, type LostEnds } from './results.ts';
import { type BatchState, hasOpenSlots } from './state.ts';
import { markWanted } from '../run/edited.ts';

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
  return { state, ...ends };
}

/**
 * Adds to the results the answers that earlier runs got and could not write there. Returns the ends with those of these jobs.
 * Throws GatewayError not-written or batch-locked.
 */
export async function addKeptReplies(folder: string, state: BatchState, adopting: Adopting): Promise<LostEnds> {
  if (!hasOpenSlots(state)) return adopting.ends;
  return adoptReplies(folder, state, adopting);
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
 * Makes the folder if it does not exist, locks it until the end of the run, and removes unfinished files of killed runs. Throws
 * usage or batch-locked.
 */
export async function enterOutdir(path: string, host: BatchHost, times?: LockTimes): Promise<FolderLock> {
  await makeBatchFolder(path);
  await requireOwn(path);
  const lock = await lockOutdir(path, host, times);
  await removePartFiles(path);
  return lock;
}

/** Makes a folder that did not exist, and locks it. Throws usage, or batch-locked if another run has begun in it since. */
export async function enterNewOutdir(path: string, host: BatchHost, times?: LockTimes): Promise<FolderLock> {
  await makeBatchFolder(path);
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
  if (end >= 0 && parseRecord(head.slice(0, end))?.t !== 'run')
    throw notAJournal(join(folder, batchFiles.journal), 1, head.slice(0, end));
  const isBatch = end >= 0;
  const foreign: string[] = [];
  for (const name of await readdir(folder)) {
    const isOwn = isBatch ? await isSafe(folder, name) : await isLeftOver(folder, name, head);
    if (!isOwn) foreign.push(name);
  }
  if (isBatch || foreign.length === 0 || (await readHead(folder, journal)) === head) return foreign;
  // Another run has begun to write meanwhile: read the folder again.
  return findForeign(folder);
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

/** The beginnings of the record of a run, and of a summary. */
const recordStart = '{"t":"run",';
const summaryStart = '{"schema":"gateway-cli/batch@';
const manifestStart = '{"manifest":1,';

const { manifest, journal, results, summary } = batchFiles;

const cutOrAppended = new Set<string>([journal, results, asideFile(journal), asideFile(results)]);

/** Whether a file that a run cuts or appends to is a regular one: the target of a link must not change, and a pipe never ends. */
async function isSafe(folder: string, name: string): Promise<boolean> {
  // A run replaces the manifest, but not a table of the user's own with its name.
  if (name === manifest) return (await readHead(folder, name))?.startsWith(manifestStart) === true;
  if (!cutOrAppended.has(name)) return true;
  return (await lstat(join(folder, name))).isFile();
}

/** Whether a run that ended before its first record left this file. */
async function isLeftOver(folder: string, name: string, head: string): Promise<boolean> {
  const { images, lock } = batchFiles;
  if (harmless.has(name) || isPartName(name) || name === lock || name.startsWith(`${lock}.`)) return true;
  if (name === journal) return head.startsWith(recordStart) || recordStart.startsWith(head);
  if (name === summary) return (await readHead(folder, name))?.startsWith(summaryStart) === true;
  const stats = await lstat(join(folder, name));
  if (name === asideFile(journal) || name === asideFile(results)) return stats.isFile();
  // The table is written before the first record.
  if (name === manifest) return (await readHead(folder, name))?.startsWith(manifestStart) === true;
  if (name === results) return stats.isFile() && stats.size === 0;
  const isImages = name === images && stats.isDirectory();
  return isImages && (await readdir(join(folder, name))).every((inside) => isPartName(inside));
}

/** Removes the unfinished files of runs and reports that were killed. The caller holds the folder's lock, so no other run goes on. */
export async function removePartFiles(folder: string): Promise<void> {
  for (const place of [folder, join(folder, batchFiles.images)]) {
    const names = await readdir(place).catch(() => []);
    for (const name of names) if (isPartName(name)) await rm(join(place, name), { recursive: true, force: true });
    await clearDeadParts(place, names);
  }
}
