import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashId, hexOf } from '../jobs/digest.ts';
import { isObject } from '../../json.ts';
import { endSignals } from '../folder/results.ts';
import { endsBatch } from './runner.ts';
import { type Pacer, paceRetries } from './throttle.ts';
import type { SharedGate } from '../../transport/gate.ts';
import { batchFiles, type Job, type JobError, type JobRecord, type Keep, type Performed } from '../types.ts';
import { blobsOf } from '../../client/result.ts';
import { type Deadline, timeOf } from '../../client/deadline.ts';
import type { Result } from '../../client/result.ts';
import { outcomeOf, perform } from '../../client/perform.ts';
import type { Pricing } from '../../cost/price.ts';
import type { Meter } from '../../cost/types.ts';
import { type ErrorClass, GatewayError, isBug, isQuotaSpent } from '../../errors.ts';
import { otherModel } from '../../model-name.ts';
import { fileWord } from '../../images/naming.ts';
import { createFileStore } from '../../images/store.ts';
import { gatewayKey } from './plan.ts';
import type { CheckedJob } from '../jobs/request.ts';
import { type ActiveCalls, attempt, type Call, endTurn, type Turn } from './turn.ts';
import type { Batch } from './types.ts';
import type { BuiltRequest } from '../../cli/request/build-request.ts';
import type { Context } from '../../cli/context.ts';
import { resultDocument, unbilled } from '../../cli/output/document.ts';
import { hintOf } from '../../advice.ts';
import { type ImageOutput, mostImages, planImages } from '../../cli/output/image-output.ts';
import { saveAfterBug, saveForRecovery } from '../../cli/run/recovery.ts';
import type { Connection } from '../../cli/run/connection.ts';
import { answerOfSchema, checkAnswer, wantedOf } from '../../cli/run/finish.ts';

/** Waiting of one job in all. */
const longestWaitMs = 300_000;

/** What all jobs of a run are performed with. */
export interface Performing {
  batch: Batch;
  /** By `gatewayKey`. */
  connections: ReadonlyMap<string, Connection>;
  startDeadline: (ms: number) => Deadline;
  gate: SharedGate;
  /** Waits for the turn that `--rate` gives. */
  pace: Pacer;
  flight: ActiveCalls;
  /** Where prices are set. */
  createMeter?: ((pricing: Pricing) => Meter) | undefined;
  /** Waits where a turn of the event loop becomes long. */
  turn: () => Promise<void> | undefined;
}

/**
 * Sends a job's request, reads the answer and publishes its pictures. Failures of the job are in what it returns; what it
 * throws (a full disk, a bug) ends the batch.
 */
export async function sendJob(
  { job, prepared, turn }: { job: Job; prepared: CheckedJob; turn: Turn },
  performing: Performing,
): Promise<Performed> {
  const batch = performing.batch.context;
  const context = prepared.own.output;
  const { report } = context;
  report.meter = performing.createMeter?.(prepared.settings);
  const { call, started, built } = turn;
  try {
    const connection = performing.connections.get(gatewayKey(prepared.settings)) as Connection;
    const failure =
      turn.failure ?? (await attempt(() => answerJob({ job, built, performing, connection, context, call })));
    report.attempts = call.attempts;
    const bug = failure !== undefined && report.result !== undefined && isBug(failure) ? failure : undefined;
    if (failure !== undefined && bug === undefined && endsBatch(failure)) throw await kept(failure, context);
    const told =
      bug === undefined
        ? await keptRest(failure as GatewayError | undefined, { context, batch })
        : await keptAtBug(bug, { context, batch });
    const error = told && unbilled(told, report);
    if (batch.signal.aborted && error !== undefined && endSignals.has(error.class) && !call.out)
      return { state: 'unsent' };
    if (error !== undefined && isQuotaSpent(error) && error.details.reason !== 'retry-time' && call.attempts === 1)
      return { state: 'unsent', quotaSpent: error };
    const durationMs = batch.io.elapsed() - started;
    const { model, prompt } = prepared.built;
    const { result } = report;
    const keep: Keep = async (unwritten) => {
      report.lost.text = (result?.text ?? '') !== '';
      return { failure: await kept(unwritten, context), path: report.kept };
    };
    return {
      state: stateOf(error, call),
      document: Object.assign(resultDocument(report, { error, durationMs, redaction: context.ui }), {
        ...(result === undefined && { requestedModel: model, model }),
        name: job.name,
        ...context.ui.clean({ vars: isObject(job.values['vars']) ? job.values['vars'] : undefined, prompt }),
      }),
      // What a cache answers counts in no sum.
      ...otherModelOf(result),
      ...(report.fromCache ? { billed: 'no' } : { usage: result?.usage, cost: report.meter?.total }),
      error: error && errorOf(error, batch),
      incomplete: error === undefined && result?.complete === false ? true : undefined,
      ...(error && isQuotaSpent(error) && { longWait: error }),
      keep: result && keep,
    };
  } finally {
    endTurn(turn, performing);
    await prepared.own.end();
  }
}

/** Both names, where another model answered than the requested one. */
function otherModelOf(result: Result | undefined): Pick<JobRecord, 'requestedModel' | 'model'> {
  const model = result && otherModel(result.model, result.modelVersion);
  return model === undefined ? {} : { requestedModel: result?.model, model };
}

/** A paid reply that cannot or must not be written is kept like that of any command. */
async function kept(failure: unknown, { report, io, ui }: Context): Promise<unknown> {
  if (!(failure instanceof GatewayError) || !unwritten.has(failure.class)) return failure;
  return saveForRecovery(failure, { report, io, redaction: ui });
}

/** The disk is full, or another run has the folder. */
const unwritten: ReadonlySet<ErrorClass> = new Set(['not-written', 'batch-locked']);

/** A reply came, so a bug ends its job alone: the reply is kept. */
async function keptAtBug(
  bug: unknown,
  { context: { report, io, ui }, batch }: { context: Context; batch: Context },
): Promise<GatewayError> {
  const told = await saveAfterBug(bug, { report, io, redaction: ui });
  await batch.ui.warn(`${told.message}; ${hintOf(told) ?? ''}`);
  return told;
}

/** The job has failed, and pictures of its reply that were not written are kept. */
async function keptRest(
  failure: GatewayError | undefined,
  { context: { report, io, ui }, batch }: { context: Context; batch: Context },
): Promise<GatewayError | undefined> {
  if (failure === undefined || report.lost.images.length === 0) return failure;
  const told = await saveForRecovery(failure, { report, io, redaction: ui });
  await batch.ui.warn(`${failure.message}; ${hintOf(told) ?? ''}`);
  return told;
}

/** Sent and never answered, or broken off: it may have been billed, so nobody sends it again by accident. */
function stateOf(error: GatewayError | undefined, { out }: Call): 'done' | 'failed' | 'unknown' {
  if (error === undefined) return 'done';
  return error.class === 'no-reply' || (endSignals.has(error.class) && out) ? 'unknown' : 'failed';
}

function errorOf(error: GatewayError, { ui }: Context): JobError {
  return { class: error.class, message: ui.redact(error.message), billed: error.billed };
}

interface Asking {
  job: Job;
  built: BuiltRequest;
  performing: Performing;
  connection: Connection;
  context: Context;
  call: Call;
}

async function answerJob(asking: Asking): Promise<void> {
  const { job, built, performing, connection, context, call } = asking;
  const { batch, gate, pace } = performing;
  const { retryMaxTime, maxImages = mostImages } = batch.flags;
  const isImage = job.command.startsWith('image');
  // For pictures the folder is looked at before anything is paid for.
  let output = isImage ? await planOutput(asking) : undefined;
  const store = createFileStore({ folder: join(batch.outdir, batchFiles.images), fallback: tmpdir() });
  context.atEnd(() => store.discard());
  let doubtful = false;
  const end = () => timeOf(call.deadline);
  const candidates = (job.values['candidates'] as number | undefined) ?? 1;
  const operation = { post: built.post, model: built.model, candidates };
  const asked = perform(operation, connection, {
    deadline: call.deadline,
    store,
    endOf: end,
    mostImages: maxImages,
    joined: true,
    beforeRead({ attempts }) {
      call.attempts = attempts;
      if (attempts === 0) context.report.fromCache = true;
      return performing.turn();
    },
    policy: { maxWaitMs: retryMaxTime ?? longestWaitMs },
    gate: paceRetries(gate, pace, batch.lock),
    onSent() {
      call.out = true;
      call.flying = true;
    },
    onRetry({ error }) {
      call.attempts++;
      call.flying = false;
      // An attempt that cost nothing says nothing of those before it.
      doubtful ||= error.billed !== 'no';
      call.out = doubtful;
      if (context.signal.aborted) call.deadline.abort(context.signal.reason);
    },
  });
  const answer = await outcomeOf(asked);
  context.report.result = answer.result;
  if (!answer.isRecorded) context.report.meter?.count(answer);
  const blobs = blobsOf(answer.result);
  if (blobs.length > 0) output ??= await planOutput(asking);
  // A signal that comes now loses nothing that was paid for: what came is soon written.
  await output?.save(blobs, answer.result, end);
  // A picture that could not be written is kept, and ends the batch.
  if (context.report.lost.failure !== undefined) throw context.report.lost.failure;
  await checkAnswer(answer, wantedOf(batch.flags, isImage ? candidates : 0), context);
  if (built.check) context.report.answer = answerOfSchema(built.check, answer);
  if (output?.mismatch) throw output.mismatch;
}

/** Pictures go to `images/<name>`; a name that is taken gets a number, so no paid picture is ever replaced. */
async function planOutput({ job, built: { prompt, model }, performing, context }: Asking): Promise<ImageOutput> {
  const { strict = false, maxImages = mostImages } = performing.batch.flags;
  const { aspect, size } = job.values as { aspect?: string; size?: string };
  const output = `${batchFiles.images}/${imageName(job)}.{ext}`;
  try {
    return await planImages({ output, aspect, size, strict, maxImages, prompt, model }, context);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError('not-written', error.message, { ...error.details, cause: error });
  }
}

/** The job's `name`, else its id; an id that is no file name is told apart by its hash. */
function imageName({ id, name }: Pick<Job, 'id' | 'name'>): string {
  if (name !== undefined) return name;
  const word = fileWord(id);
  return word === id ? word : `${word}-${hexOf(hashId(id)).slice(0, 8)}`;
}

/** Work of one turn of the event loop, in ms: what comes behind it waits for turns of its own. */
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
