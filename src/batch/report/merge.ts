import type { Command } from 'commander';
import { join } from 'node:path';
import { findHolder } from '../folder/lock.ts';
import {
  inspectFolder,
  clearParts,
  findOutdir,
  writeSummary,
  lockFolder,
  makeBatchFolder,
  readBatchFolder,
} from '../folder/folder.ts';
import {
  countJobs,
  countOf,
  describeCounts,
  describeSpending,
  summaryDocument,
  warnArranged,
  warnUnread,
} from './summary.ts';
import { asideFile, cannotWrite } from '../../files/synced-file.ts';
import { batchFiles, type RunRecord } from '../types.ts';
import { addUsage, JobIndex } from '../folder/state.ts';
import { joinSpendings } from '../../cost/cost.ts';
import { GatewayError, outcomes, usageError, codeOf } from '../../errors.ts';
import { copyShards, type Merging, type Shard, type Whole } from './merge-copy.ts';
import { openParts } from '../lane/parts.ts';
import type { Action, Context } from '../../cli/context.ts';
import { mergeFlags } from '../flags.ts';
import { addFlags, setExamples } from '../../cli/flags/flag.ts';
import { addIdHash, hashId, hexOf } from '../jobs/digest.ts';
import { countMissing } from '../folder/results.ts';
import { mkdir, readdir, rename, rm, rmdir, stat, unlink } from 'node:fs/promises';
import { placeFile, randomNonce, partName } from '../../files/temp-file.ts';

/** `batch merge <outdir…> -o <dir>`: the shards of one batch become one folder, as if one machine had run it. */
export function batchMergeCommand(command: Command): Action {
  command.argument('<outdir...>', 'folders of all shards').usage('<outdir…> -o <dir> [flags]');
  setExamples(command, ['gateway-cli batch merge out-1 out-2 out-3 out-4 -o out']);
  addFlags(command, 'Flags', mergeFlags);
  return (context, words, flags) => runMerge(words, flags as { output?: string }, context);
}

async function runMerge(words: readonly string[], { output }: { output?: string }, context: Context): Promise<void> {
  const outdir = await findOutdir(output, context);
  if (outdir.exists) await requireEmpty(outdir.path, output as string);
  const shards: Shard[] = [];
  for (const name of words) shards.push({ name, ...(await readShard(name, context)) });
  const whole = joinShards(shards);
  const target = await openMergeTarget(outdir, context);
  const progress = context.ui.progress('merging');
  try {
    await requireEmpty(outdir.path, output as string);
    const merging = { whole, building: await target.begin(), context, progress };
    const { unread, places } = await copyShards(shards, merging);
    await warnUnread({ unread }, context);
    await warnArranged({ missing: countMissing(whole.index, places), unknownJobs: places.unknownJobs }, context);
    await finishMerge(shards, { ...merging, outdir: output as string });
    await target.publish();
  } catch (error) {
    throw cannotWrite(outdir.path, error);
  } finally {
    await target.close();
    progress.stop();
  }
  if (!context.root.json) await context.io.stdout.write(`${join(output as string, batchFiles.results)}\n`);
}

/** The target folder must be empty: merged files are never mixed with others, nor with another batch. Throws GatewayError usage. */
async function requireEmpty(path: string, output: string): Promise<void> {
  const isEmpty = await inspectFolder(path).then(
    ({ isBatch, foreign }) => !isBatch && foreign.length === 0,
    () => false,
  );
  if (!isEmpty) throw usageError(`-o ${output}: the folder is not empty`, 'name a new one');
}

async function readShard(name: string, context: Context): Promise<Omit<Shard, 'name'>> {
  const read = await readBatchFolder(name, context);
  if (openParts(read.state).length > 0)
    throw new GatewayError('batch-locked', `jobs of ${name} are at the service`, {
      hint: 'collect their results first: run its command again with --lane batch',
      sent: 'no',
    });
  if ((await findHolder(read.folder)) === undefined) return read;
  throw new GatewayError('batch-locked', `${name} is being worked on`, { hint: 'wait for it', sent: 'no' });
}

async function finishMerge(
  shards: readonly Shard[],
  { whole, building, context, outdir }: Merging & { outdir: string },
): Promise<void> {
  const counts = countJobs(whole.index, { jobs: whole.run.jobs });
  const failures = new Map(shards.flatMap(({ state }) => [...state.failures]));
  const facts = {
    counts,
    skipped: 0,
    usage: shards.reduce((sum, { state }) => addUsage(sum, state.usage), {}),
    spending: joinSpendings(shards.map(({ state }) => state.spending)),
    durationMs: Math.max(...shards.map(({ state }) => state.durationMs)),
    outdir,
    failures,
  };
  await writeSummary(building, JSON.stringify(summaryDocument(facts)));
  // The merge succeeded, even if jobs failed.
  context.report.own = summaryDocument({ ...facts, exitCode: outcomes.ok.code });
  await context.ui.note(
    `${countOf(shards.length, 'shard')}, ${countOf(counts.jobs, 'job')}: ${describeCounts(counts)}`,
  );
  const cost = describeSpending(facts.spending);
  if (cost !== '') await context.ui.note(cost);
}

/**
 * Checks that the folders are all shards of one batch, each of them once and finished, and joins their jobs. Throws
 * GatewayError usage that names what overlaps, is missing or is not finished.
 */
function joinShards(folders: readonly Shard[]): Whole {
  const [first] = folders;
  const run = first?.state.run;
  if (!first || !run?.shard) throw usageError(`${first?.name ?? 'it'} was not made with --shard`, 'name shards only');
  const byNumber = new Map<number, Shard>();
  for (const folder of folders) {
    const index = requireSameBatch(folder, { name: first.name, run });
    const same = byNumber.get(index);
    if (same) throw usageError(`shard ${index}/${run.shard.total} is there twice: ${same.name} and ${folder.name}`);
    byNumber.set(index, folder);
  }
  const missing = Array.from({ length: run.shard.total }, (_, i) => i + 1).filter((index) => !byNumber.has(index));
  if (missing.length > 0) {
    const shown = missing.slice(0, 10).map((index) => `${index}/${run.shard?.total}`);
    throw usageError(`missing: shard ${shown.join(', ')}${missing.length > 10 ? ' …' : ''}`, 'name every shard once');
  }
  const index = new JobIndex();
  for (const folder of folders) addJobs(folder, index);
  requireWhole(index, run);
  // The shards can have run on several machines, so they have no boot id and no limit in common.
  return { index, run: { ...run, shard: undefined, boot: undefined, maxTokens: undefined, jobs: run.total } };
}

/** Returns the number of a shard. Throws GatewayError usage if it belongs to another batch than the first. */
function requireSameBatch({ name, state }: Shard, first: { name: string; run: RunRecord }): number {
  const { run } = state;
  if (!run?.shard) throw usageError(`${name} was not made with --shard`, 'name shards only');
  const same =
    run.shard.total === first.run.shard?.total &&
    run.total === first.run.total &&
    run.list === first.run.list &&
    run.origin === first.run.origin;
  if (!same)
    throw usageError(
      `${name} and ${first.name} are not shards of the same batch`,
      'same jobs, same gateway, same --shard …/n',
    );
  return run.shard.index;
}

function addJobs({ name, state }: Shard, all: JobIndex): void {
  const { index, run } = state;
  const { pending } = countJobs(index, { jobs: run?.jobs ?? 0 });
  if (pending > 0)
    throw usageError(
      `${name}: ${countOf(pending, 'job')} ${pending === 1 ? 'was' : 'were'} not sent yet`,
      'run that shard to its end first, with its own command',
    );
  for (const id of index.ids()) {
    if (all.find(id) >= 0) throw usageError(`${name} overlaps with another folder: a job is in both`);
    const [from, to] = [index.find(id), all.add(id)];
    all.setState(to, index.stateOf(from));
    all.setRequest(to, index.requestOf(from));
  }
}

/** The ids of all shards must be those of the job file: no more, no less. */
function requireWhole(index: JobIndex, { total, list }: RunRecord): void {
  let sum = { high: 0, low: 0 };
  for (const id of index.ids()) sum = addIdHash(sum, hashId(id));
  if (index.size === total && hexOf(sum) === list) return;
  throw usageError(
    `the shards hold ${countOf(index.size, 'job')}, and the job file ${total}`,
    'run each shard again with the same job file',
  );
}

/** In the order of publishing. The journal is the last: a folder with a journal is a batch. */
const publishedNames = [
  batchFiles.results,
  asideFile(batchFiles.results),
  batchFiles.summary,
  batchFiles.images,
  batchFiles.journal,
];

/** Makes the target folder of a merge if it does not exist, and locks it. Throws GatewayError usage or batch-locked. */
export async function openMergeTarget({ path, exists }: { path: string; exists: boolean }, { signal }: Context) {
  await makeBatchFolder(path);
  const building = join(path, partName(randomNonce()));
  const lock = await lockFolder(path);
  return {
    /** Makes a folder inside the target, where everything is built first: the target can be a mount point, so it is not replaced. */
    async begin() {
      await clearParts(path);
      await mkdir(building);
      await mkdir(join(building, batchFiles.images));
      return building;
    },
    /** Moves everything into the target. Throws GatewayError usage and undoes it if one of the names is taken by now. */
    async publish() {
      signal.throwIfAborted();
      await publish(building, path);
    },
    /** Removes unfinished files, and the target if the merge made it and it is empty. */
    async close() {
      await rm(building, { recursive: true, force: true });
      await lock.release();
      // `rmdir` fails if the folder is not empty: then it stays.
      if (!exists) await rmdir(path).catch(() => undefined);
    },
  };
}

async function publish(building: string, path: string): Promise<void> {
  const undoSteps: (() => Promise<unknown>)[] = [];
  const built = await readdir(building);
  for (const name of publishedNames.filter((file) => built.includes(file))) {
    const [from, to] = [join(building, name), join(path, name)];
    const stats = await stat(from);
    const inside = stats.isDirectory() ? (await readdir(from)).map((file) => join(to, file)) : undefined;
    try {
      if (inside) await rename(from, to);
      else await placeFile(from, to, { bytes: stats.size, replace: false });
    } catch (error) {
      for (const undo of undoSteps.toReversed()) await undo();
      if (!['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(codeOf(error) ?? '')) throw cannotWrite(to, error);
      throw usageError(`-o: somebody else put ${name} into ${path} meanwhile`, 'name a new folder');
    }
    undoSteps.push(async () => {
      for (const file of inside ?? [to]) await unlink(file).catch(() => undefined);
      if (inside) await rmdir(to).catch(() => undefined);
    });
  }
}
