import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Recorder } from '../folder/recorder.ts';
import { changedError } from './edited-error.ts';
import { hasUsed } from './links.ts';
import { hashRowId } from './table.ts';
import type { Batch, Job, JobParent, PreparedJob, ReadyJob, Step } from '../types.ts';
import { append, GatewayError, untilAborted } from '../../library/index.ts';

/** A job for which nothing is sent: its line is refused, or an earlier run answered it. */
interface AnsweredJob {
  job: Pick<Job, 'id'>;
  document: object;
}

/** A job as a worker takes it. */
export type QueuedJob = ReadyJob | AnsweredJob;

/** Jobs on their way to the workers. */
export interface JobQueue {
  /**
   * Returns the next job; undefined after the last one and after the signal. Throws the errors of building or recording a job, and
   * the signal's reason.
   */
  next(signal: AbortSignal): Promise<QueuedJob | undefined>;
  /** Takes back a job that is not sent in this run. */
  giveBack(job: ReadyJob): void;
  /** Records the jobs that no worker took as unsent. Throws GatewayError not-written. */
  close(): Promise<void>;
}

/** Gives the jobs of a run in their order. The signal ends its waits. Throws the errors that end the batch. */
export type JobFeed = (signal: AbortSignal) => AsyncGenerator<QueuedJob, void>;

interface JobQueueOptions {
  source: JobFeed;
  recorder: Recorder;
  /**
   * The most jobs that are ready: while requests are in flight, the next ones are built and recorded as ready. After a power cut it is
   * unknown which of these were sent. 0: each job is taken from its source when a worker waits for it.
   */
  ahead: number;
}

/** The number of jobs that are built in one turn of the event loop. */
const atOnce = 16;

/** Opens a queue of jobs. Nothing is taken from the source before the first `next`. */
export function openJobQueue(options: JobQueueOptions): JobQueue {
  const { source, recorder, ahead } = options;
  const closing = new AbortController();
  const jobs = source(closing.signal);
  const ready: QueuedJob[] = [];
  let loading: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;
  let over = false;

  async function load(): Promise<void> {
    const group: QueuedJob[] = [];
    try {
      while (!over && ready.length + group.length < Math.max(1, ahead)) {
        const { value: job, done } = await jobs.next();
        if (done) over = true;
        if (!job) break;
        group.push(job);
        if (group.length % atOnce === 0) await yieldToEventLoop();
      }
      const unsent = listReady(group);
      if (unsent.length > 0) await recorder.ready(unsent);
      append(ready, group);
    } catch (error) {
      failure = { error };
      // The journal does not name these jobs: a record that they are unsent would give them the state of new ones.
      await closeAll(listReady(group));
    }
    loading = undefined;
  }

  return {
    async next(signal) {
      for (;;) {
        if (failure) throw failure.error;
        if (signal.aborted) return undefined;
        const job = ready.shift();
        const isLow = ahead === 0 ? job === undefined : ready.length <= ahead / 2;
        if (!over && isLow) loading ??= load();
        if (job || !loading) return job;
        await untilAborted(loading, signal);
      }
    },
    giveBack: (job) => void ready.unshift(job),
    async close() {
      over = true;
      closing.abort();
      await loading;
      await jobs.return();
      const unsent = listReady(ready);
      await closeAll(unsent);
      if (unsent.length > 0) await recorder.unsent(unsent);
    },
  };
}

function listReady(jobs: readonly QueuedJob[]): ReadyJob[] {
  return jobs.filter((job) => 'prepared' in job);
}

async function closeAll(jobs: readonly ReadyJob[]): Promise<void> {
  for (const { prepared } of jobs) await prepared.close();
}

/**
 * The rows that are due, with their requests, each once, in the order of their file; rows that cannot be sent yet are left for another time.
 * Throws GatewayError batch-edited if the file changed since it was checked.
 */
export async function* readyJobs(
  batch: Pick<Batch, 'jobs' | 'state' | 'plan'>,
  { step, isNow = (place) => hasUsed(place, batch) }: { step?: Step | undefined; isNow?: (place: number) => boolean },
): AsyncGenerator<ReadyJob, void> {
  const { jobs, plan, state } = batch;
  const { due, table } = plan;
  let missing = 0;
  for (let place = 0; place < table.size; place++) if (due[place] === 1 && isNow(place)) missing++;
  if (missing === 0) return;
  const throwChanged = (cause: unknown): never => {
    throw changedError(jobs.name, cause);
  };
  let place = -1;
  for await (const job of jobs.read(throwChanged)) {
    place++;
    // The next run sends rows that were added since.
    if (place >= table.size) break;
    if (table.ids[place] !== hashRowId(job.id)) throw changedError(`${jobs.name}:${job.line}`);
    if (due[place] !== 1 || !isNow(place)) continue;
    missing--;
    due[place] = 0;
    step?.('taken', job.id);
    const row = await prepareRow({ job, place }, batch);
    if (!row.prepared) throw changedError(`${jobs.name}:${job.line}: the job or its files`, row.changed);
    yield readyJob(row.job, table.slots[place] as number, row.prepared, state);
  }
  if (missing > 0) throw changedError(jobs.name);
}

/** A job, and its place in the file. */
export interface PlacedJob {
  job: Job;
  place: number;
}

/** Builds the request of a row. `changed`: its line or its files ask something else by now, or are no job any more. */
export async function prepareRow(
  { job: read, place }: PlacedJob,
  { jobs, plan: { table }, state: { slots } }: Pick<Batch, 'jobs' | 'plan' | 'state'>,
): Promise<{ job: Job; prepared: PreparedJob } | { prepared?: undefined; changed: unknown }> {
  const parents = table.jobParents.get(place);
  const key = table.links.get(place)?.key ?? slots.keyOf(table.slots[place] as number);
  const slotOf = (parent: JobParent): number => table.slots[parent.place] as number;
  const job = parents ? { ...read, parents: parents.map((parent) => ({ ...parent, slot: slotOf(parent) })) } : read;
  try {
    const prepared = await jobs.prepare(job);
    if (prepared.key === key) return { job, prepared };
    await prepared.close();
    return { changed: undefined };
  } catch (error) {
    // The job was valid when it was checked.
    if (error instanceof GatewayError && error.class === 'usage') return { changed: error };
    throw error;
  }
}

export function readyJob(
  job: Job,
  slot: number,
  prepared: PreparedJob,
  state: Pick<Batch['state'], 'slots'>,
): ReadyJob {
  return { job, slot, answerName: nameAnswer(slot, state), bound: prepared.bound, prepared };
}

/** The name of a slot, and the number of the answer that is to come. */
export function nameAnswer(slot: number, { slots }: Pick<Batch['state'], 'slots'>): string {
  return `${slots.nameOf(slot)}@${slots.answersOf(slot) + 1}`;
}
