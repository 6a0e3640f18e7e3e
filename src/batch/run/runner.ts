import { setMaxListeners } from 'node:events';
import { type GatewayError, isBug } from '../../errors.ts';
import type { Usage } from '../../formats/events.ts';
import type { Bound, Budget, Reservation } from '../../cost/types.ts';
import type { SharedGate } from '../../transport/gate.ts';
import { mayHaveCost } from '../folder/journal.ts';
import { openJobQueue, type JobQueue, type JobQueueOptions, type QueuedJob } from './job-queue.ts';
import type { Job, Performed } from '../types.ts';
import { addUsage, totalTokens } from './usage.ts';

export interface RunnerOptions extends Omit<JobQueueOptions, 'ahead'> {
  concurrency: number;
  gate: SharedGate;
  /** Waits for the turn that `--rate` gives. */
  pace(signal: AbortSignal): Promise<void>;
  /** Ends taking jobs. */
  signal: AbortSignal;
  /** How long jobs under way may go on after that, in ms. */
  graceMs: number;
  /** Failures that end taking jobs. */
  maxFailures: number;
  /** Tokens that end taking jobs, and those that earlier runs used. */
  maxTokens: number;
  usedTokens: number;
  /** Holds back requests that could pass it. */
  budget?: Budget | undefined;
  /** Told of every job that has ended. */
  onEnded(job: Job, performed: Performed, bound: Bound | undefined): void;
  /** Told of every job that went out and whose end could not be kept; `error` is what it threw. */
  onLost(job: Job, error: unknown): void;
}

/** Why a run took no further jobs; an error tells of a quota that is used up. */
export type Stop = 'signal' | 'failures' | 'tokens' | 'cost' | GatewayError;

interface Running extends RunnerOptions {
  stage: JobQueue;
  /** Aborts jobs under way. */
  inFlight: AbortController;
  /** Aborts waits in front of jobs. */
  taking: AbortController;
  stop: Stop | undefined;
  fatal: unknown;
  failures: number;
  /** When a job failed since the gateway asked for too long a wait, and no job has succeeded after it. */
  longWaitAt: number | undefined;
  usage: Usage;
  /** Records that are on their way to the disk. */
  recording: Set<Promise<void>>;
}

/**
 * Runs the jobs, so many at once, each written down before it is sent and after it has ended. Resolves when nothing is under
 * way any more, with the reason why it ended early, if any. Throws GatewayError not-written when the journal cannot be kept.
 */
export async function runJobs(options: RunnerOptions): Promise<Stop | undefined> {
  const running: Running = {
    ...options,
    stage: openJobQueue({ ...options, ahead: options.concurrency }),
    inFlight: new AbortController(),
    taking: new AbortController(),
    stop: undefined,
    fatal: undefined,
    failures: 0,
    longWaitAt: undefined,
    usage: {},
    recording: new Set(),
  };
  // One signal, and a listener for every job under way.
  setMaxListeners(0, running.inFlight.signal, running.taking.signal);
  const grace = startGrace(running);
  try {
    await Promise.all(Array.from({ length: options.concurrency }, () => work(running)));
    options.recorder.hurry();
    await Promise.all(running.recording);
    await running.stage.leave().catch((error: unknown) => fail(running, error));
  } finally {
    grace.end();
    await options.jobs.return?.();
  }
  if (running.fatal !== undefined) throw running.fatal;
  return running.stop;
}

/** After the signal those under way, which are paid for, get some time to end. */
function startGrace(running: Running): { end(): void } {
  const { signal, graceMs, inFlight } = running;
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    stopTaking(running, 'signal', signal.reason);
    timer = setTimeout(() => inFlight.abort(signal.reason), graceMs);
  };
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true });
  return {
    end() {
      clearTimeout(timer);
      signal.removeEventListener('abort', begin);
    },
  };
}

function stopTaking(running: Running, stop: Stop | undefined, reason: unknown): void {
  running.stop ??= stop;
  running.taking.abort(reason);
}

function fail(running: Running, error: unknown): void {
  running.fatal ??= error;
  stopTaking(running, undefined, error);
}

async function work(running: Running): Promise<void> {
  const { taking } = running;
  try {
    while (!taking.signal.aborted && mayGoOn(running)) {
      const staged = await running.stage.next(taking.signal);
      if (!staged) return;
      const room = await takeRoom(staged, running);
      if (running.budget && !room) return;
      await waitForTurn(staged, running).catch((error: unknown) => {
        room?.free();
        throw error;
      });
      await runOne(staged, running, room);
    }
  } catch (error) {
    if (!taking.signal.aborted) fail(running, error);
  }
}

/** Room in the budget; undefined where the request could pass it: then none is sent any more. */
async function takeRoom(staged: QueuedJob, running: Running): Promise<Reservation | undefined> {
  const { budget, stage, taking } = running;
  const { bound = { amount: '0', isMost: false } } = staged;
  try {
    const room = await budget?.reserve(bound, taking.signal);
    if (budget === undefined || room !== undefined) return room;
  } catch (error) {
    stage.giveBack(staged);
    throw error;
  }
  stage.giveBack(staged);
  stopTaking(running, 'cost', undefined);
  return undefined;
}

async function waitForTurn(staged: QueuedJob, { pace, gate, taking: { signal }, stage }: Running): Promise<void> {
  try {
    await pace(signal);
    await gate.enter(signal);
    signal.throwIfAborted();
  } catch (error) {
    stage.giveBack(staged);
    throw error;
  }
}

function mayGoOn(running: Running): boolean {
  if (running.failures >= running.maxFailures) stopTaking(running, 'failures', undefined);
  if (running.usedTokens + totalTokens(running.usage) >= running.maxTokens) stopTaking(running, 'tokens', undefined);
  return !running.taking.signal.aborted;
}

async function runOne(staged: QueuedJob, running: Running, room: Reservation | undefined): Promise<void> {
  const { recorder, inFlight, step } = running;
  const { job, perform } = staged;
  try {
    await staged.complete?.(inFlight.signal);
    await recorder.sent(staged).catch(async (error: unknown) => {
      await staged.drop();
      throw error;
    });
    const startedAt = running.elapsed();
    const performed = await perform(inFlight.signal).catch((error: unknown) => lose(job, error, running));
    step?.('answered', job.id);
    count(performed, running);
    stopAtQuota(performed, startedAt, running);
    settle(performed, room);
    running.onEnded(job, performed, staged.bound);
    record(job, { performed, written: recorder.ended(staged, performed) }, running);
  } catch (error) {
    fail(running, error);
  }
}

function settle(performed: Performed, room: Reservation | undefined): void {
  if (performed.state === 'unsent' || !mayHaveCost(performed)) room?.free();
  else room?.spend(performed.cost);
}

/** The job was paid for, perhaps: it is not as new, whatever could be written down of it. */
function lose(job: Job, error: unknown, running: Running): never {
  running.onLost(job, error);
  throw error;
}

/** The next job need not wait for the disk: what is written is lost to a power cut only, and then found out by the resume. */
function record(
  job: Job,
  { performed, written }: { performed: Performed; written: Promise<void> },
  running: Running,
): void {
  const settled = written
    .catch(async (error: unknown) => {
      // Before all else nobody sends what could not be written down either.
      stopTaking(running, undefined, error);
      if (performed.state === 'unsent') return fail(running, error);
      const { failure } = (await performed.keep?.(error)) ?? { failure: error };
      running.onLost(job, failure);
      fail(running, failure);
    })
    .finally(() => running.recording.delete(settled));
  running.recording.add(settled);
}

function count(performed: Performed, running: Running): void {
  if (performed.state === 'unsent') return;
  if (Number.isFinite(running.maxTokens)) running.usage = addUsage(running.usage, performed.usage);
  if (performed.state === 'done') running.gate.succeeded();
  else running.failures++;
}

/**
 * A quota that is used up ends the run. So does a wait too long for the jobs, once a request that was sent after it is told
 * the same: the first alone may have been one of a few.
 */
function stopAtQuota(performed: Performed, startedAt: number, running: Running): void {
  if (performed.state === 'unsent') {
    if (performed.quotaSpent) stopTaking(running, performed.quotaSpent, performed.quotaSpent);
    return;
  }
  if (performed.state === 'done') running.longWaitAt = undefined;
  if (performed.longWait === undefined) return;
  if (running.longWaitAt !== undefined && startedAt > running.longWaitAt)
    stopTaking(running, performed.longWait, performed.longWait);
  running.longWaitAt ??= running.elapsed();
}

/** A failure that is no job's own: the disk is full, or a bug of ours. */
export function endsBatch(error: unknown): boolean {
  return isBug(error) || (error as GatewayError).class === 'not-written';
}
