import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type BatchGate, createGate, type Sleep } from '../../batch/gate.ts';
import { createPacer, type Pacer } from '../../batch/rate.ts';
import { guardRecorder } from '../../batch/guard.ts';
import { countOpenFiles, filesFor, jobsWithin } from '../../batch/open-files.ts';
import { openRecorder } from '../../batch/recorder.ts';
import { runJobs, type Stop } from '../../batch/runner.ts';
import type { ReadyJob } from '../../batch/stage.ts';
import { createTurns } from '../../batch/turns.ts';
import { countOf } from '../../batch/summary.ts';
import { batchFiles, type RunRecord } from '../../batch/types.ts';
import { totalTokens } from '../../batch/usage.ts';
import { mostImages } from '../../cli/output/pictures.ts';
import { createDeadlines } from '../../client/deadline.ts';
import { bootMark } from '../../files/lock/processes.ts';
import { version } from '../../version.ts';
import { dueJobs, prepareDue } from './due.ts';
import { createFlight } from './flight.ts';
import { performJob, type Performing } from './perform.ts';
import { startTally } from './tally.ts';
import type { Batch, BatchHooks } from './types.ts';
import type { Context } from '../../cli/context.ts';
import { openConnection, type Connection } from '../../cli/run/connection.ts';

/** Jobs under way go on for so long after a signal. */
const defaultGraceMs = 10_000;
const defaultConcurrency = 4;
/** Waiting of one job in all (faults.md 3). */
const longestWaitMs = 300_000;

/** Sends the jobs that are due. Resolves with the reason why it ended early, if any. */
export async function sendJobs(
  batch: Batch,
  { step, graceMs = defaultGraceMs }: BatchHooks,
): Promise<Stop | undefined> {
  const { flags, context, outdir, lock, state, lostEnds, plan, builder } = batch;
  const { io } = context;
  const session = await openConnection(plan.settings, flags, context, plan.forms);
  context.atEnd(() => session.close());
  await lock.confirm();
  const recorder = await openRecorder({
    folder: outdir,
    run: runRecord(batch),
    lostEnds,
    now: () => io.now(),
    step,
  });
  context.atEnd(() => recorder.close());
  if (plan.due === 0) return undefined;
  context.patience.ms = graceMs + 2000;
  const concurrency = await limitToFiles(Math.min(flags.concurrency ?? defaultConcurrency, plan.due), context);
  const gate = createGate({ elapsed: () => io.elapsed(), sleep, jobs: plan.due });
  const tally = startTally(batch, gate);
  const pace = createPacer(flags.rate, { elapsed: () => io.elapsed(), sleep });
  const performing = performingOf(batch, { session, gate, pace });
  context.signal.addEventListener('abort', () => void tellDraining(performing, graceMs), { once: true });
  return runJobs({
    jobs: dueJobs(batch),
    async prepare(job): Promise<ReadyJob> {
      const checked = await prepareDue(job, batch);
      return {
        request: checked.request,
        perform(signal) {
          performing.flight.landBy(signal);
          return performJob(job, builder.open(job, checked), performing);
        },
        drop: async () => checked.own?.end(),
      };
    },
    recorder: guardRecorder(recorder, lock),
    elapsed: () => io.elapsed(),
    concurrency,
    gate,
    pace,
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

/** A job that finds no descriptor left may be paid for and lost: there are fewer at once instead. */
async function limitToFiles(wanted: number, { ui }: Context): Promise<number> {
  const files = await countOpenFiles();
  if (files === undefined || jobsWithin(files) >= wanted) return wanted;
  const jobs = jobsWithin(files);
  const limit = `the limit of ${files.most} open files leaves room for ${countOf(jobs, 'job')} at once, not ${wanted}`;
  await ui.warn(`${limit}; to raise it: ulimit -n ${filesFor(wanted, files)}`);
  return jobs;
}

/** Whoever pressed Ctrl-C sees why the program is still there, and how to end it at once. */
async function tellDraining({ flight, context }: Performing, graceMs: number): Promise<void> {
  if (flight.flying === 0) return;
  const what = countOf(flight.flying, 'request');
  await context.ui.note(`waiting for ${what}, ${graceMs / 1000} s at most; Ctrl-C again stops`);
}

/** What all jobs are performed with. */
function performingOf(
  { flags, context, outdir, lock }: Batch,
  { session, gate, pace }: { session: Connection; gate: BatchGate; pace: Pacer },
): Performing {
  return {
    context,
    session,
    images: join(outdir, batchFiles.images),
    fallback: tmpdir(),
    policy: {
      retries: flags.retries ?? 2,
      maxWaitMs: flags.retryMaxTime ?? longestWaitMs,
      safeOnly: flags.retrySafeOnly === true,
    },
    startDeadline: createDeadlines(),
    gate,
    pace,
    lock,
    maxImages: flags.maxImages ?? mostImages,
    strict: flags.strict === true,
    requireComplete: flags.requireComplete === true,
    flight: createFlight(context.signal),
    turn: createTurns(() => context.io.elapsed()),
  };
}

/** What the journal says of this run. */
function runRecord({ flags, plan, shard, context }: Batch): RunRecord {
  return {
    type: 'run',
    schema: 'gateway-cli/journal@1',
    tool: `gateway-cli ${version}`,
    origin: plan.origin,
    shard,
    jobs: plan.jobs,
    total: plan.total,
    list: plan.list,
    boot: bootMark(),
    maxTokens: flags.maxTokensTotal,
    at: context.io.now(),
  };
}

const sleep: Sleep = async (ms, signal) => void (await wait(Math.min(ms, 2 ** 31 - 1), undefined, { signal }));
