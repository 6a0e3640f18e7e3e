import type { Command } from 'commander';
import type { Action, Context } from '../cli/context.ts';
import type { BatchFlags, Batch, BatchHooks } from './run/types.ts';
import { addFlags } from '../cli/flags/flag.ts';
import { batchConnectionFlags, batchFlags } from './flags.ts';
import { priceFlags } from '../cli/flags/shared.ts';
import { setExamples, setNotes } from '../cli/help/help.ts';
import { readJournal } from './folder/journal.ts';
import type { Lock } from './folder/lock.ts';
import { arrangeResults, countMissing, findLostEnds, locateResults } from './folder/results.ts';
import { parseShard } from './jobs/shard.ts';
import { countOf } from './report/summary.ts';
import { isSpent } from './run/usage.ts';
import { GatewayError } from '../errors.ts';
import type { LeaseTimes } from '../files/lease.ts';
import { finishBatch, showPlan } from './run/finish.ts';
import { enterOutdir, findOutdir, requireOwn } from './folder/folder.ts';
import { type BatchPlan, planBatch } from './run/plan.ts';
import { createRequestBuilder } from './jobs/request.ts';
import { countChecked } from './run/progress.ts';
import { sendJobs } from './run/send.ts';
import { openJobs, refuseTypo, requireJobs } from './jobs/source.ts';
import { tellArranged, tellUnread } from './folder/read.ts';

/** `batch [run] <jobs.jsonl|-> -o <dir>`: many requests, parallel, each paid for once. */
export function batchRunCommand(command: Command): Action {
  command.argument('[jobs...]', 'JSON Lines, one job a line; - is stdin').usage('<jobs.jsonl|-> -o <dir> [flags]');
  setExamples(command, [
    'gateway-cli batch jobs.jsonl -o out --concurrency 8',
    'gateway-cli batch jobs.jsonl -o out                 # again: continues where it stopped',
    `gateway-cli batch --prompts prompts.txt --defaults '{"command":"image gen","aspect":"1:1"}' -o out`,
    'gateway-cli batch --data rows.csv --template prompt.md -o out',
    'gateway-cli batch jobs.jsonl -o out-1 --shard 1/4   # on the first of four machines',
  ]);
  setNotes(command, [
    'A job: {"id": "7", "command": "image edit", "prompt": "…", "image": ["in/7.png"], "aspect": "1:1"}. Keys are the request flags of its command (text, image gen, image edit, chat) in camel case, lists as arrays, and "profile"; files are relative to the job file.',
    'Ctrl-C takes no further job and waits up to 10 s for those under way; again, it stops at once.',
  ]);
  addFlags(command, 'Flags', batchFlags);
  addFlags(command, 'Connection', batchConnectionFlags);
  addFlags(command, 'Costs', priceFlags);
  return async (context: Context, words, typed) => {
    const flags = typed as BatchFlags;
    // Nothing was said: the help, as of every group of commands; what is missing is told behind it.
    if (words.length === 0 && !flags.prompts && !flags.data && !flags.template && !flags.output)
      command.parent?.outputHelp({ error: true });
    await runBatch(words, flags, context);
  };
}

/** Checks all jobs, sends those that are due, and leaves a folder from which the same command goes on. */
export async function runBatch(
  words: readonly string[],
  flags: BatchFlags,
  context: Context,
  hooks: BatchHooks = {},
): Promise<void> {
  const startedAt = context.io.elapsed();
  const shard = flags.shard === undefined ? undefined : parseShard(flags.shard, context.io.env);
  await refuseTypo(words, context);
  requireJobs(words, flags);
  const outdir = await findOutdir(flags.output, context);
  if (outdir.exists) await requireOwn(outdir.path);
  const source = await openJobs(words, flags, context);
  const builder = createRequestBuilder({
    context,
    flags,
    file: source.name,
    adviseBlank: source.adviseBlank,
    folders: { input: source.folder, output: outdir.path },
    onHashed: (bytes) => checked.addBytes(bytes),
  });
  const early = outdir.exists && !flags.dryRun ? await enterOutdir(outdir.path, context, hooks.lease) : undefined;
  const checking = context.ui.progress('checking the jobs');
  context.atEnd(async () => checking.stop());
  const checked = countChecked(checking);
  const state = await readJournal(outdir.path);
  const { lostEnds, places } = await findLostEnds(outdir.path, state);
  await tellUnread({ unread: places.unreadable + (places.torn ? 1 : 0), torn: state.torn }, context);
  const onChecked = (): void => checked.addJob();
  const plan = await planBatch({ source, builder, state, shard, flags, context, onChecked });
  checking.stop();
  const planned = { flags, context, source, builder, outdir: outdir.path, shard, state, lostEnds, plan, startedAt };
  if (flags.dryRun) return showPlan(planned);
  // A mistake in the jobs leaves no empty folder behind.
  const batch = { ...planned, lock: early ?? (await enterNew(outdir.path, context, hooks.lease)) };
  await tellResume(batch);
  const stop = await sendJobs(batch, hooks).catch(async (error: unknown) => {
    // The books could not be kept: the summary is tried, and what went wrong is told.
    await finishBatch(batch, { failure: error }).catch(() => undefined);
    throw error;
  });
  if (stop !== 'signal' && (flags.ordered || plan.again > 0 || state.run !== undefined)) {
    await batch.lock.confirm();
    const sorting = context.ui.progress('sorting the results');
    const now = await locateResults(outdir.path, state.index, { places }).finally(() => sorting.stop());
    await arrangeResults(outdir.path, state.index, { places: now, ordered: flags.ordered }).finally(() =>
      sorting.stop(),
    );
    await tellArranged({ missing: countMissing(state.index, now), unknownJobs: now.unknownJobs }, context);
  }
  await finishBatch(batch, { stop });
}

/** A folder that was not there before: the journal of nobody else is in it. Throws GatewayError batch-locked. */
async function enterNew(path: string, context: Context, lease: LeaseTimes | undefined): Promise<Lock> {
  const lock = await enterOutdir(path, context, lease);
  if ((await readJournal(path)).run === undefined) return lock;
  throw new GatewayError('batch-locked', 'another run began in this folder meanwhile', {
    hint: 'run the same command again',
    sent: 'no',
    retryable: true,
  });
}

async function tellResume({ plan, context, source, flags, state }: Batch): Promise<void> {
  const before = plan.jobs - plan.due + plan.again;
  if (before > 0) {
    const next = describeNext(plan, isSpent(state.usage, flags.maxTokensTotal));
    await context.ui.note(`${before} of ${countOf(plan.jobs, 'job')} ${be(before, 'was')} sent before; ${next}`);
  }
  if (plan.removed > 0) {
    const what = `${countOf(plan.removed, 'job')} of the journal ${be(plan.removed, 'is')}`;
    await context.ui.warn(`${what} no longer in ${source.name}`);
  }
}

/** Who pays for a job a second time sees it. */
function describeNext({ due, again }: BatchPlan, spent: boolean): string {
  const now = spent ? 0 : due;
  if (now === 0 || again === 0) return `${now} ${be(now, 'is')} sent now`;
  const first = due - again;
  return `${again} ${be(again, 'is')} sent again${first > 0 ? `, ${first} for the first time` : ''}`;
}

function be(count: number, one: 'is' | 'was'): string {
  if (count === 1) return one;
  return one === 'is' ? 'are' : 'were';
}
