import { runJobs, type RunnerOptions } from '../../../src/batch/run/runner.ts';
import { openJobQueue } from '../../../src/batch/run/queue.ts';
import type { Recorder } from '../../../src/batch/folder/recorder.ts';
import type { JobAttempt, JobSender } from '../../../src/batch/run/sender.ts';
import type { Job, JobOutcome } from '../../../src/batch/types.ts';

export const done: JobOutcome = { state: 'done', document: {}, usage: { totalTokens: 10 } };

export const failed: JobOutcome = { state: 'failed', document: {}, error: { class: 'quota', message: 'm' } };

interface Setup {
  jobs?: number;
  send?: (id: number, signal: AbortSignal) => Promise<JobOutcome>;
  /** What the sender does in another way. */
  changes?: Partial<JobSender>;
  options?: Partial<RunnerOptions>;
}

/** The job of a line without an id. */
export function jobOf(line: number): Job {
  const id = String(line);
  return { id, line, command: 'text', name: undefined, values: {} };
}

/** Its request, built: all that a runner needs to know of it. */
export function attemptOf(job: Job): JobAttempt {
  return { job, request: 'r' } as JobAttempt;
}

/** Records nothing. */
export const silentRecorder: Recorder = {
  ready: async () => undefined,
  sent: async () => undefined,
  unsent: async () => undefined,
  ended: async () => undefined,
  flushWithoutDelay: () => undefined,
  close: async () => undefined,
  parts: async () => undefined,
};

/** A run whose jobs do what the test says, with the order in which everything happened. */
export async function start({ jobs = 10, send = async () => done, changes = {}, options = {} }: Setup) {
  const log: string[] = [];
  const state = { running: 0, most: 0, now: 0 };
  async function* source(): AsyncGenerator<Job, void> {
    for (let line = 1; line <= jobs; line++) yield jobOf(line);
  }
  const inFlight = new AbortController();
  const sender: JobSender = {
    prepare: async (job) => attemptOf(job),
    reserve: () => Promise.resolve(),
    fetchInputs: async () => undefined,
    async send({ job: { id } }) {
      log.push(`send ${id}`);
      state.most = Math.max(state.most, ++state.running);
      return send(Number(id), inFlight.signal).finally(() => state.running--);
    },
    drop: async ({ job: { id } }) => void log.push(`drop ${id}`),
    inFlight: 0,
  };
  const recorder: Recorder = options.recorder ?? {
    ...silentRecorder,
    ready: async (group) => group.forEach(({ job }) => log.push(`ready ${job.id}`)),
    sent: async ({ job }) => void log.push(`sent ${job.id}`),
    unsent: async (group) => group.forEach(({ job }) => log.push(`unsent ${job.id}`)),
    ended: async ({ job }, { state: how }) => void log.push(`${how} ${job.id}`),
  };
  const changed = { ...sender, ...changes };
  // No group follows soon.
  const elapsed = (): number => (state.now += 1000);
  const ahead = options.concurrency ?? 2;
  const ended = runJobs({
    queue: openJobQueue({ jobs: source(), sender: changed, recorder, ahead, elapsed }),
    sender: changed,
    recorder,
    inFlight,
    elapsed,
    concurrency: 2,
    gate: {
      enter: async () => undefined,
      close: () => undefined,
      allowRetry: () => true,
      succeeded: () => undefined,
      waitMs: 0,
    },
    pace: async () => undefined,
    signal: new AbortController().signal,
    graceMs: 10_000,
    maxFailures: Number.POSITIVE_INFINITY,
    maxTokens: Number.POSITIVE_INFINITY,
    usedTokens: 0,
    onEnded: () => undefined,
    onLost: () => undefined,
    ...options,
  });
  return { log, state, ended };
}
