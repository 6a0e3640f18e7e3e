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

/** A stretch of a file, in bytes. */
interface Range {
  offset: number;
  bytes: number;
}

/** So many bytes are copied at once. */
const copyBytes = 1024 * 1024;

/**
 * Writes results.jsonl anew with one line for each job, its last one; in the order of the given ids, else in that of their
 * completion. The old file stays until the new one is whole. Resolves with the number of jobs that are done and have no
 * line: somebody else changed the file. Throws GatewayError not-written.
 */
export async function arrangeResults(folder: string, table: JobTable, order?: AsyncIterable<string>): Promise<number> {
  const path = join(folder, batchFiles.results);
  const from = await openIfThere(path);
  if (from === undefined) return 0;
  const temp = join(folder, `.gateway-cli-${randomBytes(8).toString('hex')}.part`);
  try {
    const places = await findPlaces(from, table);
    const to = await open(temp, 'wx', 0o666);
    try {
      const all = slotsInFile(from, table, places);
      const slots = order ? slotsInOrder(order, all, table) : all;
      for await (const range of rangesOf(slots, places)) await copyRange(from, to, range);
      await to.datasync();
    } finally {
      await to.close();
    }
    await rename(temp, path);
    return countMissing(table, places);
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

/** Behind those in order come the results of jobs that the job file does not name, or not any more: they were paid for, too. */
async function* slotsInOrder(
  order: AsyncIterable<string>,
  all: AsyncIterable<number>,
  table: JobTable,
): AsyncGenerator<number> {
  const placed = new Uint8Array(table.capacity);
  const isFirst = (slot: number): boolean => placed[slot] === 0 && (placed[slot] = 1) === 1;
  for await (const id of order) {
    const slot = table.find(keyOf(id));
    if (isFirst(slot)) yield slot;
  }
  for await (const slot of all) if (isFirst(slot)) yield slot;
}

async function* slotsInFile(from: FileHandle, table: JobTable, { offsets }: Places): AsyncGenerator<number> {
  for await (const { text, whole, offset } of readLines(from)) {
    const slot = whole ? slotOf(text, table) : -1;
    if (slot >= 0 && offsets[slot] === offset) yield slot;
  }
}

/** Lines that follow each other in the file are one stretch. */
async function* rangesOf(slots: AsyncIterable<number>, { offsets, lengths }: Places): AsyncGenerator<Range> {
  let range: Range = { offset: 0, bytes: 0 };
  for await (const slot of slots) {
    const [offset = -1, bytes = 0] = [offsets[slot], lengths[slot]];
    if (offset < 0) continue;
    if (offset === range.offset + range.bytes) range.bytes += bytes;
    else {
      yield range;
      range = { offset, bytes };
    }
  }
  yield range;
}

async function copyRange(from: FileHandle, to: FileHandle, { offset, bytes }: Range): Promise<void> {
  const block = Buffer.allocUnsafe(Math.min(bytes, copyBytes));
  for (let at = 0; at < bytes;) {
    const { bytesRead } = await from.read(block, 0, Math.min(block.length, bytes - at), offset + at);
    if (bytesRead === 0) throw new Error('the file is shorter than it was');
    await to.appendFile(block.subarray(0, bytesRead));
    at += bytesRead;
  }
}

function countMissing(table: JobTable, { offsets }: Places): number {
  let missing = 0;
  for (const slot of table.slots()) if (table.stateOf(slot) === 'done' && offsets[slot] === -1) missing++;
  return missing;
}
