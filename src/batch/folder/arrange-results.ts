import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { copyRange, type Range, writeAnew } from '../../files/temp-file.ts';
import { keyOf } from '../jobs/digest.ts';
import { openIfThere } from './read-lines.ts';
import type { JobTable } from './job-table.ts';
import { readResultLines } from './reconcile.ts';
import { cannotWrite, copyAside } from '../../files/synced-file.ts';
import { batchFiles } from '../types.ts';

/** Where the last result of each job stands, in bytes, by the job's slot; and the lines that are no job's. */
interface Places {
  offsets: Float64Array;
  lengths: Float64Array;
  strays: Range[];
  /** So many of them can be read. */
  strangers: number;
}

/** What somebody else did to the file. */
export interface Arranged {
  /** Jobs that are done and have no line. */
  missing: number;
  /** Lines of jobs that the journal does not know: they are kept beside the file, like those that cannot be read. */
  strangers: number;
}

/**
 * Writes results.jsonl anew with one line for each job, its last one; in the order of the given ids, else in that of their
 * completion. The old file stays until the new one is whole. Throws GatewayError not-written.
 */
export async function arrangeResults(
  folder: string,
  table: JobTable,
  order?: AsyncIterable<string>,
): Promise<Arranged> {
  const path = join(folder, batchFiles.results);
  const from = await openIfThere(path);
  if (from === undefined) return { missing: 0, strangers: 0 };
  try {
    const places = await findPlaces(folder, table);
    await copyAside(path, from, places.strays);
    const all = slotsInFile(places);
    const copy = async (to: FileHandle): Promise<void> => {
      const slots = order ? slotsInOrder(order, all, table) : all;
      for await (const range of rangesOf(slots, places)) await copyRange(from, to, range);
    };
    await writeAnew(path, copy, { mode: 0o666 });
    return { missing: countMissing(table, places), strangers: places.strangers };
  } catch (error) {
    throw cannotWrite(path, error);
  } finally {
    await from.close();
  }
}

async function findPlaces(folder: string, table: JobTable): Promise<Places> {
  const offsets = new Float64Array(table.capacity).fill(-1);
  const lengths = new Float64Array(table.capacity);
  const strays: Range[] = [];
  let strangers = 0;
  for await (const { result, offset, bytes } of readResultLines(folder)) {
    const slot = result === undefined ? -1 : table.find(keyOf(result.id));
    if (slot < 0) {
      if (result) strangers++;
      strays.push({ offset, bytes });
      continue;
    }
    offsets[slot] = offset;
    lengths[slot] = bytes;
  }
  return { offsets, lengths, strays, strangers };
}

/** Slots that have a line, in the order of their lines. */
function slotsInFile({ offsets }: Places): Uint32Array {
  const slots = Uint32Array.from(offsets.keys()).filter((slot) => (offsets[slot] as number) >= 0);
  return slots.sort((a, b) => (offsets[a] as number) - (offsets[b] as number));
}

/** Behind those in order come the results of jobs that the job file does not name, or not any more: they were paid for, too. */
async function* slotsInOrder(order: AsyncIterable<string>, all: Uint32Array, table: JobTable): AsyncGenerator<number> {
  const placed = new Uint8Array(table.capacity);
  const isFirst = (slot: number): boolean => placed[slot] === 0 && (placed[slot] = 1) === 1;
  for await (const id of order) {
    const slot = table.find(keyOf(id));
    if (isFirst(slot)) yield slot;
  }
  for (const slot of all) if (isFirst(slot)) yield slot;
}

/** Lines that follow each other in the file are one stretch. */
async function* rangesOf(
  slots: AsyncIterable<number> | Iterable<number>,
  { offsets, lengths }: Places,
): AsyncGenerator<Range> {
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

function countMissing(table: JobTable, { offsets }: Places): number {
  let missing = 0;
  for (const slot of table.slots()) if (table.stateOf(slot) === 'done' && offsets[slot] === -1) missing++;
  return missing;
}
