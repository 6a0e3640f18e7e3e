import { setMaxListeners } from 'node:events';
import { type GatewayError, joinPayment, type Payment, type SharedGate } from '../../library/index.ts';
import type { Recorder } from '../folder/recorder.ts';
import { recordEnd, type Tally } from './tally.ts';
import type { JobQueue, QueuedJob } from './queue.ts';
import type { JobCall, JobSender } from './live.ts';
import { type CostLimit, findCostStop, limitJob } from './run-budget.ts';
import type { Pacer } from './pace.ts';
import type { Batch, EndedJob, ReadyJob, JobOutcome, Step } from '../types.ts';

/** Prints the document of a job of a run, if somebody waits for it; its worker waits for that. Rejects if stdout is closed or full. */
export type ResultPrinter = (job: QueuedJob, ended: Pick<EndedJob, 'document' | 'saveReply'>) => Promise<void>;

export interface RunnerOptions {
  batch: Pick<Batch, 'host' | 'policy' | 'state'>;
  queue: JobQueue;
  print?: ResultPrinter | undefined;
  sender: JobSender;
  recorder: Recorder;
  tally: Tally;
  step?: Step | undefined;
  concurrency: number;
  gate: SharedGate;
  /** Waits for the turn of a request by the rate, if there is one. */
  pace: Pacer | undefined;
  /** The time that jobs in flight have after the signal, in ms. */
  graceMs: number;
  /** The limit of what the jobs can cost, if there is one. */
  limit?: CostLimit | undefined;
}

/** The reason why a run took no further jobs. An error: a quota is used up. */
export type Stop = 'signal' | 'failures' | 'cost' | GatewayError;

interface RunStatus extends RunnerOptions {
  /** Aborts the waits of workers before they send. */
  taking: AbortController;
  stop: Stop | undefined;
  error: unknown;
  /** The time at which the gateway asked for too long a wait, if no job has succeeded since. */
  longWaitAt: number | undefined;
  /** Outcomes that are being written. */
  recording: Set<Promise<void>>;
}

/**
 * Runs the jobs, each recorded before it is sent and after it has ended, until the signal or a limit of the policy. Resolves when
 * none is in flight any more, with the reason why it ended early, if any. Throws GatewayError not-written if the journal cannot be
 * written.
 */
export async function runJobs(options: RunnerOptions): Promise<Stop | undefined> {
  const run: RunStatus = {
    ...options,
    taking: new AbortController(),
    stop: undefined,
    error: undefined,
    longWaitAt: undefined,
    recording: new Set(),
  };
  setMaxListeners(0, run.taking.signal);
  const endGrace = startGrace(run);
  try {
    await Promise.all(Array.from({ length: options.concurrency }, () => runWorker(run)));
    options.recorder.flushWithoutDelay();
    await Promise.all(run.recording);
    await run.queue.close().catch((error: unknown) => stopWithError(run, error));
  } finally {
    endGrace();
  }
  if (run.error !== undefined) throw run.error;
  return run.stop;
}

/** Gives jobs in flight, which are paid for, some time to end after the signal. Returns the function that ends that time. */
function startGrace(run: RunStatus): () => void {
  const { sender, graceMs } = run;
  const { host } = run.batch;
  const { signal } = host;
  let timer: NodeJS.Timeout | undefined;
  const beginGrace = (): void => {
    if (sender.inFlight > 0) void host.on({ type: 'stopping', inFlight: () => sender.inFlight, graceMs });
    stopTaking(run, 'signal', signal.reason);
    timer = setTimeout(() => sender.abort(signal.reason), graceMs);
  };
  if (signal.aborted) beginGrace();
  else signal.addEventListener('abort', beginGrace, { once: true });
  return () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', beginGrace);
  };
}

function stopTaking(run: RunStatus, stop: Stop | undefined, reason: unknown): void {
  run.stop ??= stop;
  run.taking.abort(reason);
}

function stopWithError(run: RunStatus, error: unknown): void {
  run.error ??= error;
  stopTaking(run, undefined, error);
}

async function runWorker(run: RunStatus): Promise<void> {
  const { taking, queue } = run;
  try {
    while (!stopAtLimit(run)) {
      const job = await queue.next(taking.signal);
      if (!job) return;
      await takeJob(job, run);
    }
  } catch (error) {
    if (!taking.signal.aborted) stopWithError(run, error);
  }
}

async function takeJob(job: QueuedJob, run: RunStatus): Promise<void> {
  if ('document' in job) await run.print?.(job, job);
  else await runJob(job, await waitForTurn(job, run), run);
}

/** Stops the run at a limit of the policy. Returns whether the run is stopped, by that or another reason. */
function stopAtLimit(run: RunStatus): boolean {
  const { policy } = run.batch;
  const { maxFailures = Number.POSITIVE_INFINITY } = policy;
  if (run.tally.counts.failed >= maxFailures) stopTaking(run, 'failures', undefined);
  return run.taking.signal.aborted;
}

/** Waits for the limit, the rate and the gate. Throws if no further job is sent: the job goes back to the queue. */
async function waitForTurn(job: ReadyJob, run: RunStatus): Promise<Pick<JobCall, 'payment' | 'limit'>> {
  const { pace, gate, taking, queue, sender, batch } = run;
  const { request } = job.prepared;
  const limit = limitJob(job, [run.limit]);
  const limited = limit?.open(request);
  let shared: Payment | undefined;
  try {
    await limited?.reserve(taking.signal);
    await pace?.(taking.signal);
    await gate.enter(taking.signal);
    taking.signal.throwIfAborted();
    shared = await sender.pay(job);
    // This is last, because an amount that a killed run has reserved counts as spent. A recording may answer, which costs nothing.
    if (!batch.policy.hasRecordings) await shared?.reserve(taking.signal);
    return { limit, payment: joinPayment([limited, shared].filter((one) => one !== undefined)) };
  } catch (error) {
    // The request could exceed the limit, and so could any request after it.
    const stop = findCostStop(error);
    if (stop !== undefined) stopTaking(run, stop, error);
    await limited?.cancel();
    await shared?.cancel();
    queue.giveBack(job);
    throw error;
  }
}

async function runJob(job: ReadyJob, paid: Pick<JobCall, 'payment' | 'limit'>, run: RunStatus): Promise<void> {
  const { recorder, sender, print, tally, step } = run;
  const { host } = run.batch;
  let sentAt: number | undefined;
  const onReady = async (): Promise<void> => {
    await recorder.sent(job);
    sentAt = host.elapsed();
  };
  try {
    const outcome = await sender.send(job, { ...paid, onReady }).catch((error: unknown) => {
      // The request may have been paid for: whether it could be recorded or not, the job does not count as new.
      if (sentAt !== undefined) tally.lose(job, error);
      throw error;
    });
    step?.('answered', job.job.id);
    tally.count(outcome);
    stopForQuota(outcome, sentAt ?? host.elapsed(), run);
    recordLater(job, outcome, run);
    // A job that was not sent has no line.
    if (outcome.state !== 'unsent') await print?.(job, outcome);
  } catch (error) {
    stopWithError(run, error);
  }
}

/** Records an outcome. The next job does not wait for the disk: only a power cut can lose the written lines, and the next run finds that out. */
function recordLater(job: ReadyJob, outcome: JobOutcome, run: RunStatus): void {
  // The run stops first, so that no worker sends another job that could not be recorded either.
  const recorded = recordEnd(job, outcome, run, (error) => stopTaking(run, undefined, error))
    .catch((failure: unknown) => stopWithError(run, failure))
    .finally(() => run.recording.delete(recorded));
  run.recording.add(recorded);
}

/**
 * Stops the run if a quota is used up, or if a wait is too long for the jobs and a request after it gets the same answer: the first
 * answer alone may have been one of a few.
 */
function stopForQuota(outcome: JobOutcome, sentAt: number, run: RunStatus): void {
  if (outcome.state === 'unsent') {
    if (outcome.quotaSpent) stopTaking(run, outcome.quotaSpent, outcome.quotaSpent);
    return;
  }
  if (outcome.state === 'done') {
    run.gate.succeeded();
    run.longWaitAt = undefined;
  }
  if (outcome.longWait === undefined) return;
  if (run.longWaitAt !== undefined && sentAt > run.longWaitAt) stopTaking(run, outcome.longWait, outcome.longWait);
  run.longWaitAt ??= run.batch.host.elapsed();
}
