import type { Command } from 'commander';
import { join } from 'node:path';
import { findHolder } from '../../batch/lock.ts';
import { joinShards } from './merge-check.ts';
import { lookInto } from '../../batch/own-folder.ts';
import { countJobs, countOf, describeCounts, describeSpending, summaryDocument } from '../../batch/summary.ts';
import { cannotWrite } from '../../files/synced-file.ts';
import { batchFiles } from '../../batch/types.ts';
import { addUsage } from '../../batch/usage.ts';
import type { Spending } from '../../cost/types.ts';
import { GatewayError, outcomes, usageError } from '../../errors.ts';
import { findOutdir, writeSummary } from './folder.ts';
import { copyShards, type Merging, type Shard } from './merge-copy.ts';
import { openMergeTarget } from './merge-target.ts';
import { readBatchFolder } from './read.ts';
import { tellArranged, tellUnread } from './notes.ts';
import type { Action, Context } from '../../cli/context.ts';
import { mergeFlags } from '../../cli/flags/batch.ts';
import { addFlags } from '../../cli/flags/flag.ts';
import { setExamples } from '../../cli/help/help.ts';

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
    const { unread, arranged } = await copyShards(shards, merging);
    await tellUnread({ unread }, context);
    await tellArranged(arranged, context);
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

/** Nothing of anybody is mixed with what is merged, be it a batch. Throws GatewayError usage. */
async function requireEmpty(path: string, output: string): Promise<void> {
  const isEmpty = await lookInto(path).then(
    ({ isBatch, foreign }) => !isBatch && foreign.length === 0,
    () => false,
  );
  if (!isEmpty) throw usageError(`-o ${output}: the folder is not empty`, 'name a new one');
}

async function readShard(name: string, context: Context): Promise<Omit<Shard, 'name'>> {
  const read = await readBatchFolder(name, context);
  if ((await findHolder(read.folder)) === undefined) return read;
  throw new GatewayError('batch-locked', `${name} is being worked on`, { hint: 'wait for it', sent: 'no' });
}

async function joinSpending(shards: readonly Shard[]): Promise<Spending> {
  const { joinSpendings } = await import('../../cost/cost.ts');
  return joinSpendings(shards.map(({ state }) => state.spending));
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
    spending: await joinSpending(shards),
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
  const cost = describeSpending(facts.spending);
  if (cost !== '') await context.ui.note(cost);
}
