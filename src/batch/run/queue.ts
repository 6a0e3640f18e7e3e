import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Recorder } from '../folder/recorder.ts';
import { listAwaitingParents } from './links.ts';
import type { Batch, Job, JobOutcome, PreparedJob, ReadyJob, Step } from '../types.ts';
import { GatewayError } from '../../errors.ts';
import { append } from '../../long-lists.ts';

/** Jobs on their way to the workers: while requests are in flight, the next ones are built and recorded as ready. */
export interface JobQueue {
  /** The next job; undefined after the last one and after the signal. Throws what building or recording a job threw. */
  next(signal: AbortSignal): Promise<ReadyJob | undefined>;
  /** It was taken, and is not sent in this run. */
  giveBack(job: ReadyJob): Promise<void> | void;
  /** A job has ended; its worker waits until the result is printed. Rejects if stdout is closed or full. */
  ended?(job: ReadyJob, outcome: JobOutcome): Promise<void>;
  /** A job is over, with a result or without. */
  release?(job: ReadyJob): void;
  /** Records that what is left was not sent. Throws GatewayError not-written. */
  close(): Promise<void>;
}

interface JobQueueOptions {
  /** The jobs to send, in the order of their file. */
  jobs: AsyncIterator<Job, void>;
  /** Builds the request of a job. Throws what ends the batch. */
  prepare(job: Job): Promise<ReadyJob>;
  recorder: Recorder;
  /** The most jobs that are ready, unless jobs end much faster than the disk writes. */
  ahead: number;
  /** Monotonic clock in ms. */
  elapsed: () => number;
  step?: Step | undefined;
}

/**
 * Groups that follow each other sooner, in ms, become larger: a sync takes that long at times, and all wait for it then. Not
 * without end: after a power cut it is unknown which of those that were ready were sent.
 */
const soonMs = 50;
const maxTimes = 4;
/** How many are built in one turn of the event loop. */
const atOnce = 16;

/** Nothing is taken before the first `next`. */
export function openJobQueue(options: JobQueueOptions): JobQueue {
  const { jobs, prepare, recorder, ahead: usual, elapsed, step } = options;
  const ready: ReadyJob[] = [];
  // The first group is smaller: its jobs are sent while the next are built.
  let ahead = Math.min(usual, Math.max(4, Math.ceil(usual / 8)));
  let loadedAt: number | undefined;
  let loading: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;
  let over = false;

  async function load(): Promise<void> {
    const group: ReadyJob[] = [];
    if (loadedAt !== undefined && ahead < usual) ahead = usual;
    else if (loadedAt !== undefined && elapsed() - loadedAt < soonMs) ahead = Math.min(ahead * 2, usual * maxTimes);
    try {
      while (!over && ready.length + group.length < ahead) {
        const { value: job, done } = await jobs.next();
        if (done) over = true;
        if (!job) break;
        step?.('taken', job.id);
        group.push(await prepare(job));
        if (group.length % atOnce === 0) await yieldToEventLoop();
      }
      if (group.length > 0) await recorder.ready(group);
      append(ready, group);
      loadedAt = elapsed();
    } catch (error) {
      failure = { error };
      // The journal does not name them: to record them as unsent would make them as new.
      for (const { prepared } of group) await prepared.close();
    }
    loading = undefined;
  }

  return {
    async next(signal) {
      for (;;) {
        if (failure) throw failure.error;
        if (signal.aborted) return undefined;
        const job = ready.shift();
        if (!over && ready.length <= ahead / 2) loading ??= load();
        if (job || !loading) return job;
        await loading;
      }
    },
    giveBack: (job) => void ready.unshift(job),
    async close() {
      over = true;
      await loading;
      await jobs.return?.();
      for (const { prepared } of ready) await prepared.close();
      if (ready.length > 0) await recorder.unsent(ready);
    },
  };
}

/**
 * The jobs that are to be sent, each once, in the order of their file; those that wait for others are left for another time. Throws
 * GatewayError batch-locked if the file changed since it was checked.
 */
export async function* jobsToSend(batch: Pick<Batch, 'jobs' | 'state' | 'plan'>): AsyncGenerator<Job, void> {
  const { plan, state } = batch;
  const { index } = state;
  const waiting = plan.parents.size > 0 ? listAwaitingParents(batch) : new Set<number>();
  let left = -plan.ready.size - waiting.size;
  for (let row = 0; row < index.size; row++) if (index.has(row, 'toSend')) left++;
  for (const { job } of plan.ready.values()) {
    index.setFlag(index.find(job.id), 'toSend', false);
    yield job;
  }
  if (left > 0) yield* rereadJobs(left, waiting, batch);
}

/** Jobs that were not kept ready, of which the file must still have as many. */
async function* rereadJobs(
  jobsLeft: number,
  waiting: ReadonlySet<number>,
  { jobs, state: { index } }: Pick<Batch, 'jobs' | 'state'>,
): AsyncGenerator<Job, void> {
  let left = jobsLeft;
  // The file can be read more than once in a run.
  for (let row = 0; row < index.size; row++) index.setFlag(row, 'reread', false);
  const throwChanged = (cause: unknown): never => {
    throw changedJobError(jobs.name, cause);
  };
  for await (const job of jobs.read(throwChanged)) {
    const row = index.find(job.id);
    // The next run sends what was added since.
    if (row < 0) continue;
    if (index.has(row, 'reread')) throw changedJobError(`${jobs.name}:${job.line}`);
    index.setFlag(row, 'reread');
    if (!index.has(row, 'toSend') || waiting.has(row)) continue;
    left--;
    index.setFlag(row, 'toSend', false);
    yield job;
  }
  if (left > 0) throw changedJobError(jobs.name);
}

/** The job as it was checked, or built again from the file, and then the same. Throws GatewayError batch-locked. */
export async function prepareAgain(job: Job, batch: Pick<Batch, 'jobs' | 'plan' | 'state'>): Promise<ReadyJob> {
  const { jobs, plan, state } = batch;
  const ready = plan.ready.get(job.id);
  // Its store takes the answer, so the plan must not hold it.
  plan.ready.delete(job.id);
  if (ready) return ready;
  const place = `${jobs.name}:${job.line}: the job or its files`;
  try {
    const prepared = await jobs.prepare(job, plan.origin);
    if (state.index.digestOf(state.index.find(job.id)) === prepared.digest) return readyJob(job, prepared);
    await prepared.close();
  } catch (error) {
    // It was valid when it was checked.
    throw error instanceof GatewayError && error.class === 'usage' ? changedJobError(place, error) : error;
  }
  throw changedJobError(place);
}

export function readyJob(job: Job, prepared: PreparedJob): ReadyJob {
  const { digest, basis, bound } = prepared;
  return { job, digest, basis, bound, prepared };
}

function changedJobError(what: string, cause?: unknown): GatewayError {
  return new GatewayError('batch-locked', `${what} changed during the run`, {
    hint: 'run the same command again',
    sent: 'no',
    cause,
  });
}
