import { lstat, readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isPartName } from '../../files/temp-file.ts';
import { asideFile } from '../../files/synced-file.ts';
import { notAJournal, parseRecord } from './journal.ts';
import { openIfThere } from './read-lines.ts';
import { batchFiles } from '../types.ts';

/** What a folder is to a batch that shall be written there. */
export interface FolderFacts {
  /** Its journal begins with the record of a run: the folder is a batch's own. */
  isBatch: boolean;
  /** What stands there otherwise, and is no work of a batch. */
  foreign: string[];
}

/** Systems and git leave these in folders that nobody would call full. */
const harmless = new Set(['.DS_Store', '.gitignore', '.gitkeep', 'lost+found']);
/** A run's own record is shorter. */
const headBytes = 64 * 1024;

/** Looks at a folder before anything is written there. Throws GatewayError batch-locked: its journal is none of ours. */
export async function lookInto(folder: string): Promise<FolderFacts> {
  const head = await headOfJournal(folder);
  if (head === undefined) return { isBatch: false, foreign: [batchFiles.journal] };
  const end = head.indexOf('\n');
  if (end >= 0 && parseRecord(head.slice(0, end))?.type !== 'run')
    throw notAJournal(join(folder, batchFiles.journal), 1);
  const isBatch = end >= 0;
  const foreign: string[] = [];
  for (const name of await readdir(folder)) {
    const isOwn = isBatch ? await isSafe(folder, name) : await isLeftOver(folder, name, head);
    if (!isOwn) foreign.push(name);
  }
  if (isBatch || foreign.length === 0 || (await headOfJournal(folder)) === head) return { isBatch, foreign };
  // Another run began to write meanwhile.
  return lookInto(folder);
}

/** Empty where there is none yet; undefined where it is a link or a device. */
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

/** These are cut and appended to: what a link leads to is nobody's to change, and a pipe or a device never ends. */
async function isSafe(folder: string, name: string): Promise<boolean> {
  if (!cutOrAppended.has(name)) return true;
  return (await lstat(join(folder, name))).isFile();
}

/** What a run leaves that was killed before it wrote anything down. */
async function isLeftOver(folder: string, name: string, head: string): Promise<boolean> {
  const { images, lock } = batchFiles;
  if (harmless.has(name) || isPartName(name) || name === lock || name.startsWith(`${lock}.`)) return true;
  if (name === journal) return head.startsWith(recordStart) || recordStart.startsWith(head);
  const stats = await lstat(join(folder, name));
  if (name === results) return stats.isFile() && stats.size === 0;
  const isImages = name === images && stats.isDirectory();
  return isImages && (await readdir(join(folder, name))).every((inside) => isPartName(inside));
}

/** The name of a picture that a result places in the batch's own folder for them; undefined for any other place. */
export function imageNameOf(path: unknown): string | undefined {
  const name = typeof path === 'string' ? basename(path) : '';
  return name !== '' && path === `${batchFiles.images}/${name}` ? name : undefined;
}

/** Removes what runs that were killed did not finish. To be called by who has the folder's lock. */
export async function clearParts(folder: string): Promise<void> {
  for (const place of [folder, join(folder, batchFiles.images)]) {
    const names = await readdir(place).catch(() => []);
    for (const name of names) if (isPartName(name)) await rm(join(place, name), { recursive: true, force: true });
  }
}
