import type { Command } from 'commander';
import {
  assignAgain,
  type Batch,
  type BatchHooks,
  type BatchJobs,
  defaultGraceMs,
  enterNewOutdir,
  type FolderLock,
  isAsWritten,
  isInBatches,
  listLostImages,
  newBatchState,
  runBatch,
  type Stop,
  writeManifest,
} from '../../../batch/index.ts';
import type { Action, AnswerContext, CommandEnd, Context } from '../../context.ts';
import { resultDocument } from '../../output/document.ts';
import { emptyReport } from '../../output/outcome.ts';
import { addFlags, setExamples, setNotes } from '../../flags/flag.ts';
import { priceFlags } from '../../flags/shared.ts';
import { countRequests, openBatchClients } from './clients.ts';
import { noteEmptyShard, showPlan } from './dry-run.ts';
import { failBatch, finishBatch, noteRefused } from './finish.ts';
import { batchConnectionFlags, type BatchFlags, batchFlags } from './flags.ts';
import { createHost } from './host.ts';
import { productOf, requireUsable } from './jobs/references.ts';
import { keepCommand, findTypedFolder } from './kept-command.ts';
import { createRequestBuilder } from './jobs/request.ts';
import { parseShard } from './jobs/shard.ts';
import { type JobSource, openJobs, refuseTypo, requireJobs } from './jobs/source.ts';
import type { TypedFolder } from './next-command.ts';
import { findOutdir, openOutdir, readOutdir } from './outdir.ts';
import { openParentResults } from './parent-results.ts';
import { type JobPrices, openJobPrices, preparePriced } from './job-prices.ts';
import { planJobs } from './plan.ts';
import { limitConcurrency, readPolicy, saveMemory } from './policy.ts';
import { trackChecking } from './progress.ts';
import { noteGone, noteEmptyRows, noteResume } from './resume.ts';
import { runStreamed } from './stream.ts';
import { showEstimate } from './estimate.ts';
import { openBatchBudgets } from './budgets.ts';

/** `batch [run] <jobs.jsonl|-> -o <dir>`: many requests, parallel, each paid for once. */
export function batchRunCommand(command: Command): Action {
  command
    .argument('[jobs...]', 'JSON Lines, one job per line; - is stdin; not with --data or --prompts')
    .usage('[jobs.jsonl|-] -o <dir> [flags]');
  setExamples(command, [
    'gateway-cli batch jobs.jsonl -o out --concurrency 8',
    'gateway-cli batch again out                         # continues where it stopped, with the same flags',
    `gateway-cli batch --prompts prompts.txt --defaults '{"command":"image gen","aspect":"1:1"}' -o out`,
    'gateway-cli batch --data rows.csv -o out "A slogan for {{city}}"',
    'gateway-cli batch jobs.jsonl -o out --limit 20      # a sample; batch again out sends the rest',
    'gateway-cli batch redo out 7,9                      # these two again',
    'gateway-cli batch jobs.jsonl -o out-1 --shard 1/4   # on the first of four machines',
  ]);
  setNotes(command, [
    'A job: {"id": "7", "command": "image edit", "prompt": "…", "image": ["in/7.png"], "aspect": "1:1"}. Keys are the request flags of its command (text, image gen, image edit, chat) in camel case, lists as arrays, and "profile"; files are relative to the job file.',
    'Ctrl-C takes no further job and waits up to 10 s for those in flight; again, it stops at once.',
  ]);
  addFlags(command, 'Flags', batchFlags);
  addFlags(command, 'Connection', batchConnectionFlags);
  addFlags(command, 'Costs', priceFlags);
  return (context: Context, words, typed) => {
    const flags = typed as BatchFlags;
    // Nothing was typed: the help is shown, as by every group of commands; and after it the missing parts.
    if (
      words.length === 0 &&
      !flags.prompts &&
      !flags.data &&
      !flags.template &&
      !flags.output &&
      !flags.estimate &&
      !flags.stream
    )
      command.parent?.outputHelp({ error: true });
    return countRequests(context, (own) => runTyped(words, flags, own));
  };
}

/** Runs a command of `batch`, as it was typed or as a folder keeps it. */
export function runTyped(words: readonly string[], flags: BatchFlags, context: AnswerContext): Promise<CommandEnd> {
  return flags.stream ? runStreamed(words, flags, context) : runJobFile(words, flags, context);
}

/**
 * Checks all jobs, sends those that were not sent yet, and leaves a folder from which the same command goes on. With `--dry-run`
 * and `--estimate`, nothing is sent that is paid for, and nothing is written.
 */
export async function runJobFile(
  words: readonly string[],
  flags: BatchFlags,
  context: AnswerContext,
  hooks: BatchHooks = {},
): Promise<CommandEnd> {
  const { planned, lock, checking } = await planJobFile(words, flags, context, hooks);
  const { host, plan, state, outdir } = planned;
  if (flags.estimate) return showEstimate(planned, checking.progress);
  checking.stop();
  if (state.run) await noteGone(planned);
  if (flags.dryRun) return showPlan(planned);
  // A mistake in the jobs must not leave an empty folder.
  const batch = { ...planned, lock: lock ?? (await enterNewOutdir(outdir, host, hooks.lock)) };
  if (state.run) await noteResume(batch);
  let stop: Stop | undefined;
  try {
    // The table names the rows, and writing it is the consent to edited rows: it is written before anything is sent.
    if (!isAsWritten(batch)) await writeTable(batch, hooks);
    stop = await send(batch, hooks);
    // An equal row may have got the answer that another one waited for, or the row that it uses got no new one.
    if (assignAgain(plan, state)) await writeTable(batch, hooks);
  } catch (error) {
    return failBatch(batch, error);
  }
  await noteEmptyShard(batch);
  return finishBatch(batch, stop);
}

/** A job file, and the folder of its batch. */
interface OpenedFile extends Pick<RunningBatch, 'folder' | 'host' | 'outdir' | 'state' | 'lostEnds' | 'shard'> {
  source: JobSource;
  /** The lock of a folder that is there. With `--dry-run` and `--estimate`, it is not locked. */
  lock: FolderLock | undefined;
}

async function openJobFile(
  words: readonly string[],
  flags: BatchFlags,
  context: AnswerContext,
  hooks: BatchHooks,
): Promise<OpenedFile> {
  const folder = findTypedFolder({ words, flags }, context.io);
  const host = createHost(context, folder);
  const shard = flags.shard === undefined ? undefined : parseShard(flags.shard, context.io.env);
  if (flags.data === undefined) await refuseTypo(words, context);
  const place = requireJobs(words, flags);
  const needsNoFolder = flags.estimate === true && flags.output === undefined;
  const outdir = needsNoFolder ? { path: context.io.cwd, exists: false } : await findOutdir(flags.output, context);
  const source = await openJobs(place, flags, context);
  const opened = { folder, host, shard, source, outdir: outdir.path };
  if (!outdir.exists) return { ...opened, lock: undefined, state: newBatchState(), lostEnds: [] };
  const isTrial = flags.dryRun === true || flags.estimate === true;
  if (isTrial) return { ...opened, lock: undefined, ...(await readOutdir(outdir.path, undefined, { host, context })) };
  return { ...opened, ...(await openOutdir(outdir.path, { host, context }, hooks.lock)) };
}

/** A run that is planned, and what it needs beside the plan. */
interface PlannedFile {
  planned: PlannedBatch;
  lock: FolderLock | undefined;
  checking: ReturnType<typeof trackChecking>;
}

/** Checks all jobs and decides which are sent. */
async function planJobFile(
  words: readonly string[],
  flags: BatchFlags,
  context: AnswerContext,
  hooks: BatchHooks,
): Promise<PlannedFile> {
  if (flags.lane === 'batch') saveMemory();
  const startedAt = context.io.elapsed();
  const policy = await readPolicy(flags, context);
  const { lock, source, ...opened } = await openJobFile(words, flags, context, hooks);
  const { host, outdir, shard, state } = opened;
  const checking = trackChecking(context);
  const prices = openJobPrices({ flags, state, context });
  const builder = createRequestBuilder({
    context,
    flags,
    source,
    host,
    outdir,
    listLostImages: () => listLostImages(outdir, state),
    readResult: openParentResults(opened, context),
  });
  const jobs: BatchJobs = {
    ...builder,
    name: source.name,
    read: source.jobs,
    prepare: preparePriced(builder, prices),
    productOf,
    requireUsable,
    describeLost: (error) => resultDocument(emptyReport('batch run'), { error, durationMs: 0, redaction: context.ui }),
  };
  const command = await keepCommand({ words, flags, shard }, { ...context, folder: outdir });
  const known = { ...opened, jobs, prices, flags, context, policy: { ...policy, command } };
  const onChecked = (): void => checking.add();
  const plan = await planJobs({ ...known, source, onChecked }).catch(async (error: unknown) => {
    if (lock) await noteRefused(error, { folder: opened.folder, outdir, lock, context });
    throw error;
  });
  if (source.emptyRows) await noteEmptyRows(source, context);
  return { planned: { ...known, startedAt, plan }, lock, checking };
}

/** A batch, and the command that runs it. */
export interface RunningBatch extends Batch {
  flags: BatchFlags;
  context: AnswerContext;
  prices: JobPrices;
  /** The folder in commands to type; undefined if the results of jobs that come one by one are printed alone. */
  folder: TypedFolder | undefined;
  /** Monotonic clock at the start, in ms. */
  startedAt: number;
}

/** A batch that was checked, and whose folder may not be there yet. */
export type PlannedBatch = Omit<RunningBatch, 'lock'>;

async function writeTable(batch: Batch, { step }: BatchHooks): Promise<void> {
  await writeManifest(batch);
  step?.('table-written', '');
}

/** Sends the jobs of a plan. Resolves with the reason why it ended early, if any. */
async function send(batch: RunningBatch, hooks: BatchHooks): Promise<Stop | undefined> {
  const { plan, flags, context } = batch;
  const clients = await openBatchClients(plan.gateways, flags, context, hooks.connection);
  const byBatches = isInBatches(plan);
  if (byBatches) saveMemory();
  const isLive = !byBatches && plan.toSend > 0;
  const concurrency = isLive ? await limitConcurrency(flags, plan.toSend, context) : 1;
  context.gracePeriod.ms = (hooks.graceMs ?? defaultGraceMs) + 2000;
  return runBatch(batch, {
    clients,
    concurrency,
    budgets: byBatches ? await openBatchBudgets(plan.gateways, flags.tag, context) : new Map(),
    hooks,
  });
}
