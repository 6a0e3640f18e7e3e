import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Recorder } from '../folder/recorder.ts';
import { isReady } from './links.ts';
import { hashRowId } from './table.ts';
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
  jobs: AsyncIterator<PlacedJob, void>;
  /** Builds the request of a job. Throws what ends the batch. */
  prepare(job: PlacedJob): Promise<ReadyJob>;
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
        step?.('taken', job.job.id);
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
 * The rows that are to be sent now, each once, in the order of their file; those that wait for others are left for another time. Throws
 * GatewayError batch-edited if the file changed since it was checked.
 */
export async function* jobsToSend(batch: Pick<Batch, 'jobs' | 'state' | 'plan'>): AsyncGenerator<PlacedJob, void> {
  const { plan, jobs } = batch;
  const { due, ready, table } = plan;
  const isNow = (place: number): boolean => due[place] === 1 && isReady(place, batch);
  for (const [place, { job }] of ready) {
    if (!isNow(place)) continue;
    due[place] = 0;
    yield { job, place };
  }
  let left = 0;
  for (let place = 0; place < table.size; place++) if (isNow(place)) left++;
  if (left === 0) return;
  const throwChanged = (cause: unknown): never => {
    throw changedJobError(jobs.name, cause);
  };
  let place = -1;
  for await (const job of jobs.read(throwChanged)) {
    place++;
    // The next run sends what was added since.
    if (place >= table.size) break;
    if (table.ids[place] !== hashRowId(job.id)) throw changedJobError(`${jobs.name}:${job.line}`);
    if (!isNow(place)) continue;
    left--;
    due[place] = 0;
    yield { job, place };
  }
  if (left > 0) throw changedJobError(jobs.name);
}

/** A job, and its place in the file. */
export interface PlacedJob {
  job: Job;
  place: number;
}

/** The job as it was checked, or built again from the file, and then the same. Throws GatewayError batch-edited. */
export async function prepareAgain(
  { job, place }: PlacedJob,
  batch: Pick<Batch, 'jobs' | 'plan' | 'state'>,
): Promise<ReadyJob> {
  const { jobs, plan, state } = batch;
  const { table } = plan;
  const slot = table.slots[place] as number;
  const kept = plan.ready.get(place);
  // Its store takes the answer, so the plan must not hold it.
  plan.ready.delete(place);
  if (kept) return readyJob(job, slot, kept.prepared, state);
  const what = `${jobs.name}:${job.line}: the job or its files`;
  try {
    const linked = job.names ? { ...job, parents: await jobs.links().parentsOf(job) } : job;
    const prepared = await jobs.prepare(linked);
    if (prepared.key === (table.links.get(place)?.key ?? state.slots.keyOf(slot)))
      return readyJob(linked, slot, prepared, state);
    await prepared.close();
  } catch (error) {
    // It was valid when it was checked.
    throw error instanceof GatewayError && error.class === 'usage' ? changedJobError(what, error) : error;
  }
  throw changedJobError(what);
}

export function readyJob(
  job: Job,
  slot: number,
  prepared: PreparedJob,
  { slots }: Pick<Batch['state'], 'slots'>,
): ReadyJob {
  const asked = `${slots.nameOf(slot)}@${slots.answersOf(slot) + 1}`;
  return { job, slot, asked, bound: prepared.bound, prepared };
}

function changedJobError(what: string, cause?: unknown): GatewayError {
  return new GatewayError('batch-edited', `${what} changed during the run`, {
    hint: 'run the same command again',
    sent: 'no',
    cause,
  });
}
