import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Lock, takeLock } from './lock.ts';
import { clearParts, lookInto } from './own-folder.ts';
import { cannotWrite } from '../../files/synced-file.ts';
import { batchFiles } from '../types.ts';
import { codeOf, GatewayError, usageError } from '../../errors.ts';
import { readReason, writeReason } from '../../files/file-reason.ts';
import { writeAnew } from '../../files/temp-file.ts';
import type { LeaseTimes } from '../../files/lease.ts';
import { makeFolder } from '../../files/temp-file.ts';
import type { Context } from '../../cli/context.ts';
import { shellWord } from '../../shell-word.ts';

/** The absolute path of `-o`. Throws GatewayError usage: none given, no folder, or no place to make one. */
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

/** Throws GatewayError usage where a folder holds what no batch wrote, batch-locked where its journal is none of ours. */
export async function requireOwn(path: string): Promise<void> {
  const { foreign } = await lookInto(path);
  if (foreign.length > 0) throw notOwn(path, foreign);
}

/**
 * Makes the folder where it is not there, takes its lock until the end of the run, and clears what killed runs left. Throws
 * usage or batch-locked.
 */
export async function enterOutdir(path: string, context: Context, lease?: LeaseTimes): Promise<Lock> {
  await makeOrRefuse(path);
  await requireOwn(path);
  await makeOrRefuse(join(path, batchFiles.images));
  const lock = await lockFolder(path, lease);
  context.atEnd(() => lock.release());
  await clearParts(path);
  if (lock.takenFrom) {
    const { pid, host, ranOut } = lock.takenFrom;
    const why = ranOut ? 'whose lease has run out' : 'which is dead';
    await context.ui.note(`took over from process ${pid} on ${host}, ${why}`);
  }
  return lock;
}

/** Throws GatewayError usage. */
export async function makeOrRefuse(path: string): Promise<void> {
  await makeFolder(path).catch((error: unknown) => {
    throw usageError(`-o: cannot make ${path}: ${writeReason(error)}`, 'name another folder', error);
  });
}

/** Throws GatewayError batch-locked, or usage: nothing was sent yet, so a folder that takes no file is a mistake in the flags. */
export async function lockFolder(path: string, lease?: LeaseTimes): Promise<Lock> {
  return takeLock(path, lease).catch((error: unknown) => {
    const denied = error instanceof GatewayError && error.class === 'not-written';
    throw denied ? usageError(error.message, 'name another folder with -o', error) : error;
  });
}

/** So many names of foreign files are told. */
const mostNamed = 3;

function notOwn(path: string, foreign: readonly string[]): GatewayError {
  const more = foreign.length > mostNamed ? ` and ${foreign.length - mostNamed} more` : '';
  const names = foreign.slice(0, mostNamed).join(', ');
  return usageError(
    `-o: ${path} holds files that are not part of a batch: ${names}${more}`,
    'name a new or an empty folder',
  );
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
