import { type FileHandle, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { addUnknown } from '../../cost/cost.ts';
import type { Cost } from '../../cost/types.ts';
import { type Certainty, endSignals } from '../../errors.ts';
import { cannotWrite, copyAside } from '../../files/synced-file.ts';
import { copyRange, createRangeReader, type Range, writeAtomically } from '../../files/temp-file.ts';
import type { Usage } from '../../formats/events.ts';
import { isObject, type JsonObject, parseObject } from '../../json.ts';
import { applyEnd, type JobIndex, type BatchState, countCost, isOpen, mayHaveCost } from './state.ts';
import { budgetedMark, countPaid } from '../lane/provider-batches.ts';
import { batchFiles, type JobError, type JobRecord } from '../types.ts';
import { openIfThere, readFileLines } from '../../files/lines.ts';

/** One line of results.jsonl. */
interface ResultLine {
  id: string;
  request: string;
  document: JsonObject;
}

/** Where results.jsonl has the last result of each job, and what else is in it. */
export interface ResultPlaces {
  /** In bytes, by the job's row; -1 if it has no result. */
  offsets: Float64Array;
  bytes: Uint32Array;
  /** Where the last whole line ends. */
  end: number;
  /** Lines that are not the result of a job of the batch. */
  unassignedRanges: Range[];
  /** How many of them cannot be read, and how many are results of unknown jobs. */
  unreadable: number;
  unknownJobs: number;
  /** A part of a line follows the last whole one. */
  torn: boolean;
}

/**
 * Finds the last result of each job. With `places`, which are of no use after that, what was added to the file since these were found. `see` gets
 * each result of a job as it was sent last, and `seeOther` the jobs of other results: each takes the place of one before it.
 */
export async function locateResults(
  folder: string,
  index: JobIndex,
  {
    places,
    see,
    seeOther,
  }: {
    places?: ResultPlaces | undefined;
    see?: (row: number, result: ResultLine, offset: number) => void;
    seeOther?: (row: number) => void;
  } = {},
): Promise<ResultPlaces> {
  const found = { end: 0, unreadable: 0, unknownJobs: 0, unassignedRanges: [], ...places, torn: false };
  const isFull = places?.offsets.length === index.size;
  const offsets = isFull ? places.offsets : new Float64Array(index.size).fill(-1);
  const bytes = isFull ? places.bytes : new Uint32Array(index.size);
  if (places && !isFull) {
    offsets.set(places.offsets);
    bytes.set(places.bytes);
  }
  for await (const lines of readFileLines(join(folder, batchFiles.results), { from: found.end }))
    for (const line of lines) {
      if (!line.whole) {
        found.torn = true;
        break;
      }
      found.end = line.offset + line.bytes;
      if (line.bytes === 1) continue;
      const result = parseResult(line.text);
      const row = result === undefined ? -1 : index.find(result.id);
      if (result === undefined || row < 0) {
        found[result === undefined ? 'unreadable' : 'unknownJobs']++;
        (found.unassignedRanges as Range[]).push({ offset: line.offset, bytes: line.bytes });
        continue;
      }
      const isOfJob = index.hasDigest(row, result.request);
      // A run that was killed may have written another job's result with the id that this one had before.
      const isForeign = !isOfJob && (offsets[row] as number) >= 0 && index.idOf(row) !== result.id;
      // Nothing came in place of an answer that was paid for.
      if (isForeign || result.document['earlierStays'] === true) {
        (found.unassignedRanges as Range[]).push({ offset: line.offset, bytes: line.bytes });
        continue;
      }
      offsets[row] = line.offset;
      bytes[row] = line.bytes;
      index.setResultId(row, result.id);
      if (see && isOfJob) see(row, result, line.offset);
      else seeOther?.(row);
    }
  return { ...found, offsets, bytes };
}

/** Undefined for a line that is not a result. */
function parseResult(text: string): ResultLine | undefined {
  const document = parseObject(text);
  const { id, request: digest } = document;
  return typeof id === 'string' && typeof digest === 'string' ? { id, request: digest, document } : undefined;
}

/** Reads results in any order; those that are near each other in the file are read together. To be closed. */
export interface ResultReader {
  /** The last result of a job; undefined if it has none, or one of another request. No promise where it was read with another one. */
  read(row: number): Promise<JsonObject | undefined> | JsonObject | undefined;
  close(): Promise<void>;
}

export async function openResults(folder: string, index: JobIndex, places: ResultPlaces): Promise<ResultReader> {
  const handle = await openIfThere(join(folder, batchFiles.results));
  const readRange = createRangeReader(handle);
  function parseOf(row: number, bytes: Buffer): JsonObject | undefined {
    const result = parseResult(bytes.toString());
    return result && index.hasDigest(row, result.request) ? result.document : undefined;
  }
  return {
    read(row) {
      const offset = places.offsets[row] ?? -1;
      if (offset < 0) return undefined;
      const found = readRange({ offset, bytes: places.bytes[row] ?? 0 });
      return found instanceof Promise ? found.then((bytes) => parseOf(row, bytes)) : parseOf(row, found);
    },
    close: async () => handle?.close().catch(() => undefined),
  };
}

/** Ends that the journal lacks, and where the results are. */
export interface LostEnds {
  lostEnds: JobRecord[];
  places: ResultPlaces;
  /** Rows of jobs whose result names an image that is not in the folder. */
  gone: Set<number>;
}

/**
 * Finds results of jobs whose end the journal lacks, because a run was killed between the two writes. Applies these ends to the
 * state, and returns them to be written into the journal. `before`: what was found before lines were added.
 */
export async function findLostEnds(folder: string, state: BatchState, before?: LostEnds): Promise<LostEnds> {
  const lostEnds = before?.lostEnds ?? [];
  const gone = before?.gone ?? new Set<number>();
  const imageNames = new Set(await readdir(join(folder, batchFiles.images)).catch(() => []));
  const places = await locateResults(folder, state.index, {
    places: before?.places,
    see(row, result, offset) {
      if (lacksImage(result.document, imageNames)) gone.add(row);
      else gone.delete(row);
      // A result before that offset answers a request of an earlier run. Added lines do not: the file may have become shorter.
      if ((!before && offset < (state.run?.results ?? 0)) || !isOpen(row, state)) return;
      const end = { ...toLostEndRecord(result, state.lastAt), ...getProviderBatchFacts(row, state) };
      lostEnds.push(end);
      applyLostEnd(row, end, state);
    },
  });
  return { lostEnds, places, gone };
}

/** The ids of jobs that are done, and whose images were removed since, in the order of their file. */
export function idsWithoutImage({ gone }: Pick<LostEnds, 'gone'>, index: JobIndex): string[] {
  return [...gone]
    .filter((row) => index.stateOf(row) === 'done' && !index.has(row, 'removed'))
    .toSorted((a, b) => index.placeOf(a) - index.placeOf(b) || a - b)
    .map((row) => index.idOf(row));
}

/** The file name of an image in the folder `images` of the batch; undefined for any other path. */
export function findImageName(path: unknown): string | undefined {
  const name = typeof path === 'string' ? basename(path) : '';
  return name !== '' && path === `${batchFiles.images}/${name}` ? name : undefined;
}

function lacksImage({ images }: JsonObject, imageNames: ReadonlySet<string>): boolean {
  if (!Array.isArray(images)) return false;
  return images.some((image) => {
    const name = isObject(image) ? findImageName(image['path']) : undefined;
    return name !== undefined && !imageNames.has(name);
  });
}

function applyLostEnd(row: number, end: JobRecord, state: BatchState): void {
  const { index } = state;
  const wasAtService = index.has(row, 'atService');
  index.setFlag(row, 'atService', false);
  applyEnd(row, end.type as 'done', end, state);
  index.setBasis(row, end.basis);
  if (wasAtService) {
    countCost(end, state, end.bound);
    countPaid(end, state, end.bound);
    return;
  }
  if (end.cost === undefined && mayHaveCost(end)) return;
  // It was counted as one of unknown cost.
  state.spending = addUnknown(state.spending, state.held.get(end.id) ?? '0', -1);
  countCost(end, state);
}

/** Of a job in a batch of the service: what it can cost, and its provider batch if that has a budget. */
function getProviderBatchFacts(row: number, { index, providerBatches }: BatchState): Pick<JobRecord, 'bound' | 'part'> {
  const providerBatch =
    index.has(row, 'atService') && [...providerBatches.values()].find(({ rows }) => rows.includes(row));
  if (!providerBatch) return {};
  return { bound: providerBatch.bounds[providerBatch.rows.indexOf(row)], part: budgetedMark(providerBatch) };
}

/** The record that the journal lacks. */
function toLostEndRecord({ id, request: digest, document }: ResultLine, at: number): JobRecord {
  const { ok, usage, cost, attempts, complete, error: failure } = document;
  const { class: name, message, billed } = isObject(failure) ? failure : {};
  const isUnknown = name === 'no-reply' || endSignals.has(name);
  const error: JobError = {
    class: typeof name === 'string' ? name : 'unknown',
    message: typeof message === 'string' ? message : 'no error is known',
    billed: billed as Certainty | undefined,
  };
  return {
    type: ok === true ? 'done' : isUnknown ? 'unknown' : 'failed',
    id,
    request: digest,
    at,
    ...(attempts === 0
      ? { billed: 'no' as const }
      : { usage: usage as Usage | undefined, cost: cost as Cost | undefined }),
    incomplete: ok === true && complete === false ? true : undefined,
    error: ok === true ? undefined : error,
  };
}

/**
 * Leaves one line in results.jsonl for each job, its last one; other lines are moved to the file beside it. The order is that of
 * the lines, or with `ordered` that of the job file; jobs that it does not name come last. The old file is there until the new one
 * is whole. Throws GatewayError not-written.
 */
export async function arrangeResults(
  folder: string,
  index: JobIndex,
  { places, ordered = false }: { places: ResultPlaces; ordered?: boolean | undefined },
): Promise<void> {
  const rows = rowsInOrder(index, places, ordered);
  if (areArranged(rows, places)) return;
  const path = join(folder, batchFiles.results);
  const from = await openIfThere(path);
  if (from === undefined) return;
  try {
    await copyAside(path, from, places.unassignedRanges);
    const copy = async (to: FileHandle): Promise<void> => {
      for (const range of mergeRanges(rows, places)) await copyRange(from, to, range);
    };
    await writeAtomically(path, copy, { mode: 0o666 });
  } catch (error) {
    throw cannotWrite(path, error);
  } finally {
    await from.close().catch(() => undefined);
  }
}

/** Jobs of the file that are done and have no line in the results. */
export function idsWithoutResult(index: JobIndex, { offsets }: ResultPlaces): string[] {
  const lost: string[] = [];
  for (let row = 0; row < index.size; row++) {
    const isLost = (offsets[row] ?? -1) < 0 && index.stateOf(row) === 'done' && !index.has(row, 'removed');
    if (isLost) lost.push(index.idOf(row));
  }
  return lost;
}

function rowsInOrder(index: JobIndex, { offsets }: ResultPlaces, ordered: boolean): Uint32Array {
  const rows = listRows(index, (row) => (offsets[row] as number) >= 0);
  const byOffset = (a: number, b: number): number => (offsets[a] as number) - (offsets[b] as number);
  const getPlace = (row: number): number => (index.has(row, 'inFile') ? index.placeOf(row) : 2 ** 32);
  return sorted(rows, ordered ? (a, b) => getPlace(a) - getPlace(b) || byOffset(a, b) : byOffset);
}

/** Sorts in place; a million rows that are in order already are not sorted again. */
function sorted(rows: Uint32Array, compare: (a: number, b: number) => number): Uint32Array {
  const isSorted = rows.every((row, at) => at === 0 || compare(rows[at - 1] as number, row) <= 0);
  return isSorted ? rows : rows.sort(compare);
}

/** The rows for which something holds, in their order: `filter` would make a list of a million numbers first. */
function listRows(index: JobIndex, isWanted: (row: number) => boolean): Uint32Array {
  const rows = new Uint32Array(index.size);
  let count = 0;
  for (let row = 0; row < index.size; row++) if (isWanted(row)) rows[count++] = row;
  return rows.subarray(0, count);
}

/** The jobs of a folder in the order of their file; with `all` those that it has no more. */
export function listReportRows(index: JobIndex, all: boolean): Uint32Array {
  const rows = listRows(index, (row) => all || !index.has(row, 'removed'));
  return sorted(rows, (a, b) => index.placeOf(a) - index.placeOf(b) || a - b);
}

function areArranged(rows: Uint32Array, { offsets, bytes, end }: ResultPlaces): boolean {
  let next = 0;
  for (const row of rows) {
    if (offsets[row] !== next) return false;
    next += bytes[row] as number;
  }
  return next === end;
}

/** Lines that follow each other in the file are one range. */
function* mergeRanges(rows: Uint32Array, { offsets, bytes }: ResultPlaces): Generator<Range, void> {
  let range: Range = { offset: 0, bytes: 0 };
  for (const row of rows) {
    const next = { offset: offsets[row] as number, bytes: bytes[row] as number };
    if (next.offset === range.offset + range.bytes) range.bytes += next.bytes;
    else {
      yield range;
      range = next;
    }
  }
  yield range;
}
