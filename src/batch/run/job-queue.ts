import { setImmediate as turn } from 'node:timers/promises';
import type { Bound } from '../../cost/types.ts';
import type { Recorder } from '../folder/recorder.ts';
import type { Job, Performed, Step } from '../types.ts';

/** A job whose request is built. */
export interface ReadyJob {
  /** Hash of the canonical request. */
  request: string;
  /** Gets what it lacks, before anybody writes down that it goes out. Why that failed is what `perform` returns. */
  complete?(signal: AbortSignal): Promise<void>;
  /** What it can cost, where its model has a price. */
  bound?: Bound | undefined;
  /** Sends it and reads the answer. Failures of the job are in what it returns; what it throws ends the batch. */
  perform(signal: AbortSignal): Promise<Performed>;
  /** It is not sent after all. */
  drop(): Promise<void>;
}

/** A job that the disk knows, and whose request is built. */
export interface QueuedJob extends ReadyJob {
  job: Job;
}

/** Jobs on their way to the workers: while requests are under way, the next ones are built and written down. */
export interface JobQueue {
  /** The next job; undefined behind the last one and after the signal. Throws what building or writing down one threw. */
  next(signal: AbortSignal): Promise<QueuedJob | undefined>;
  /** It was taken, and does not go out in this run. */
  giveBack(staged: QueuedJob): void;
  /** Writes down that those which nobody took were not sent. Throws GatewayError not-written. */
  leave(): Promise<void>;
}

export interface JobQueueOptions {
  /** The jobs that are due, in the order of their file. */
  jobs: AsyncIterator<Job, void>;
  /** Builds the request. */
  prepare(job: Job): Promise<ReadyJob>;
  recorder: Recorder;
  /** Jobs that are ready at most, unless jobs end much faster than the disk writes. */
  ahead: number;
  /** Monotonic clock in ms. */
  elapsed: () => number;
  step?: Step | undefined;
}

/**
 * Usual groups that follow each other sooner, in ms, become larger: a disk takes that long at times, and all wait for it then.
 * Not without end: after a power cut nobody knows which of those that were ready went out.
 */
const soonMs = 50;
const mostTimes = 4;
/** So many are built in one turn of the event loop. */
const atOnce = 16;

/** The first group is smaller than the usual ones: its jobs are on their way while the next are built. */
function firstOf(usual: number): number {
  return Math.min(usual, Math.max(4, Math.ceil(usual / 8)));
}

/** Behind the first group come usual ones. */
function nextOf(ahead: number, usual: number, sinceMs: number): number {
  if (ahead < usual) return usual;
  return sinceMs < soonMs ? Math.min(ahead * 2, usual * mostTimes) : ahead;
}

/** Nothing is taken before the first `next`. */
export function openJobQueue({ jobs, prepare, recorder, ahead: usual, elapsed, step }: JobQueueOptions): JobQueue {
  const ready: QueuedJob[] = [];
  let ahead = firstOf(usual);
  let loadedAt: number | undefined;
  let loading: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;
  let over = false;

  async function load(): Promise<void> {
    const group: QueuedJob[] = [];
    if (loadedAt !== undefined) ahead = nextOf(ahead, usual, elapsed() - loadedAt);
    try {
      while (!over && ready.length + group.length < ahead) {
        const { value: job, done } = await jobs.next();
        if (done) over = true;
        if (!job) break;
        step?.('taken', job.id);
        group.push({ ...(await prepare(job)), job });
        if (group.length % atOnce === 0) await turn();
      }
      if (group.length > 0) await recorder.ready(group);
      ready.push(...group);
      loadedAt = elapsed();
    } catch (error) {
      failure = { error };
      // The journal does not name them: to call them unsent would make them as new.
      for (const { drop } of group) await drop();
    }
    loading = undefined;
  }

  return {
    async next(signal) {
      for (;;) {
        if (failure) throw failure.error;
        if (signal.aborted) return undefined;
        const staged = ready.shift();
        if (!over && ready.length <= ahead / 2) loading ??= load();
        if (staged || !loading) return staged;
        await loading;
      }
    },
    giveBack: (staged) => void ready.unshift(staged),
    async leave() {
      over = true;
      await loading;
      for (const { drop } of ready) await drop();
      await recorder.unsent(ready);
    },
  };
}
