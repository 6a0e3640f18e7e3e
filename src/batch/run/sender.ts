import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isObject } from '../../json.ts';
import type { FolderLock } from '../folder/lock.ts';
import { type Batch, batchFiles, type Job, type JobAttempt, type JobOutcome, type SaveReply } from '../types.ts';
import type { Pacer } from './send.ts';
import type { SharedGate } from '../../transport/gate.ts';
import { blobsOf, createLateStore, mostImages } from '../../client/picture-store.ts';
import { createDeadlines, type Deadline, timeOf } from '../../client/deadline.ts';
import { outcomeOf } from '../../client/read-reply.ts';
import { perform } from '../../client/send.ts';
import { createMeter } from '../../cost/cost.ts';
import { unusualTier } from '../../cost/price.ts';
import { endSignals, type GatewayError, isQuotaSpent } from '../../errors.ts';
import { otherModel } from '../../services.ts';
import { planJobImages, savedFailure, savedIfUnwritten } from './job-files.ts';
import { boundOfJob, type CheckedJob } from '../../commands/batch/jobs/request.ts';
import { resultDocument } from '../../cli/output/document.ts';
import type { Connection } from '../../cli/run/connection.ts';
import { answerOfSchema, checkAnswer, wantedOf } from '../../cli/run/command.ts';

/** Sends the jobs of a run. */
export interface JobSender {
  /** Builds the request. Throws what ends the batch. */
  prepare(job: Job): Promise<JobAttempt>;
  /** Reserves what it can cost in a budget that runs share. Throws GatewayError batch-failed if that is too much. */
  reserve(attempt: JobAttempt, signal: AbortSignal): Promise<void>;
  /** Fetches what its URLs name, before it is recorded as sent. A failure is the outcome of `send`. */
  fetchInputs(attempt: JobAttempt): Promise<void>;
  /**
   * Sends the request, reads the reply and publishes its images. A failure of the job is in the outcome; what it throws (a full
   * disk, a bug) ends the batch.
   */
  send(attempt: JobAttempt): Promise<JobOutcome>;
  /** It is not sent after all. */
  drop(attempt: JobAttempt): Promise<void>;
  /** Ends the requests in flight. The signal of the context ends only what is not in flight. */
  abort(reason: unknown): void;
  /** Jobs whose reply is waited for. */
  readonly inFlight: number;
}

export interface SenderOptions {
  batch: Pick<Batch, 'context' | 'flags' | 'outdir'> & { lock: Pick<FolderLock, 'check'> };
  /** There are no results to which a later run could add a reply that was saved for recovery. */
  isFolderless?: boolean;
  /** Checks the job, and builds its request. */
  check(job: Job): Promise<CheckedJob>;
  connectionTo(checked: CheckedJob): Pick<Connection, 'send' | 'pay'> | Promise<Connection>;
  gate: SharedGate;
  /** Waits for the turn that `--rate` gives. */
  pace: Pacer;
}

/** Its last member waits if a turn of the event loop becomes long. */
type Sending = SenderOptions & { yieldToEventLoop: () => Promise<void> | undefined };

/** What is known about an attempt that was not sent. */
const unsent = { startedAt: 0, attempts: 1, mayBeBilled: false, inFlight: false };

export function createJobSender(options: SenderOptions): JobSender {
  const { batch, check, connectionTo } = options;
  const { io, signal } = batch.context;
  const sending: Sending = { ...options, yieldToEventLoop: createYield(() => io.elapsed()) };
  const startDeadline = createDeadlines();
  // One listener for all jobs: none has to listen for itself.
  const started = new Set<JobAttempt>();
  const endWaiting = (): void => {
    for (const { inFlight, deadline } of started) if (!inFlight) deadline?.abort(signal.reason);
  };
  signal.addEventListener('abort', endWaiting, { once: true });

  function start(attempt: JobAttempt): Deadline {
    if (attempt.deadline) return attempt.deadline;
    attempt.startedAt = io.elapsed();
    attempt.deadline = startDeadline(attempt.checked.settings.timeoutMs.value);
    started.add(attempt);
    if (signal.aborted) attempt.deadline.abort(signal.reason);
    return attempt.deadline;
  }

  async function end(attempt: JobAttempt): Promise<void> {
    started.delete(attempt);
    attempt.deadline?.end();
    await attempt.payment?.cancel();
    await attempt.checked.own.end();
  }

  return {
    async prepare(job) {
      const checked = await check(job);
      const { request, built } = checked;
      return { job, request, bound: boundOfJob(checked), checked, built, ...unsent };
    },
    async reserve(attempt, reserving) {
      // What a recording answers costs nothing: requests that it lacks reserve when they are sent.
      if (batch.flags.replay !== undefined) return;
      attempt.payment = (await connectionTo(attempt.checked)).pay?.(attempt.built);
      await attempt.payment?.reserve(reserving);
    },
    async fetchInputs(attempt) {
      const { fetchInputs } = attempt.checked;
      if (!fetchInputs) return;
      const deadline = start(attempt);
      attempt.inputFailure = await thrownBy(async () => void (attempt.built = await fetchInputs(deadline)));
    },
    async send(attempt) {
      try {
        return await sendJob(attempt, start(attempt), sending);
      } finally {
        await end(attempt);
      }
    },
    drop: end,
    abort: (reason) => started.forEach(({ deadline }) => deadline?.abort(reason)),
    get inFlight() {
      return [...started].filter(({ inFlight }) => inFlight).length;
    },
  };
}

async function thrownBy(act: () => Promise<void>): Promise<unknown> {
  try {
    await act();
    return undefined;
  } catch (error) {
    return error ?? new Error('nothing was thrown');
  }
}

async function sendJob(attempt: JobAttempt, deadline: Deadline, sending: Sending): Promise<JobOutcome> {
  const { job, checked } = attempt;
  const batch = sending.batch.context;
  const context = checked.own.output;
  const { report } = context;
  report.job = job.id;
  if (Object.keys(checked.settings.prices).length > 0) report.meter = createMeter(checked.settings);
  const failure = attempt.inputFailure ?? (await thrownBy(() => readAnswer(attempt, deadline, sending)));
  report.attempts = attempt.attempts;
  const { result } = report;
  const own = sending.isFolderless ? undefined : { folder: resolve(sending.batch.outdir), request: attempt.request };
  const error = failure === undefined ? undefined : await savedFailure(failure, { context, batch, own });
  if (batch.signal.aborted && error && endSignals.has(error.class) && !attempt.mayBeBilled) return { state: 'unsent' };
  if (error?.details.reason === 'budget' && !attempt.mayBeBilled) return { state: 'unsent', quotaSpent: error };
  const isSpent = error !== undefined && isQuotaSpent(error);
  if (isSpent && error.details.reason !== 'retry-time' && attempt.attempts === 1)
    return { state: 'unsent', quotaSpent: error };
  const durationMs = batch.io.elapsed() - attempt.startedAt;
  const { model, prompt } = checked.built;
  const answeredBy = result && otherModel(result.model, result.modelVersion);
  const document = Object.assign(resultDocument(report, { error, durationMs, redaction: context.ui }), {
    ...(result === undefined && { requestedModel: model, model }),
    name: job.name,
    ...context.ui.clean({ vars: isObject(job.values['vars']) ? job.values['vars'] : undefined, prompt }),
  });
  const saveReply: SaveReply = async (unwritten) => {
    report.lost.text = (result?.text ?? '') !== '';
    return { failure: await savedIfUnwritten(unwritten, { context, own, document }), path: report.kept };
  };
  return {
    state: stateOf(error, attempt),
    document,
    ...(answeredBy !== undefined && { requestedModel: result?.model, model: answeredBy }),
    tier: result?.serviceTier && unusualTier(result.serviceTier),
    // What a cache answers counts in no sum.
    ...(report.fromCache ? { billed: 'no' } : { usage: result?.usage, cost: report.meter?.total }),
    error: error && { class: error.class, message: batch.ui.redact(error.message), billed: error.billed },
    incomplete: error === undefined && result?.complete === false ? true : undefined,
    ...(isSpent && { longWait: error }),
    saveReply: result && saveReply,
  };
}

/** Sent and never answered, or cut by a signal: it may have been billed, so it is not sent again unless the user asks. */
function stateOf(error: GatewayError | undefined, { mayBeBilled }: JobAttempt): 'done' | 'failed' | 'unknown' {
  if (error === undefined) return 'done';
  return error.class === 'no-reply' || (endSignals.has(error.class) && mayBeBilled) ? 'unknown' : 'failed';
}

async function readAnswer(attempt: JobAttempt, deadline: Deadline, sending: Sending): Promise<void> {
  const { job, built, checked } = attempt;
  const { batch, gate, pace } = sending;
  const context = checked.own.output;
  const { retryMaxTime, maxImages = mostImages } = batch.flags;
  const isImage = job.command.startsWith('image');
  // The folder of images is checked before anything is paid for.
  let output = isImage ? await planJobImages(attempt, batch.flags) : undefined;
  const store = createLateStore(async () => {
    const { createFileStore } = await import('../../images/store.ts');
    return createFileStore({ folder: join(batch.outdir, batchFiles.images), fallback: tmpdir() });
  });
  context.atEnd(() => store.discard());
  let mayEarlierBeBilled = false;
  const endOf = () => timeOf(deadline);
  const candidates = (job.values['candidates'] as number | undefined) ?? 1;
  const connection = await sending.connectionTo(checked);
  const deltas = perform({ post: built.post, model: built.model, candidates }, connection, {
    deadline,
    store,
    endOf,
    mostImages: maxImages,
    joined: true,
    payment: attempt.payment,
    beforeRead({ attempts }) {
      attempt.attempts = attempts;
      if (attempts === 0) context.report.fromCache = true;
      return sending.yieldToEventLoop();
    },
    policy: retryMaxTime === undefined && built.ask.tier ? {} : { maxWaitMs: retryMaxTime ?? longestWaitMs },
    gate: { ...paceRetries(gate, pace, batch.lock), ...(built.ask.tier && { allowRetry: () => true }) },
    onSent: () => void Object.assign(attempt, { mayBeBilled: true, inFlight: true }),
    onRetry({ error }) {
      attempt.attempts++;
      attempt.inFlight = false;
      // An attempt that cost nothing does not change that an earlier one may have been billed.
      mayEarlierBeBilled ||= error.billed !== 'no';
      attempt.mayBeBilled = mayEarlierBeBilled;
      if (context.signal.aborted) deadline.abort(context.signal.reason);
    },
  });
  const answer = await outcomeOf(deltas);
  context.report.result = answer.result;
  if (!answer.isRecorded) context.report.meter?.count(answer);
  const blobs = blobsOf(answer.result);
  if (blobs.length > 0) output ??= await planJobImages(attempt, batch.flags);
  // A signal that comes now ends nothing: what was paid for is written first.
  await output?.save(blobs, answer.result, endOf);
  // An image that could not be written is saved for recovery, and ends the batch.
  if (context.report.lost.failure !== undefined) throw context.report.lost.failure;
  await checkAnswer(answer, wantedOf(batch.flags, isImage ? candidates : 0), context);
  if (built.check) context.report.answer = (await answerOfSchema(built.check, answer, deadline.signal)).value;
  if (output?.mismatch) throw output.mismatch;
}

/** The longest wait of a job between its retries; the flex lane has its own. */
const longestWaitMs = 300_000;

/** The part of the gate that one job uses. */
type JobGate = Pick<SharedGate, 'enter' | 'close' | 'allowRetry'>;

/** The gate of one job, which each of its attempts enters. The first one had its turn before it was recorded as sent. */
export function paceRetries(gate: JobGate, pace: Pacer, lock: Pick<FolderLock, 'check'>): JobGate {
  let isFirst = true;
  return {
    close: gate.close,
    allowRetry: gate.allowRetry,
    async enter(signal) {
      if (!isFirst) await pace(signal);
      isFirst = false;
      // It may close while the turn is waited for, and the lock may be lost while it is closed.
      await gate.enter(signal);
      lock.check();
    },
  };
}

/** The longest work in one turn of the event loop, in ms. What is left waits for turns of its own. */
const longestMs = 2;

/**
 * Keeps turns short. Many replies may come at once; read all in one turn, they would hold up the requests that follow them
 * until its end, and go out together again. Undefined: there is time left.
 */
export function createYield(elapsed: () => number): () => Promise<void> | undefined {
  const waiting: (() => void)[] = [];
  let began: number | undefined;
  const end = (): void => void (began = undefined);
  const next = (): void => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(next);
  };
  const isShort = (): boolean => {
    if (began === undefined) setImmediate(end);
    began ??= elapsed();
    return elapsed() - began < longestMs;
  };
  return () => {
    if (waiting.length === 0 && isShort()) return undefined;
    return new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(next);
    });
  };
}
