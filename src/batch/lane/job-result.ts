import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import {
  type Answer,
  type AnyApiRequest,
  type BatchOutcome,
  type Body,
  type CheckEnd,
  chooseHint,
  endSignals,
  type FormatName,
  GatewayError,
  getTimeoutError,
  isUnfinished,
  type JsonObject,
  type PreparedRequest,
  quoteForeign,
  readFailedReply,
  readReply,
  startDeadline,
  toReadOptions,
} from '../../library/index.ts';
import { settleJob } from '../run/live.ts';
import { nameAnswer, type PlacedJob, prepareRow } from '../run/queue.ts';
import type { Batch, CollectedJob, JobOutcome, JournalEntry } from '../types.ts';
import type { LaneRun } from './lane-run.ts';
import type { ProviderBatch } from './provider-batches.ts';

/** The result that the service gives for a job, or the error of a job without one. */
type JobResult = BatchOutcome | GatewayError;

/** A slot whose result is collected, and its row, if one wants it still. */
export interface CollectedSlot {
  slot: number;
  row?: PlacedJob;
}

/** Reads the result of a job as its reply, within the time of the job: its end, to be recorded. */
export async function readJobEnd(
  collected: CollectedSlot,
  result: JobResult,
  { providerBatch, run }: { providerBatch: ProviderBatch; run: LaneRun },
): Promise<{ entry: JournalEntry; outcome: JobOutcome }> {
  const { batch } = run;
  const { host, state } = batch;
  const { plan } = providerBatch;
  const { prepared, ...entry } = await prepareCollected(collected, plan, batch);
  const deadline = startDeadline(prepared.settings.timeoutMs, host.signal);
  const bounds = { endOf: () => getTimeoutError(deadline), signal: deadline.signal };
  try {
    if (queueAgain(entry.slot, { result, apiRequest: prepared.request?.post, profile: plan.profile }, run))
      return { entry, outcome: { state: 'unsent' } };
    // All results are there already: read in one turn of the event loop, the last one would come before any signal is seen.
    await yieldToEventLoop();
    const came = await readAnswer(result, prepared, { endOf: bounds.endOf, plan });
    const answerName = nameAnswer(entry.slot, state);
    const reply = { ...came, attempts: 1, isRecorded: false, mayBeBilled: false, doubtful: 0 };
    const since = host.elapsed() - Math.max(0, host.now() - providerBatch.at);
    const outcome = await settleJob({ prepared, answerName }, reply, { ...bounds, since, host });
    const isEndedHere = outcome.state === 'unsent' || endSignals.has(outcome.error?.class);
    if (isEndedHere) host.signal.throwIfAborted();
    return { entry, outcome };
  } finally {
    deadline.end();
    await prepared.close();
  }
}

/** The job that a slot was sent for: that of its row, unless the row asks something else by now. */
async function prepareCollected(
  { slot, row }: CollectedSlot,
  plan: ProviderBatch['plan'],
  batch: Batch,
): Promise<JournalEntry & { prepared: CollectedJob }> {
  const { jobs, state } = batch;
  const bound = state.bounds.get(slot);
  const known = row && (await prepareRow(row, batch));
  if (known?.prepared) return { ...known, slot, bound };
  const id = state.ids.get(slot) ?? state.slots.nameOf(slot);
  return { job: { id }, slot, bound, prepared: await jobs.openGone(id, plan) };
}

/** The error of a job that the service did not come to. */
export function unfinishedError(kind: 'cancelled' | 'expired', message?: string): GatewayError {
  const what = kind === 'cancelled' ? 'cancelled at the service' : 'expired at the service';
  const words = `${what} before it was processed${message === undefined ? '' : `: ${message}`}`;
  return new GatewayError('gateway', words, { sent: 'yes', billed: 'no', retryable: true });
}

/**
 * Puts a job into the next provider batch, once, if the service refused it, did not bill it, and says which form it wants. Returns
 * whether the job is put there.
 */
function queueAgain(
  slot: number,
  { result, apiRequest, profile }: { result: JobResult; apiRequest: AnyApiRequest | undefined; profile: string },
  { sentAgain: { slots, due }, places, clients }: Pick<LaneRun, 'sentAgain' | 'places' | 'clients'>,
): boolean {
  const place = places.get(slot);
  if (
    !apiRequest ||
    place === undefined ||
    result instanceof GatewayError ||
    result.kind !== 'errored' ||
    slots.has(slot)
  )
    return false;
  if (clients.get(profile)?.learn(apiRequest, readLaneRefusal(result, apiRequest)) !== true) return false;
  slots.add(slot);
  due.push(place);
  return true;
}

/** The answer in a result, read in the same way as that of a live reply; or the reason why there is none. */
async function readAnswer(
  result: JobResult,
  { output, request }: CollectedJob,
  { plan: { format, model }, endOf }: { plan: ProviderBatch['plan']; endOf: CheckEnd },
): Promise<{ answer: Answer } | { failure: unknown }> {
  try {
    // The folder of images is checked first, in the same way as for a live reply.
    await output.prepare();
    const body = requireReplyBody(result, format, request);
    const { store, mostImages } = output;
    const options = { ...(request && toReadOptions(request)), format, model, store, mostImages, endOf };
    const answer = await readReply({ status: 200, headers: {}, body: Buffer.from(JSON.stringify(body)) }, options);
    const { stopReason } = answer.result;
    if (isUnfinished(stopReason)) answer.error ??= unfinishedAnswer(stopReason as string);
    return { answer };
  } catch (failure) {
    return { failure };
  }
}

/** The error for an answer that the service ended in the middle: the lane `batch` does not go on with it. */
function unfinishedAnswer(reason: string): GatewayError {
  return new GatewayError('incomplete', `the answer is not finished: it ended with ${quoteForeign(reason, 60)}`, {
    hint: 'what came is kept; the live lane sends the job again and goes on by itself: --retry failed --lane live',
    sent: 'yes',
    billed: 'yes',
    retryable: false,
  });
}

/** The reply in a result. Throws GatewayError for a result without one. */
function requireReplyBody(
  result: JobResult,
  format: FormatName,
  { defaultFor, post }: Partial<Pick<PreparedRequest, 'defaultFor' | 'post'>> = {},
): JsonObject {
  if (result instanceof GatewayError) throw result;
  if (result.kind === 'succeeded') return result.body;
  if (result.kind !== 'errored') throw unfinishedError(result.kind, result.message);
  const failure = readLaneRefusal(result, { format, body: post?.body });
  // The service refused only this job, not the others of its batch.
  const { reason } = failure.details;
  const isGone = defaultFor !== undefined && (reason === 'model' || reason === 'successor');
  // A job has no flag for most refused fields; the format is one of the whole batch.
  const hint = isGone ? goneDefault : chooseHint(failure, reason === 'named-format' ? 'cli' : 'library');
  throw failure.withDetails({ hint, reason: undefined, retryAfterMs: undefined });
}

const goneDefault =
  'in a batch of the service no other model takes the place of its default: --retry failed --lane live asks one that follows it, or name one: -m <model>';

function readLaneRefusal(
  { status = 500, body }: BatchOutcome & { kind: 'errored' },
  { format, body: asked }: { format: FormatName; body?: Body | undefined },
): GatewayError {
  return readFailedReply({ status, headers: {}, body: JSON.stringify(body), format, asked, sentKey: undefined });
}
