import { newBatchState } from '../../../src/batch/folder/state.ts';
import { countOutcomes } from '../../../src/batch/run/tally.ts';
import { runJobs, type RunnerOptions } from '../../../src/batch/run/runner.ts';
import { openJobQueue } from '../../../src/batch/run/queue.ts';
import { noRecorder, type Recorder } from '../../../src/batch/folder/recorder.ts';
import type { BatchHost, BatchPolicy, Job, JobOutcome, PreparedJob, ReadyJob } from '../../../src/batch/types.ts';
import type { JobSender } from '../../../src/batch/run/live.ts';

export const done: JobOutcome = { state: 'done', document: {}, usage: { totalTokens: 10 } };

export const failed: JobOutcome = { state: 'failed', document: {}, error: { class: 'quota', message: 'm' } };

const skip = async (): Promise<void> => undefined;

/** Records nothing. */
export const silentRecorder: Recorder = {
  ready: skip,
  sent: skip,
  unsent: skip,
  ended: skip,
  step: skip,
  redone: skip,
  flushWithoutDelay: () => undefined,
  close: skip,
};

interface Setup {
  jobs?: number;
  send?: (id: number, signal: AbortSignal) => Promise<JobOutcome>;
  /** What the sender does in another way. */
  changes?: Partial<JobSender>;
  /** How requests are built. */
  prepare?: (job: Job, log: string[]) => Promise<ReadyJob>;
  options?: Partial<RunnerOptions>;
  policy?: BatchPolicy;
  signal?: AbortSignal;
}

/** The job of a line without an id. */
export function jobOf(line: number): Job {
  const id = String(line);
  return { id, line, number: line, command: 'text', name: undefined, values: {} };
}

/** A host whose clocks stand still, and to whom nothing is told. */
export function hostOf(signal: AbortSignal): BatchHost {
  const redaction = { redact: (text: string) => text, clean: <Value>(value: Value) => value };
  const [now, on, atEnd] = [() => 0, async () => undefined, () => undefined];
  return {
    signal,
    now,
    elapsed: now,
    redaction,
    nextCommand: (name) => name,
    repeatCommand: (more) => more,
    copyCommand: async () => 'copy',
    on,
    atEnd,
  };
}

/** Its request, built: all that a runner needs to know of it. */
export function readyOf(job: Job, log: string[] = []): ReadyJob {
  const output = { prepare: async () => undefined };
  const prepared = { output, close: async () => void log.push(`close ${job.id}`) } as unknown as PreparedJob;
  return { job, slot: 0, answerName: 'r@1', bound: undefined, prepared };
}

/** A run whose jobs do what the test says, with the order in which everything happened. */
export async function start(setup: Setup) {
  const { jobs = 10, send = async () => done, changes = {}, options = {}, policy = {} } = setup;
  const log: string[] = [];
  const state = { running: 0, most: 0, now: 0 };
  const { prepare = async (job: Job) => readyOf(job, log) } = setup;
  async function* source(): AsyncGenerator<ReadyJob, void> {
    for (let line = 1; line <= jobs; line++) yield { ...(await prepare(jobOf(line), log)), slot: line - 1 };
  }
  const known = newBatchState(jobs);
  for (let slot = 0; slot < jobs; slot++) known.slots.add(slot.toString(16).padStart(32, '0'));
  const counting = noRecorder(known);
  const inFlight = new AbortController();
  const sender: JobSender = {
    pay: async () => undefined,
    async send({ job: { id } }, { onReady }) {
      await onReady();
      log.push(`send ${id}`);
      state.most = Math.max(state.most, ++state.running);
      return send(Number(id), inFlight.signal).finally(() => state.running--);
    },
    abort: (reason) => inFlight.abort(reason),
    inFlight: 0,
    ...changes,
  };
  const recorder: Recorder = options.recorder ?? {
    ...counting,
    ready: async (group) => group.forEach(({ job }) => log.push(`ready ${job.id}`)),
    sent: async ({ job }) => void log.push(`sent ${job.id}`),
    unsent: async (group) => group.forEach(({ job }) => log.push(`unsent ${job.id}`)),
    async ended(entry, outcome) {
      log.push(`${outcome.state} ${entry.job.id}`);
      await counting.ended(entry, outcome);
    },
  };
  // No group follows soon.
  const elapsed = (): number => (state.now += 1000);
  const { signal = new AbortController().signal } = setup;
  const batch = {
    host: { ...hostOf(signal), elapsed },
    policy,
    state: known,
  };
  const ahead = options.concurrency ?? 2;
  const ended = runJobs({
    batch,
    queue: openJobQueue({ source, recorder, ahead }),
    sender,
    recorder,
    tally: countOutcomes(batch),
    concurrency: 2,
    gate: {
      enter: async () => undefined,
      close: () => undefined,
      allowRetry: () => true,
      succeeded: () => undefined,
      waitMs: 0,
    },
    pace: async () => undefined,
    graceMs: 10_000,
    ...options,
  });
  return { log, state, ended };
}
