import { mkdir, readdir, rename, rm, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { quarantineFile } from '../../files/quarantine.ts';
import { clearParts } from '../../batch/own-folder.ts';
import { cannotWrite } from '../../files/synced-file.ts';
import { batchFiles } from '../../batch/types.ts';
import { codeOf, type GatewayError, usageError } from '../../errors.ts';
import { placeFile } from '../../files/place-file.ts';
import { randomNonce, partName } from '../../files/temp-file.ts';
import { lockFolder, makeOrRefuse } from './folder.ts';
import type { Context } from '../../cli/context.ts';

/** The folder that a merge fills, while it is locked. */
export interface MergeTarget {
  /** Makes the folder inside it where everything is built: the target may be a mount point, and stays what it is. */
  begin(): Promise<string>;
  /** Gives everything its place. Throws GatewayError usage where others took one meanwhile; nothing is changed then. */
  publish(): Promise<void>;
  /** Removes what is not finished, and the folder where it was made for nothing. */
  close(): Promise<void>;
}

/** The journal comes last: it makes a batch of the folder. */
const files = [
  batchFiles.results,
  quarantineFile(batchFiles.results),
  batchFiles.summary,
  batchFiles.images,
  batchFiles.journal,
];

/** Makes the folder where it is not there and takes its lock. Throws GatewayError usage or batch-locked. */
export async function openMergeTarget(
  { path, exists }: { path: string; exists: boolean },
  { signal }: Context,
): Promise<MergeTarget> {
  await makeOrRefuse(path);
  const building = join(path, partName(randomNonce()));
  const lock = await lockFolder(path);
  return {
    async begin() {
      await clearParts(path);
      await mkdir(building);
      await mkdir(join(building, batchFiles.images));
      return building;
    },
    async publish() {
      signal.throwIfAborted();
      await publish(building, path);
    },
    async close() {
      await rm(building, { recursive: true, force: true });
      await lock.release();
      // Where it holds anything it stays.
      if (!exists) await rmdir(path).catch(() => undefined);
    },
  };
}

async function publish(building: string, path: string): Promise<void> {
  const made: (() => Promise<unknown>)[] = [];
  const built = await readdir(building);
  for (const name of files.filter((file) => built.includes(file))) {
    const [from, to] = [join(building, name), join(path, name)];
    const stats = await stat(from);
    const inside = stats.isDirectory() ? (await readdir(from)).map((file) => join(to, file)) : undefined;
    try {
      if (inside) await rename(from, to);
      else await placeFile(from, to, { bytes: stats.size, replace: false });
    } catch (error) {
      for (const undo of made.toReversed()) await undo();
      throw isTaken(error) ? taken(path, name) : cannotWrite(to, error);
    }
    made.push(async () => {
      for (const file of inside ?? [to]) await unlink(file).catch(() => undefined);
      if (inside) await rmdir(to).catch(() => undefined);
    });
  }
}

function isTaken(error: unknown): boolean {
  return ['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(codeOf(error) ?? '');
}

function taken(path: string, name: string): GatewayError {
  return usageError(`-o: somebody else put ${name} into ${path} meanwhile`, 'name a new folder');
}
