import { tmpdir } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { arrangeResults } from '../batch/arrange-results.ts';
import { type BatchGate, createGate, type Sleep } from '../batch/gate.ts';
import { type JournalState, readJournal } from '../batch/journal.ts';
import { createPacer } from '../batch/rate.ts';
import { findLostEnds } from '../batch/reconcile.ts';
import { openRecorder } from '../batch/recorder.ts';
import { type ReadyJob, runJobs, type Stop } from '../batch/runner.ts';
import { parseShard } from '../batch/shard.ts';
import type { JobRecord, RunRecord, Shard, Step } from '../batch/types.ts';
import { countOf } from '../batch/summary.ts';
import { totalTokens } from '../batch/usage.ts';
import { version } from '../version.ts';
import { finishBatch, showPlan } from './batch-finish.ts';
import { createFlight } from './batch-flight.ts';
import { dueJobs, prepareDue } from './batch-due.ts';
import { enterOutdir, findOutdir } from './batch-folder.ts';
import { performJob, type Performing } from './batch-perform.ts';
import { type BatchPlan, planBatch } from './batch-plan.ts';
import { createRequestBuilder, type RequestBuilder } from './batch-request.ts';
import { type JobSource, openJobs, refuseTypo } from './batch-source.ts';
import { startTally } from './batch-tally.ts';
import type { Context } from './context.ts';
import { openSession, type Session } from './session.ts';
import type { ConnectionFlags } from './settings.ts';

/** Flags of `batch run`, as they were typed. */
export type BatchFlags = ConnectionFlags & {
  output?: string;
  prompts?: string;
  defaults?: string;
  concurrency?: number;
  rate?: number;
  shard?: string;
  retryFailed?: true;
  retryUnknown?: true;
  acceptChanges?: true;
  failFast?: true;
  maxFailures?: number;
  maxTokensTotal?: number;
  ordered?: true;
  strict?: true;
  requireComplete?: true;
  dryRun?: true;
};

/** Reachable from tests only. */
export interface BatchHooks {
  step?: Step | undefined;
}

/** Everything that a run works with, once its jobs are checked. */
export interface Batch {
  flags: BatchFlags;
  context: Context;
  source: JobSource;
  builder: RequestBuilder;
  outdir: string;
  shard: Shard | undefined;
  state: JournalState;
  lostEnds: readonly JobRecord[];
  plan: BatchPlan;
  /** Monotonic clock at the start, in ms. */
  startedAt: number;
}

/** Jobs under way go on for so long after a signal. */
const graceMs = 10_000;
const defaultConcurrency = 4;
/** Waiting of one job in all (faults.md 3). */
const longestWaitMs = 300_000;

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
  const outdir = await findOutdir(flags.output, context);
  const source = await openJobs(words, flags, context);
  const builder = createRequestBuilder({
    context,
    flags,
    file: source.name,
    folders: { input: source.folder, output: outdir.path },
  });
  if (outdir.exists && !flags.dryRun) await enterOutdir(outdir.path, context);
  const state = await readJournal(outdir.path);
  const lostEnds = await findLostEnds(outdir.path, state.table, () => context.io.now());
  const resume = {
    retryFailed: flags.retryFailed === true,
    retryUnknown: flags.retryUnknown === true,
    acceptChanges: flags.acceptChanges === true,
  };
  const checking = context.ui.progress('checking the jobs');
  const plan = await planBatch({ source, builder, state, shard, resume, context }).finally(() => checking.stop());
  const batch = { flags, context, source, builder, outdir: outdir.path, shard, state, lostEnds, plan, startedAt };
  if (flags.dryRun) return showPlan(batch);
  // A mistake in the jobs leaves no empty folder behind.
  if (!outdir.exists) await enterOutdir(outdir.path, context);
  await tellResume(batch);
  const stop = await sendJobs(batch, hooks).catch(async (error: unknown) => {
    // The books could not be kept: the summary is tried, and what went wrong is told.
    await finishBatch(batch, { failure: error }).catch(() => undefined);
    throw error;
  });
  if (stop !== 'signal' && (flags.ordered || plan.again > 0 || state.run !== undefined))
    await arrangeResults(outdir.path, state.table, flags.ordered ? idsOf(source) : undefined);
  await finishBatch(batch, { stop });
}

async function* idsOf(source: JobSource): AsyncGenerator<string> {
  for await (const { id } of source.jobs()) yield id;
}

async function tellResume({ plan, context, source }: Batch): Promise<void> {
  const skipped = plan.jobs - plan.due;
  if (skipped > 0)
    await context.ui.note(
      `${skipped} of ${countOf(plan.jobs, 'job')} ${be(skipped, 'was')} sent before; ${plan.due} ${be(plan.due, 'is')} sent now`,
    );
  if (plan.removed > 0) {
    const what = `${countOf(plan.removed, 'job')} of the journal ${be(plan.removed, 'is')}`;
    await context.ui.warn(`${what} not in ${source.name} any more`);
  }
}

function be(count: number, one: 'is' | 'was'): string {
  if (count === 1) return one;
  return one === 'is' ? 'are' : 'were';
}

async function sendJobs(batch: Batch, { step }: BatchHooks): Promise<Stop | undefined> {
  const { flags, context, outdir, state, lostEnds, plan } = batch;
  const { io, ui } = context;
  const session = await openSession(plan.settings, flags, context, plan.forms);
  context.atEnd(() => session.close());
  const redact = (text: string): string => ui.redact(text);
  const recorder = await openRecorder({
    folder: outdir,
    run: runRecord(batch),
    lostEnds,
    now: () => io.now(),
    redact,
    step,
  });
  context.atEnd(() => recorder.close());
  if (plan.due === 0) return undefined;
  context.patience.ms = graceMs + 2000;
  const gate = createGate({ elapsed: () => io.elapsed(), sleep, jobs: plan.due });
  const tally = startTally(batch, gate);
  const performing = performingOf(batch, { session, gate });
  context.signal.addEventListener('abort', () => void tellDraining(performing), { once: true });
  return runJobs({
    jobs: dueJobs(batch),
    async prepare(job): Promise<ReadyJob> {
      const prepared = await prepareDue(job, batch);
      return {
        request: prepared.request,
        perform(signal) {
          performing.flight.landBy(signal);
          return performJob(job, prepared, performing);
        },
      };
    },
    recorder,
    concurrency: Math.min(flags.concurrency ?? defaultConcurrency, plan.due),
    gate,
    pace: createPacer(flags.rate, { elapsed: () => io.elapsed(), sleep }),
    signal: context.signal,
    graceMs,
    maxFailures: flags.failFast ? 1 : (flags.maxFailures ?? Number.POSITIVE_INFINITY),
    maxTokens: flags.maxTokensTotal ?? Number.POSITIVE_INFINITY,
    usedTokens: totalTokens(state.usage),
    onEnded: (job, performed) => tally.count(job, performed),
    onLost: (job, error) => tally.lose(job, error),
    step,
  }).finally(() => tally.stop());
}

/** Whoever pressed Ctrl-C sees why the program is still there, and how to end it at once. */
async function tellDraining({ flight, context }: Performing): Promise<void> {
  if (flight.flying === 0) return;
  const what = countOf(flight.flying, 'request');
  await context.ui.note(`waiting for ${what}, ${graceMs / 1000} s at most; Ctrl-C again stops`);
}

/** What all jobs are performed with. */
function performingOf(
  { flags, context, outdir }: Batch,
  { session, gate }: { session: Session; gate: BatchGate },
): Performing {
  return {
    context,
    session,
    outdir,
    fallback: tmpdir(),
    policy: {
      retries: flags.retries ?? 2,
      maxWaitMs: flags.retryMaxTime ?? longestWaitMs,
      safeOnly: flags.retrySafeOnly === true,
    },
    gate,
    strict: flags.strict === true,
    requireComplete: flags.requireComplete === true,
    flight: createFlight(context.signal),
  };
}

/** What the journal says of this run. */
function runRecord({ plan, shard, context }: Batch): RunRecord {
  return {
    type: 'run',
    schema: 'gateway-cli/journal@1',
    tool: `gateway-cli ${version}`,
    origin: plan.origin,
    shard,
    jobs: plan.jobs,
    total: plan.total,
    list: plan.list,
    at: context.io.now(),
  };
}

const sleep: Sleep = async (ms, signal) => void (await wait(Math.min(ms, 2 ** 31 - 1), undefined, { signal }));
