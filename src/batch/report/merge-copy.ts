import { constants } from 'node:fs';
import { copyFile, type FileHandle, link, lstat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { readJobRecords } from '../folder/journal.ts';
import type { BatchState, JobIndex } from '../folder/state.ts';
import { imageNameOf } from '../folder/results.ts';
import { openIfThere, readLines } from '../lines.ts';
import { arrangeResults, locateResults, parseResult, type ResultPlaces } from '../folder/results.ts';
import { asideFile, copyAside, SyncedFile } from '../../files/synced-file.ts';
import { batchFiles, type JobRecord, type RunRecord } from '../types.ts';
import { codeOf } from '../../errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import type { Context } from '../../cli/context.ts';
import type { Progress } from '../../terminal/progress.ts';
import { freeNumber, type Range } from '../../files/temp-file.ts';

/** A shard's folder, read. */
export interface Shard {
  /** As the user named it. */
  name: string;
  folder: string;
  state: BatchState;
  lostEnds: readonly JobRecord[];
}

/** What all shards together are: the run record of the whole, and every job of it. */
export interface Whole {
  run: RunRecord;
  index: JobIndex;
}

/** What is merged, and the folder where that is built. */
export interface Merging {
  whole: Whole;
  building: string;
  context: Context;
  progress: Progress;
}

/** Writes journal, results and pictures of all shards. Throws GatewayError not-written. */
export async function copyShards(
  shards: readonly Shard[],
  { whole, building, context, progress }: Merging,
): Promise<{ unread: number; places: ResultPlaces }> {
  const results = await SyncedFile.open(join(building, batchFiles.results));
  const journal = await SyncedFile.open(join(building, batchFiles.journal));
  let unread = 0;
  let merged = 0;
  try {
    for (const { folder } of shards)
      unread += await copyResults(folder, building, async (document) => {
        context.signal.throwIfAborted();
        const images = await copyImages(document['images'], { folder, building });
        const files = await copyImages(document['files'], { folder, building });
        results.append(JSON.stringify({ ...document, ...(images && { images }), ...(files && { files }) }));
        // A job that was sent again can have several results.
        progress.update(`${Math.min(++merged, whole.run.jobs)}/${whole.run.jobs}`);
      });
    // Every end is in the journals, so none is looked for among the results.
    journal.append(JSON.stringify({ ...whole.run, results: results.size, at: context.io.now() }));
    for (const shard of shards) for await (const record of recordsOf(shard)) journal.append(JSON.stringify(record));
    await results.sync();
    await journal.sync();
  } finally {
    await results.close();
    await journal.close();
  }
  const places = await locateResults(building, whole.index);
  await arrangeResults(building, whole.index, { places });
  return { unread, places };
}

/** Each result goes to `take`, and what cannot be read to the file for that; resolves with the number of such lines. */
async function copyResults(
  folder: string,
  building: string,
  take: (document: JsonObject) => Promise<void>,
): Promise<number> {
  const to = join(building, batchFiles.results);
  const path = join(folder, batchFiles.results);
  const unread: Range[] = [];
  await withFile(path, async (from) => {
    for await (const lines of readLines(from))
      for (const { text, whole, offset, bytes } of lines) {
        const result = whole ? parseResult(text) : undefined;
        if (result) await take(result.document);
        else if (bytes > 1) unread.push({ offset, bytes });
      }
    await copyAside(to, from, unread);
  });
  // What was kept aside in the shard is kept on.
  await withFile(asideFile(path), async (from) => {
    await copyAside(to, from, [{ offset: 0, bytes: (await from.stat()).size }]);
  });
  return unread.length;
}

async function withFile(path: string, act: (from: FileHandle) => Promise<void>): Promise<void> {
  const from = await openIfThere(path);
  if (from === undefined) return;
  await act(from).finally(() => from.close());
}

/** The records of a shard's jobs. The merged journal has no records of its runs, without which `ready` says nothing. */
async function* recordsOf({ folder, state: { index }, lostEnds }: Shard): AsyncGenerator<JobRecord, void> {
  for await (const record of readJobRecords(folder)) {
    if (record.type !== 'ready') yield record;
    else if (index.stateOf(index.find(record.id)) === 'sent') yield { ...record, type: 'sent' };
  }
  yield* lostEnds;
}

/** The pictures of one result under their names, or the next free ones. */
async function copyImages(
  images: JsonValue | undefined,
  place: { folder: string; building: string },
): Promise<JsonValue[] | undefined> {
  if (!Array.isArray(images) || images.length === 0) return undefined;
  const copied: JsonValue[] = [];
  for (const image of images) copied.push(await copyImage(image, place));
  return copied;
}

async function copyImage(
  image: JsonValue,
  { folder, building }: { folder: string; building: string },
): Promise<JsonValue> {
  const name = isObject(image) ? imageNameOf(image['path']) : undefined;
  // Anything else is not an image of the batch's own folder: the line stays as it is.
  if (name === undefined) return image;
  const from = join(folder, batchFiles.images, name);
  const stem = basename(name, extname(name));
  const pathOf = (n: number): string => `${batchFiles.images}/${n === 1 ? name : `${stem}-${n}${extname(name)}`}`;
  const isTaken = (n: number): Promise<boolean> =>
    lstat(join(building, pathOf(n))).then(
      () => true,
      () => false,
    );
  for (let n = 1; ; n = await freeNumber(n + 1, isTaken)) {
    const copied = await copyNew(from, join(building, pathOf(n)));
    if (copied === 'gone') return image;
    if (copied === 'copied') return { ...(image as object), path: pathOf(n) };
  }
}

async function copyNew(from: string, to: string): Promise<'copied' | 'taken' | 'gone'> {
  try {
    // A second name costs nothing; other disks and file systems get a copy.
    await link(from, to).catch((error: unknown) => {
      if (codeOf(error) === 'EEXIST' || codeOf(error) === 'ENOENT') throw error;
      return copyFile(from, to, constants.COPYFILE_EXCL);
    });
    return 'copied';
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return 'taken';
    if (codeOf(error) === 'ENOENT') return 'gone';
    throw error;
  }
}
