import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  type Bound,
  type Certainty,
  type Cost,
  createRangeReader,
  endSignals,
  isObject,
  type JsonObject,
  openIfThere,
  parseObject,
  readAppendedLines,
  type Usage,
  withoutHole,
} from '../../library/index.ts';
import { batchFiles, type JobError } from '../types.ts';
import { isCovered } from './fold.ts';
import { readSlotName } from './manifest.ts';
import type { EndRecord, SlotRecord } from './records.ts';
import type { Place, Slots } from './slots.ts';
import { addRecord, type BatchState } from './state.ts';

/** Ends that the journal lacks, and the faults at the end of results.jsonl. */
export interface LostEnds {
  lostEnds: SlotRecord[];
  /** The number of lines that cannot be read. */
  unreadable: number;
  /** A part of a line follows the last whole one. */
  torn: boolean;
}

/**
 * Finds the results whose end the journal lacks, because a run was killed between the two writes: only the lines after the last
 * line with an end are read. Applies these ends to the state, and returns them for the journal.
 */
export async function findLostEnds(folder: string, state: BatchState): Promise<LostEnds> {
  const found: LostEnds = { lostEnds: [], unreadable: 0, torn: false };
  const from = state.covered.end;
  const path = join(folder, batchFiles.results);
  // Another program has written the file anew: its lines are elsewhere, and none is after the others.
  if (from > 0 && !(await endsLine(path, from))) return found;
  for await (const lines of readAppendedLines(path, from))
    for (const { text, whole, isTooLong, offset: off, bytes: len } of lines) {
      found.torn = !whole;
      if (!whole || isCovered(off, state)) continue;
      const end = readEnd(text, { off, len }, state);
      if (end === undefined && (text !== '' || isTooLong)) found.unreadable++;
      found.lostEnds.push(end ?? { t: 'skip', off, len });
    }
  for (const end of found.lostEnds) addRecord(end, state);
  return found;
}

/** Whether a line of a file ends right before an offset. */
async function endsLine(path: string, offset: number): Promise<boolean> {
  const handle = await openIfThere(path);
  if (handle === undefined) return false;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, offset - 1);
    return bytesRead === 1 && buffer[0] === 10;
  } finally {
    await handle.close().catch(() => undefined);
  }
}

const endTypes: ReadonlySet<unknown> = new Set(['done', 'incomplete', 'failed', 'unknown']);

/** The record that the journal lacks for a line of results.jsonl; undefined for a line that is no result. */
function readEnd(text: string, { off, len }: Place, state: BatchState): EndRecord | undefined {
  const document = parseObject(text);
  const { slot: name, t, usage, cost, attempts, doubtful, bound, error: failure } = document;
  const slot = typeof name === 'string' ? state.slots.findNamed(name) : -1;
  // A result that no run has sent is of another folder.
  if (slot < 0 || !endTypes.has(t)) return undefined;
  const { class: errorClass, message, billed } = isObject(failure) ? failure : {};
  const error: JobError = {
    class: typeof errorClass === 'string' ? errorClass : 'unknown',
    message: typeof message === 'string' ? message : 'no error is known',
    billed: billed as Certainty | undefined,
  };
  return {
    t: t as EndRecord['t'],
    slot: name as string,
    off,
    len,
    at: state.lastAt,
    ...(attempts === 0
      ? { billed: 'no' as const }
      : { usage: usage as Usage | undefined, cost: cost as Cost | undefined }),
    ...(typeof doubtful === 'number' && { doubtful, bound: bound as Bound | undefined }),
    error: t === 'done' || t === 'incomplete' ? undefined : error,
    images: listImageNames(document),
  };
}

/** The state of a slot by the document of its result. */
export function getEndType({ ok, complete, error }: JsonObject): EndRecord['t'] {
  if (ok === true) return complete === false ? 'incomplete' : 'done';
  const name = isObject(error) ? error['class'] : undefined;
  return name === 'no-reply' || endSignals.has(name) ? 'unknown' : 'failed';
}

/** Reads results in any order; those that are near each other in the file are read together. To be closed. */
export interface ResultReader {
  /** The answer of a slot that counts, or its failure; undefined if it has none. No promise if it was read together with another one. */
  read(slot: number): Promise<JsonObject | undefined> | JsonObject | undefined;
  /** An answer of a slot that does not count; undefined if its line is elsewhere now. */
  readTake(slot: number, place: Place): Promise<JsonObject | undefined>;
  close(): Promise<void>;
}

/** Opens the results of a folder. Results that are added later need another reader. */
export async function openResults(folder: string, slots: Slots): Promise<ResultReader> {
  const path = join(folder, batchFiles.results);
  const handle = await openIfThere(path);
  const readRange = createRangeReader(handle);
  let moved: Map<string, JsonObject> | undefined;
  function parseOf(slot: number, bytes: Buffer): JsonObject | undefined | Promise<JsonObject | undefined> {
    const text = withoutHole(bytes.toString());
    const document = slots.findNamed(readSlotName(text)) === slot ? parseObject(text) : {};
    if (Object.keys(document).length > 0) return document;
    // Another program has written the file, and lines are elsewhere: the last line of each slot counts.
    return (moved ? Promise.resolve(moved) : findMoved(path)).then((found) => (moved = found).get(slots.nameOf(slot)));
  }
  return {
    read(slot) {
      const place = slots.placeOf(slot);
      if (place === undefined) return undefined;
      const found = readRange({ offset: place.off, bytes: place.len });
      return found instanceof Promise ? found.then((bytes) => parseOf(slot, bytes)) : parseOf(slot, found);
    },
    async readTake(slot, { off, len }) {
      const text = withoutHole((await readRange({ offset: off, bytes: len })).toString());
      return readSlotName(text) === slots.nameOf(slot) ? parseObject(text) : undefined;
    },
    close: async () => handle?.close().catch(() => undefined),
  };
}

async function findMoved(path: string): Promise<Map<string, JsonObject>> {
  const found = new Map<string, JsonObject>();
  for await (const lines of readAppendedLines(path))
    for (const { text, whole } of lines) if (whole) found.set(readSlotName(text), parseObject(text));
  return found;
}

/** The slots of done rows whose pictures were removed since. */
export async function findWithoutImage(folder: string, { slots, images }: BatchState): Promise<number[]> {
  if (images.size === 0) return [];
  const names = await readImageNames(folder);
  const isDone = (slot: number): boolean => slots.answersOf(slot) > 0 && slots.has(slot, 'wanted');
  return [...images].flatMap(([slot, own]) => (isDone(slot) && own.some((name) => !names.has(name)) ? slot : []));
}

/** The files of pictures that answers name, whether these count or not, and that were removed since. */
export async function listLostImages(folder: string, { images, takes }: BatchState): Promise<string[]> {
  if (images.size === 0 && takes.size === 0) return [];
  const there = await readImageNames(folder);
  const earlier = [...takes.values()].flat().flatMap((take) => take.images ?? []);
  return [...images.values(), earlier].flatMap((names) => names.filter((name) => !there.has(name)));
}

async function readImageNames(folder: string): Promise<ReadonlySet<string>> {
  return new Set(await readdir(join(folder, batchFiles.images)).catch(() => []));
}

/** The file name of an image in the folder `images` of the batch; undefined for any other path. */
export function findImageName(path: unknown): string | undefined {
  const name = typeof path === 'string' ? basename(path) : '';
  return name !== '' && path === `${batchFiles.images}/${name}` ? name : undefined;
}

/** The pictures of a result in the folder of the batch; undefined if it has none. */
export function listImageNames({ images }: JsonObject): string[] | undefined {
  if (!Array.isArray(images)) return undefined;
  const names = images.flatMap((image) => (isObject(image) && findImageName(image['path'])) || []);
  return names.length > 0 ? names : undefined;
}
