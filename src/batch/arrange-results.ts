import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { keyOf } from './digest.ts';
import { openIfThere } from './journal.ts';
import type { JobTable } from './job-table.ts';
import { readLines } from './read-lines.ts';
import { parseResult } from './reconcile.ts';
import { cannotWrite } from './synced-file.ts';
import { batchFiles } from './types.ts';

/** Where the last result of each job stands, in bytes, by the job's slot. */
interface Places {
  offsets: Float64Array;
  lengths: Float64Array;
}

/**
 * Writes results.jsonl anew with one line for each job, its last one; in the order of the given ids, else in that of their
 * completion. The old file stays until the new one is whole. Throws GatewayError not-written.
 */
export async function arrangeResults(folder: string, table: JobTable, order?: AsyncIterable<string>): Promise<void> {
  const path = join(folder, batchFiles.results);
  const from = await openIfThere(path);
  if (from === undefined) return;
  const temp = join(folder, `.gateway-cli-${randomBytes(8).toString('hex')}.part`);
  try {
    const places = await findPlaces(from, table);
    const to = await open(temp, 'wx', 0o666);
    try {
      for await (const slot of order ? slotsOf(order, table) : slotsInFile(from, table, places))
        await copyLine(from, to, { offset: places.offsets[slot] ?? -1, bytes: places.lengths[slot] ?? 0 });
      await to.datasync();
    } finally {
      await to.close();
    }
    await rename(temp, path);
  } catch (error) {
    await unlink(temp).catch(() => undefined);
    throw cannotWrite(path, error);
  } finally {
    await from.close();
  }
}

async function findPlaces(from: FileHandle, table: JobTable): Promise<Places> {
  const offsets = new Float64Array(table.capacity).fill(-1);
  const lengths = new Float64Array(table.capacity);
  for await (const { text, whole, offset, bytes } of readLines(from)) {
    const slot = whole ? slotOf(text, table) : -1;
    if (slot < 0) continue;
    offsets[slot] = offset;
    lengths[slot] = bytes;
  }
  return { offsets, lengths };
}

function slotOf(text: string, table: JobTable): number {
  const result = parseResult(text);
  return result === undefined ? -1 : table.find(keyOf(result.id));
}

async function* slotsOf(order: AsyncIterable<string>, table: JobTable): AsyncGenerator<number> {
  for await (const id of order) yield table.find(keyOf(id));
}

async function* slotsInFile(from: FileHandle, table: JobTable, { offsets }: Places): AsyncGenerator<number> {
  for await (const { text, whole, offset } of readLines(from)) {
    const slot = whole ? slotOf(text, table) : -1;
    if (slot >= 0 && offsets[slot] === offset) yield slot;
  }
}

async function copyLine(
  from: FileHandle,
  to: FileHandle,
  { offset, bytes }: { offset: number; bytes: number },
): Promise<void> {
  if (offset < 0) return;
  const line = Buffer.allocUnsafe(bytes);
  for (let at = 0; at < bytes;) {
    const { bytesRead } = await from.read(line, at, bytes - at, offset + at);
    if (bytesRead === 0) throw new Error('the file is shorter than it was');
    at += bytesRead;
  }
  await to.appendFile(line);
}
