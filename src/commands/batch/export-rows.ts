import { type FileHandle, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Key, keyOf } from '../../batch/digest.ts';
import { type JournalState, parseRecord, unanswered } from '../../batch/journal.ts';
import type { JobTable } from '../../batch/job-table.ts';
import { nameInside } from '../../batch/own-folder.ts';
import { openIfThere, readFileLines } from '../../batch/read-lines.ts';
import { parseResult, readResultLines, type ResultLine } from '../../batch/reconcile.ts';
import { type Column, findColumns, type Row, rowOf, type RowState } from '../../batch/row.ts';
import { batchFiles, type JobState } from '../../batch/types.ts';
import { isObject, type JsonObject } from '../../json.ts';

/** A job as its file names it: its place in the table, and its row while nothing is known of it. */
export interface NamedJob {
  key: Key;
  pending: Row;
}

/** The jobs of a folder's job file; none where it is not known. */
type Jobs = () => AsyncIterable<NamedJob>;

/** The jobs of a folder as rows in the order of their job file: those that were sent, and those that the file names. */
export interface Rows {
  columns: Column[];
  counts: Record<RowState, number>;
  /** Lines of results.jsonl that cannot be read. */
  unread: number;
  /** Reads them one by one: results may be long. */
  read(): AsyncGenerator<Row, void>;
}

/** Where the line of each slot stands: of its result, else of its journal record. In typed arrays, for there may be a million. */
interface Places {
  offsets: Float64Array;
  bytes: Float64Array;
  /** The line of the job in its file. */
  order: Float64Array;
  isResult: Uint8Array;
}

/** Looks through a folder's results and journal, and the jobs of its file. */
export async function findRows(folder: string, state: JournalState, jobs: Jobs): Promise<Rows> {
  const { capacity } = state.table;
  const places: Places = {
    offsets: new Float64Array(capacity).fill(-1),
    bytes: new Float64Array(capacity),
    order: new Float64Array(capacity),
    isResult: new Uint8Array(capacity),
  };
  const found = findColumns();
  const unread = await findResults(folder, state.table, { places, see: found.see });
  await findRecords(folder, state.table, places);
  const slots = slotsInOrder(places);
  const counts: Rows['counts'] = { done: 0, failed: 0, unknown: 0, pending: 0 };
  for (const slot of slots) counts[rowState(state.table.stateOf(slot))]++;
  for await (const { key } of jobs()) if (!isPlaced(places, state.table.find(key))) counts.pending++;
  return { columns: found.columns(), counts, unread, read: () => readRows(folder, state, { slots, places, jobs }) };
}

/** The last result of each job as it was sent last. Resolves with the number of lines that cannot be read. */
async function findResults(
  folder: string,
  table: JobTable,
  { places, see }: { places: Places; see: (row: Row) => void },
): Promise<number> {
  let unread = 0;
  for await (const { result, whole, offset, bytes } of readResultLines(folder)) {
    // While a batch runs, the last line may not be whole yet.
    if (!result && whole) unread++;
    const slot = result ? table.find(keyOf(result.id)) : -1;
    if (!result || slot < 0 || table.requestOf(slot) !== result.request) continue;
    places.offsets[slot] = offset;
    places.bytes[slot] = bytes;
    places.isResult[slot] = 1;
    see(rowOf(result.id, 'done', await wholeDocument(folder, result)));
  }
  return unread;
}

/** Jobs that have no result are known by their records alone. */
async function findRecords(
  folder: string,
  table: JobTable,
  { offsets, bytes, order, isResult }: Places,
): Promise<void> {
  let sent = 0;
  for await (const { text, whole, offset, bytes: length } of readFileLines(join(folder, batchFiles.journal))) {
    const record = whole ? parseRecord(text) : undefined;
    if (!record || record.type === 'run') continue;
    const slot = table.find(keyOf(record.id));
    if (slot < 0) continue;
    order[slot] = record.line ?? (order[slot] || ++sent);
    if (isResult[slot] === 1) continue;
    offsets[slot] = offset;
    bytes[slot] = length;
  }
}

function slotsInOrder({ offsets, order }: Places): Uint32Array {
  const slots = Uint32Array.from(offsets.keys()).filter((slot) => at(offsets, slot) >= 0);
  return slots.sort((a, b) => at(order, a) - at(order, b) || at(offsets, a) - at(offsets, b));
}

function at(values: Float64Array, slot: number): number {
  return values[slot] ?? 0;
}

/** In the order of the job file where it is known: what was not sent has its row there, and what it does not name comes last. */
async function* readRows(
  folder: string,
  state: JournalState,
  { slots, places, jobs }: { slots: Uint32Array; places: Places; jobs: Jobs },
): AsyncGenerator<Row, void> {
  const { table } = state;
  const reader = await openRowReader(folder, state, places);
  const isRead = new Uint8Array(table.capacity);
  try {
    for await (const { key, pending } of jobs()) {
      const slot = table.find(key);
      const row = isPlaced(places, slot) ? await reader.read(slot) : undefined;
      if (row) isRead[slot] = 1;
      yield row?.command === undefined ? { ...pending, ...row } : row;
    }
    for (const slot of slots) if (isRead[slot] === 0) yield await reader.read(slot);
  } finally {
    await reader.close();
  }
}

function isPlaced({ offsets }: Places, slot: number): boolean {
  return slot >= 0 && at(offsets, slot) >= 0;
}

interface RowReader {
  read(slot: number): Promise<Row>;
  close(): Promise<void>;
}

async function openRowReader(
  folder: string,
  state: JournalState,
  { offsets, bytes, isResult }: Places,
): Promise<RowReader> {
  const journal = await openIfThere(join(folder, batchFiles.journal));
  const results = await openIfThere(join(folder, batchFiles.results));
  return {
    async read(slot) {
      const file = isResult[slot] === 1 ? results : journal;
      const text = file ? await readAt(file, at(offsets, slot), at(bytes, slot)) : '';
      const is = rowState(state.table.stateOf(slot));
      const result = isResult[slot] === 1 ? parseResult(text) : undefined;
      if (result) return rowOf(result.id, is, await wholeDocument(folder, result));
      return unansweredRow(parseRecord(text), is, state);
    },
    async close() {
      await journal?.close();
      await results?.close();
    },
  };
}

async function readAt(file: FileHandle, offset: number, bytes: number): Promise<string> {
  const line = Buffer.allocUnsafe(bytes);
  const { bytesRead } = await file.read(line, 0, bytes, offset);
  return line.toString('utf8', 0, bytesRead);
}

function unansweredRow(record: ReturnType<typeof parseRecord>, is: RowState, { failures }: JournalState): Row {
  const id = record && 'id' in record ? record.id : '';
  const error = failures.get(id) ?? (is === 'unknown' ? unanswered : undefined);
  return { id, state: is, images: [], error };
}

function rowState(state: JobState): RowState {
  if (state === 'new') return 'pending';
  return state === 'sent' ? 'unknown' : state;
}

/** A long result stands in a file of its own; where that cannot be read, its line has the short values. */
async function wholeDocument(folder: string, { document }: ResultLine): Promise<JsonObject> {
  const name = nameInside('large', document['wholeResult']);
  if (name === undefined) return document;
  try {
    const whole: unknown = JSON.parse(await readFile(join(folder, batchFiles.large, name), 'utf8'));
    return isObject(whole) ? whole : document;
  } catch {
    return document;
  }
}
