import { rename, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { takeLock } from '../../batch/lock.ts';
import { cannotWrite } from '../../batch/synced-file.ts';
import { batchFiles } from '../../batch/types.ts';
import { codeOf, GatewayError, usageError } from '../../errors.ts';
import { readReason, writeReason } from '../../file-reason.ts';
import { makeFolder } from '../../make-folder.ts';
import type { Context } from '../context.ts';

/** The absolute path of `-o`. Throws GatewayError usage: none given, no folder, or no place to make one. */
export async function findOutdir(
  output: string | undefined,
  { io }: Context,
): Promise<{ path: string; exists: boolean }> {
  if (output === undefined || output === '' || output === '-')
    throw usageError('a batch needs a folder for its results', 'for example: -o out');
  const path = resolve(io.cwd, output);
  const found = await folderAt(path);
  if (found === 'file') throw usageError(`-o ${output}: it is no folder`, 'name another one');
  if (found === 'none' && (await folderAt(dirname(path))) !== 'folder')
    throw usageError(`-o ${output}: its parent folder is not there`, `make it first: mkdir -p ${dirname(output)}`);
  return { path, exists: found === 'folder' };
}

/** Makes the folder where it is not there, and takes its lock until the end of the run. Throws usage or batch-locked. */
export async function enterOutdir(path: string, context: Context): Promise<void> {
  try {
    await makeFolder(join(path, batchFiles.images));
  } catch (error) {
    throw usageError(`-o: cannot make ${path}: ${writeReason(error)}`, 'name another folder', error);
  }
  const lock = await takeLock(path).catch((error: unknown) => {
    // Nothing was sent yet, so a folder that takes no file is a mistake in the flags.
    const denied = error instanceof GatewayError && error.class === 'not-written';
    throw denied ? usageError(error.message, 'name another folder with -o', error) : error;
  });
  context.atEnd(() => lock.release());
  if (lock.takenFrom)
    await context.ui.note(`took over from process ${lock.takenFrom.pid} on ${lock.takenFrom.host}, which is dead`);
}

/** Writes summary.json, whole or not at all. Throws GatewayError not-written. */
export async function writeSummary(folder: string, text: string): Promise<void> {
  const path = join(folder, batchFiles.summary);
  const temp = `${path}.part`;
  try {
    await writeFile(temp, `${text}\n`);
    await rename(temp, path);
  } catch (error) {
    await unlink(temp).catch(() => undefined);
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
