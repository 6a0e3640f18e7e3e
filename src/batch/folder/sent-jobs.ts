import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Range } from '../../files/temp-file.ts';
import { keyOf } from '../jobs/digest.ts';
import type { JobTable } from './job-table.ts';
import { parseRecord, readJobRecords } from './journal.ts';
import { openIfThere } from './read-lines.ts';
import { parseResult, readResultLines, type ResultLine } from './reconcile.ts';
import { batchFiles } from '../types.ts';

/** The jobs of a folder that were sent, each with its last result. */
export interface SentJobs {
  /** Their slots in the order of the job file. */
  slots: Uint32Array;
  /** Lines of results.jsonl that cannot be read. */
  unread: number;
  has(slot: number): boolean;
  /** Opens the files to read one job after the other: results may be long. */
  open(): Promise<SentJobReader>;
}

/** To be closed. */
interface SentJobReader {
  /** Without a result the job has no answer. */
  read(slot: number): Promise<{ id: string; result: ResultLine | undefined }>;
  close(): Promise<void>;
}

/** Where the line of each slot stands: of its result, else of its journal record. In typed arrays, for there may be a million. */
interface Places {
  offsets: Float64Array;
  bytes: Float64Array;
  /** The line of the job in its file; in folders of earlier versions the place where it was sent. */
  order: Float64Array;
  isResult: Uint8Array;
}

/** Looks through a folder's results and journal. `see` is told of each result of a job as it was sent last; the last one counts. */
export async function findSentJobs(
  folder: string,
  table: JobTable,
  see: (slot: number, result: ResultLine) => Promise<void> | void,
): Promise<SentJobs> {
  const { capacity } = table;
  const places: Places = {
    offsets: new Float64Array(capacity).fill(-1),
    bytes: new Float64Array(capacity),
    order: new Float64Array(capacity),
    isResult: new Uint8Array(capacity),
  };
  let unread = 0;
  for await (const { result, whole, ...range } of readResultLines(folder)) {
    // While a batch runs, the last line may not be whole yet.
    if (!result && whole) unread++;
    const slot = result ? table.find(keyOf(result.id)) : -1;
    if (!result || slot < 0 || table.requestOf(slot) !== result.request) continue;
    put(places, slot, range);
    places.isResult[slot] = 1;
    await see(slot, result);
  }
  await findRecords(folder, table, places);
  const has = (slot: number): boolean => at(places.offsets, slot) >= 0;
  return { slots: slotsInOrder(places), unread, has, open: () => openReader(folder, places) };
}

/** Jobs that have no result are known by their records alone. */
async function findRecords(folder: string, table: JobTable, places: Places): Promise<void> {
  const { order, isResult } = places;
  let sent = 0;
  for await (const { record, ...range } of readJobRecords(folder)) {
    const slot = table.find(keyOf(record.id));
    if (slot < 0) continue;
    order[slot] = record.line ?? (order[slot] || ++sent);
    if (isResult[slot] === 0) put(places, slot, range);
  }
}

function put(places: Places, slot: number, { offset, bytes }: Range): void {
  places.offsets[slot] = offset;
  places.bytes[slot] = bytes;
}

function slotsInOrder({ offsets, order }: Places): Uint32Array {
  const slots = Uint32Array.from(offsets.keys()).filter((slot) => at(offsets, slot) >= 0);
  return slots.sort((a, b) => at(order, a) - at(order, b) || at(offsets, a) - at(offsets, b));
}

function at(values: Float64Array, slot: number): number {
  return values[slot] ?? -1;
}

async function openReader(folder: string, { offsets, bytes, isResult }: Places): Promise<SentJobReader> {
  const journal = await openIfThere(join(folder, batchFiles.journal));
  const results = await openIfThere(join(folder, batchFiles.results));
  return {
    async read(slot) {
      const file = isResult[slot] === 1 ? results : journal;
      const text = file ? await readAt(file, { offset: at(offsets, slot), bytes: at(bytes, slot) }) : '';
      const result = isResult[slot] === 1 ? parseResult(text) : undefined;
      if (result) return { id: result.id, result };
      const record = parseRecord(text);
      return { id: record && 'id' in record ? record.id : '', result };
    },
    async close() {
      await journal?.close();
      await results?.close();
    },
  };
}

async function readAt(file: FileHandle, { offset, bytes }: Range): Promise<string> {
  const line = Buffer.allocUnsafe(bytes);
  const { bytesRead } = await file.read(line, 0, bytes, offset);
  return line.toString('utf8', 0, bytesRead);
}
