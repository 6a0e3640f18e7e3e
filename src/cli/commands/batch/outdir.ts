import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import {
  adoptReplies,
  batchFiles,
  type BatchHost,
  enterOutdir,
  type FolderLock,
  type KnownBatch,
  readFolder,
  requireOwn,
} from '../../../batch/index.ts';
import type { Context } from '../../context.ts';
import { describeReadError, getErrorCode, type LockTimes, shellWord, usageError } from '../../../library/index.ts';
import { recovery } from './host.ts';
import { readBatchHeader } from './kept-command.ts';
import { warnUnread } from './summary.ts';

/**
 * The absolute path of `-o`. Throws GatewayError usage if none is given, it is not a folder or holds other files, or its parent does
 * not exist; batch-locked if its journal was not written by this program.
 */
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
  if (found === 'folder') await requireOwn(path);
  return { path, exists: found === 'folder' };
}

/** Reads the folder of a batch: its path, the state by its journal, and the ends that the journal may lack. Throws GatewayError usage if it is none. */
export async function readBatchFolder(outdir: string, { io, ui }: Context): Promise<KnownBatch & { folder: string }> {
  const { folder } = await readBatchHeader(outdir, io);
  const progress = ui.progress(`reading ${outdir}`);
  try {
    return { ...(await readFolder(folder)), folder };
  } finally {
    progress.stop();
  }
}

/** Locks the folder of a run, which is made if it is not there, and reads what earlier runs left in it. */
export async function openOutdir(
  path: string,
  { host, context }: { host: BatchHost; context: Context },
  times?: LockTimes,
) {
  const lock = await enterOutdir(path, host, times);
  return { lock, ...(await readOutdir(path, lock, { host, context })) };
}

/** The remains of earlier runs in the folder of a run; with its lock, also the replies that they could not write there. */
export async function readOutdir(
  path: string,
  lock: FolderLock | undefined,
  { host, context }: { host: BatchHost; context: Context },
): Promise<KnownBatch> {
  const { state, ...found } = await readFolder(path);
  const ends = state.run && lock ? await adoptReplies(path, state, { ends: found, lock, host, recovery }) : found;
  const torn = [...(state.torn ? [batchFiles.journal] : []), ...(found.torn ? [batchFiles.results] : [])];
  await warnUnread({ unreadable: found.unreadable, torn }, context);
  return { state, ...ends };
}

async function folderAt(path: string): Promise<'folder' | 'file' | 'none'> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'file';
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT') return 'none';
    throw usageError(`-o ${path}: ${describeReadError(error)}`, 'name another folder', error);
  }
}
