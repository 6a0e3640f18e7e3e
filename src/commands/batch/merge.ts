import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, link, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { Command } from 'commander';
import { arrangeResults } from '../../batch/arrange-results.ts';
import { keyOf } from '../../batch/digest.ts';
import { findHolder } from '../../batch/lock.ts';
import { joinShards, type ShardFolder, type Whole } from '../../batch/merge-check.ts';
import { parseRecord } from '../../batch/journal.ts';
import { parseResult } from '../../batch/reconcile.ts';
import { countJobs, countOf, describeCounts, summaryDocument } from '../../batch/summary.ts';
import { cannotWrite, SyncedFile } from '../../batch/synced-file.ts';
import { batchFiles, type JobRecord, type JournalRecord } from '../../batch/types.ts';
import { addUsage } from '../../batch/usage.ts';
import { codeOf, GatewayError, outcomes, usageError } from '../../errors.ts';
import { makeFolder } from '../../make-folder.ts';
import { isObject, type JsonValue } from '../../json.ts';
import { findOutdir, writeSummary } from './folder.ts';
import { linesOf } from './lines.ts';
import { readBatchFolder } from './read.ts';
import { tellArranged } from './tell-unread.ts';
import type { Action, Context } from '../context.ts';
import { mergeFlags } from '../flags/batch.ts';
import { addFlags } from '../flags/flag.ts';
import { setExamples } from '../help.ts';

/** `batch merge <outdir…> -o <dir>`: the shards of one batch become one folder, as if one machine had run it. */
export function batchMergeCommand(command: Command): Action {
  command.argument('<outdir...>', 'folders of all shards').usage('<outdir…> -o <dir>');
  setExamples(command, ['gateway-cli batch merge out-1 out-2 out-3 out-4 -o out']);
  addFlags(command, 'Flags', mergeFlags);
  return (context, words, flags) => runMerge(words, flags as { output?: string }, context);
}

interface Shard extends ShardFolder {
  folder: string;
  lostEnds: readonly JobRecord[];
}

async function runMerge(words: readonly string[], { output }: { output?: string }, context: Context): Promise<void> {
  const outdir = await findOutdir(output, context);
  if (outdir.exists && (await readdir(outdir.path)).length > 0)
    throw usageError(`-o ${output}: the folder is not empty`, 'name a new one');
  const shards: Shard[] = [];
  for (const name of words) shards.push({ name, ...(await readShard(name, context)) });
  const whole = joinShards(shards);
  // All or nothing: a merge that was killed leaves a folder that nobody takes for a batch.
  const building = join(dirname(outdir.path), `.gateway-cli-${randomBytes(8).toString('hex')}.part`);
  try {
    await makeFolder(join(building, batchFiles.images));
    await copyShards(shards, { whole, building, context });
    await finishMerge(shards, { whole, building, context, outdir: output as string });
    if (outdir.exists) await rm(outdir.path, { recursive: true });
    await rename(building, outdir.path);
  } catch (error) {
    await rm(building, { recursive: true, force: true });
    throw error instanceof GatewayError ? error : cannotWrite(outdir.path, error);
  }
}

async function readShard(name: string, context: Context): Promise<Omit<Shard, 'name'>> {
  const read = await readBatchFolder(name, context);
  if ((await findHolder(read.folder)) === undefined) return read;
  throw new GatewayError('batch-locked', `${name} is being worked on`, { hint: 'wait for it', sent: 'no' });
}

interface Merging {
  whole: Whole;
  building: string;
  context: Context;
}

async function copyShards(shards: readonly Shard[], { whole, building, context }: Merging): Promise<void> {
  const results = await SyncedFile.open(join(building, batchFiles.results));
  const journal = await SyncedFile.open(join(building, batchFiles.journal));
  try {
    for (const { folder } of shards)
      for await (const { document } of linesOf(join(folder, batchFiles.results), parseResult)) {
        context.signal.throwIfAborted();
        const images = await copyImages(document['images'], { folder, building });
        results.append(JSON.stringify(images === undefined ? document : { ...document, images }));
      }
    // Every end is in the journals, so none is looked for among the results.
    journal.append(JSON.stringify({ ...whole.run, results: results.size, at: context.io.now() }));
    for (const shard of shards) for await (const record of recordsOf(shard)) journal.append(JSON.stringify(record));
    await results.sync();
    await journal.sync();
  } finally {
    await results.close();
    await journal.close();
  }
  await tellArranged(await arrangeResults(building, whole.table), context);
}

/** What a shard's journal says of its jobs without the runs, by whose boots alone `ready` can be read. */
async function* recordsOf({ folder, state: { table }, lostEnds }: Shard): AsyncGenerator<JournalRecord, void> {
  for await (const record of linesOf(join(folder, batchFiles.journal), parseRecord)) {
    if (record.type === 'run') continue;
    if (record.type !== 'ready') yield record;
    else if (table.stateOf(table.find(keyOf(record.id))) === 'sent') yield { ...record, type: 'sent' };
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
  const path = isObject(image) && typeof image['path'] === 'string' ? image['path'] : '';
  const name = basename(path);
  // Anything else is no picture of the batch's own folder: the line stays as it is.
  if (name === '' || path !== `${batchFiles.images}/${name}`) return image;
  const from = join(folder, batchFiles.images, name);
  const stem = basename(name, extname(name));
  for (let n = 1; ; n++) {
    const free = `${batchFiles.images}/${n === 1 ? name : `${stem}-${n}${extname(name)}`}`;
    const copied = await copyNew(from, join(building, free));
    if (copied === 'gone') return image;
    if (copied === 'copied') return { ...(image as object), path: free };
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

async function finishMerge(
  shards: readonly Shard[],
  { whole, building, context, outdir }: Merging & { outdir: string },
): Promise<void> {
  const counts = countJobs(whole.table, { jobs: whole.run.jobs });
  const failures = new Map(shards.flatMap(({ state }) => [...state.failures]));
  const facts = {
    counts,
    skipped: 0,
    usage: shards.reduce((sum, { state }) => addUsage(sum, state.usage), {}),
    durationMs: Math.max(...shards.map(({ state }) => state.durationMs)),
    outdir,
    failures,
  };
  await writeSummary(building, JSON.stringify(summaryDocument(facts)));
  // The joining itself went well, whatever became of the jobs.
  context.report.own = summaryDocument({ ...facts, exitCode: outcomes.ok.code });
  await context.ui.note(
    `${countOf(shards.length, 'shard')}, ${countOf(counts.jobs, 'job')}: ${describeCounts(counts)}`,
  );
  if (!context.root.json) await context.io.stdout.write(`${join(outdir, batchFiles.results)}\n`);
}
