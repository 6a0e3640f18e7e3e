import { readSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import {
  type Answer,
  type AnyApiRequest,
  asideFile,
  type BatchFormat,
  type BatchInfo,
  type BatchOutcome,
  type Body,
  cannotWrite,
  type CheckEnd,
  chooseHint,
  createDeadlines,
  createGatheredFile,
  type Deadline,
  toReadOptions,
  endSignals,
  type FormatName,
  GatewayError,
  type GatheredFile,
  getTimeoutError,
  isUnfinished,
  type JsonObject,
  loadBatchFormat,
  loadFormat,
  openToAppend,
  parseObject,
  type PreparedRequest,
  quoteForeign,
  readFailedReply,
  readParsedReply,
  readReply,
  removeFile,
  type ResultText,
} from '../../library/index.ts';
import { batchFiles, type BatchHost, type CollectedJob, type JobOutcome, type JournalEntry } from '../types.ts';
import { settleJob } from '../run/live.ts';
import { nameAnswer, type PlacedJob, prepareRow } from '../run/queue.ts';
import { hashRowId } from '../run/table.ts';
import { formatCount } from '../counts.ts';
import { chooseMeasure } from './failures.ts';
import { goOnHint, callService, type LaneRun, loseJobs, maxPending, recordStep } from './lane-run.ts';
import { listWaiting, makeEntryName, type ProviderBatch } from './provider-batches.ts';

/** A provider batch that has ended, and its results, each found by its slot. */
interface Collection {
  providerBatch: ProviderBatch;
  info: BatchInfo;
  format: BatchFormat;
  run: LaneRun;
  /** The results that jobs wait for. */
  file: GatheredFile;
  /** The places of the results in the file, in bytes. */
  places: Map<number, { offset: number; bytes: number }>;
  /** The fault of the results: the service has more of them, or others. */
  fault: string | undefined;
  /** Ends of jobs that are being written. */
  pending: Set<Promise<void>>;
  /** The beginning of the turn of the event loop in which results are read, by the monotonic clock, in ms. */
  turnBegan: number;
  startDeadline: (ms: number) => Deadline;
  /** Bounds the reading of the current result. */
  deadline: Deadline | undefined;
}

/** Downloads the results of a provider batch that has ended, joins them to its jobs only by the names of their entries, and records them. */
export async function collectProviderBatch(providerBatch: ProviderBatch, info: BatchInfo, run: LaneRun): Promise<void> {
  const { signal } = run.batch.host;
  const format = await loadBatchFormat(providerBatch.plan.format);
  const file = await createGatheredFile(run.batch.outdir);
  const pending = new Set<Promise<void>>();
  const tools = { turnBegan: run.batch.host.elapsed(), startDeadline: createDeadlines(), deadline: undefined };
  const facts = { providerBatch, info, format, run, file, pending, ...tools };
  const collection: Collection = { ...facts, places: new Map(), fault: undefined };
  // One listener serves all results, so that no result needs its own.
  const endReading = (): void => collection.deadline?.abort(signal.reason);
  signal.addEventListener('abort', endReading, { once: true });
  try {
    const failure = await download(collection);
    await file.flush();
    run.step?.('part-downloaded', providerBatch.mark);
    for await (const waiting of listWaitingSlots(providerBatch, run)) {
      signal.throwIfAborted();
      const json = readResultJson(waiting.slot, collection);
      if (json === undefined && failure !== undefined) continue;
      const outcome = json === undefined ? undefined : format.readResult(parseObject(json))?.outcome;
      if (json !== undefined && outcome === undefined) await keepAside(json, run);
      const isShort = json !== undefined && json.length < shortLength;
      await joinJob(
        waiting,
        { result: outcome ?? missingResultError(collection, json !== undefined), isShort },
        collection,
      );
      if (pending.size >= maxPending) await Promise.all(pending);
    }
    await Promise.all(pending);
    if (failure !== undefined) throw failure;
    await loseJobs(providerBatch, 'no result came for it', run);
    await recordStep(providerBatch, { step: 'ended' }, run);
    run.step?.('part-ended', providerBatch.mark);
  } finally {
    signal.removeEventListener('abort', endReading);
    await Promise.allSettled(pending);
    await file.handle.close().catch(() => undefined);
    await removeFile(file.path);
  }
}

/** A shorter result has no picture: the Base64 of a picture is longer. */
const shortLength = 16 * 1024;

const maxDownloads = 5;

/** The longest time, in ms, for which results are read in one turn of the event loop. */
const longestTurnMs = 2;

/**
 * Keeps the results that jobs wait for; other results are moved to a file aside, with a warning. Returns the reason why results of
 * the service may be missing.
 */
async function download(collection: Collection): Promise<GatewayError | undefined> {
  const { providerBatch, info, run, file, places } = collection;
  const { batch } = run;
  const { host, policy, state } = batch;
  const slots = new Map(
    providerBatch.slots.map((slot) => [makeEntryName(providerBatch.mark, state.slots.nameOf(slot)), slot]),
  );
  const hasAll = (): boolean => places.size === slots.size || findUnmadeReason(info) !== undefined;
  for (let tries = 1; ; tries++) {
    const isLast = tries === maxDownloads;
    try {
      const unmatched = await callService(providerBatch.plan, run, ({ api }, deadline) =>
        readResults(api.results(info, deadline), { slots, isLast }, collection),
      );
      const { fault } = collection;
      if (isLast && fault !== undefined && !policy.retry?.includes('unknown')) return faultError(fault, host);
      // A body can be cut without a sign of the cut, so a download without all results is tried twice.
      if (isLast || (fault === undefined && (hasAll() || tries > 1))) return void (await keepUnmatched(unmatched, run));
    } catch (error) {
      const measure = chooseMeasure('results', error);
      if (measure === undefined || host.signal.aborted) throw error;
      if (measure === 'later' || isLast) return error as GatewayError;
    }
    places.clear();
    file.restart();
  }
}

/** Results that are not used: results of no job, and a second result of the same job. */
interface UnmatchedResults {
  results: string[];
  doubled: number;
}

/** The error for results that the service has, and does not send whole. */
function faultError(fault: string, { nextCommand }: Pick<BatchHost, 'nextCommand'>): GatewayError {
  return new GatewayError('incomplete', fault, {
    hint: `${goOnHint(nextCommand('again'))}\nto give up what does not come: ${nextCommand('retry', { operand: 'unknown' })}`,
    sent: 'yes',
    billed: 'no',
    retryable: true,
  });
}

/**
 * Reads the results into the file, and returns the results that are not used. Sets the fault of the collection if a result is not
 * JSON, if none came, or if fewer came than the service counts. In the last download, a whole result that is not JSON belongs to
 * the job whose entry it names.
 */
async function readResults(
  results: AsyncGenerator<ResultText, void>,
  { slots, isLast }: { slots: ReadonlyMap<string, number>; isLast: boolean },
  collection: Collection,
): Promise<UnmatchedResults> {
  const { providerBatch, info, format, run, file, places } = collection;
  const { atService } = run.batch.state;
  let [unreadable, answers, isCut] = [0, 0, false];
  const isNamed = info.results.length > 0;
  const hasResults = isNamed || (info.done ?? 0) > 0;
  let isEmpty = hasResults && findUnmadeReason(info) === undefined;
  const unmatched: UnmatchedResults = { results: [], doubled: 0 };
  for await (const { json, isWhole } of results) {
    isEmpty = false;
    const line = parseObject(json);
    const result = format.readResult(line);
    let entry = result?.entry;
    if (Object.keys(line).length === 0) {
      if (isLast && isWhole) entry = findEntryName(json, providerBatch);
      if (entry === undefined) unreadable++;
      isCut ||= !isWhole;
    }
    const slot = entry === undefined ? undefined : slots.get(entry);
    if (slot === undefined || places.has(slot)) {
      if (slot !== undefined) unmatched.doubled++;
      unmatched.results.push(json);
      continue;
    }
    // A result that an earlier run recorded has a place too, so that a second one is reported as a duplicate.
    const bytes = Buffer.from(json);
    places.set(slot, { offset: file.bytes, bytes: bytes.byteLength });
    const kind = result?.outcome?.kind;
    if (kind === undefined || kind === 'succeeded') answers++;
    if (atService.get(slot) === providerBatch.mark) await file.append(bytes);
  }
  // The results are all there: as many as jobs, at least one of them with the name of an entry of the provider batch.
  const areAll = isLast && !isCut && places.size > 0 && places.size + unreadable === slots.size;
  const { succeeded = 0 } = info;
  // A batch of the service that ended early has fewer results than jobs, but all results that it counts.
  const lacksAnswers = findUnmadeReason(info) !== undefined && places.size < slots.size && answers < succeeded;
  collection.fault = undefined;
  if (unreadable > 0 && !areAll)
    collection.fault = `${formatCount(unreadable, 'result')} of the service cannot be read`;
  if (lacksAnswers)
    collection.fault = `${info.id} has the answers of ${formatCount(succeeded, 'job')}, and ${answers} came`;
  if (isEmpty) collection.fault = `the service ${isNamed ? 'sends an empty file of results' : 'names no results'}`;
  return unmatched;
}

/** The name of an entry of the provider batch in a result that cannot be read. */
function findEntryName(json: string, { mark }: ProviderBatch): string | undefined {
  return new RegExp(`${mark}-[0-9a-f]{32}(?:-\\d+)?`).exec(json)?.[0];
}

async function keepUnmatched({ results, doubled }: UnmatchedResults, run: LaneRun): Promise<void> {
  for (const json of results) await keepAside(json, run);
  if (results.length > 0)
    await run.batch.host.on({ type: 'unmatched-results', unknown: results.length - doubled, doubled });
}

/** Appends a result that belongs to no job to the aside file. */
async function keepAside(json: string, { batch }: LaneRun): Promise<void> {
  const path = asideFile(join(batch.outdir, batchFiles.results));
  try {
    const handle = await openToAppend(path);
    await handle.appendFile(`${json}\n`).finally(() => handle.close());
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

/** A slot that waits for its result, and its row. */
interface WaitingSlot {
  slot: number;
  row?: PlacedJob;
}

/** Rows are found by their ids: the file can change while the service works. */
async function* listWaitingSlots(
  providerBatch: ProviderBatch,
  { batch: { jobs, plan, state }, places }: LaneRun,
): AsyncGenerator<WaitingSlot, void> {
  const waiting = new Set(listWaiting(providerBatch, state));
  const rows = new Map<number, { slot: number; place: number }>();
  for (const slot of waiting) {
    const place = places.get(slot);
    if (place !== undefined) rows.set(plan.table.ids[place] as number, { slot, place });
  }
  for await (const job of rows.size > 0 ? jobs.read(() => undefined) : []) {
    const { slot, place } = rows.get(hashRowId(job.id)) ?? {};
    if (slot === undefined || place === undefined || !waiting.delete(slot)) continue;
    yield { slot, row: { job, place } };
    if (waiting.size === 0) return;
  }
  // No row wants these slots any more: their answers were paid, and are kept all the same.
  for (const slot of waiting) yield { slot };
}

/** The result of a job. It is read synchronously: the system has it in memory, and a promise takes ten times as long. */
function readResultJson(slot: number, { file, places }: Collection): string | undefined {
  const place = places.get(slot);
  if (place === undefined) return undefined;
  const buffer = Buffer.allocUnsafe(place.bytes);
  readSync(file.handle.fd, buffer, 0, place.bytes, place.offset);
  return buffer.toString();
}

const oddResult = 'the result of the service does not have the documented form';

/** The error of a job without a result that can be read. */
function missingResultError({ info, fault }: Collection, hasResult: boolean): GatewayError {
  if (hasResult)
    return new GatewayError('bad-reply', `${oddResult}; ${asideFile(batchFiles.results)} keeps it`, {
      sent: 'yes',
      retryable: false,
    });
  // Without a count, a batch of the service that ended early may have answers that it does not send.
  const isUncounted = info.succeeded === undefined && (info.failure === undefined || info.results.length > 0);
  const reason = isUncounted || fault !== undefined ? undefined : findUnmadeReason(info);
  const what = `its batch ended (${info.status}) without a result for it`;
  return reason ?? new GatewayError('no-reply', what, { sent: 'yes' });
}

/** The reason why a batch of the service made no results for some of its jobs, or for all of them. */
function findUnmadeReason({ status, failure }: BatchInfo): GatewayError | undefined {
  if (/cancel|expired/.test(status)) return unfinishedError(/cancel/.test(status) ? 'cancelled' : 'expired');
  if (failure === undefined) return undefined;
  return new GatewayError('rejected', `the service refused the batch: ${failure}`, { sent: 'yes', billed: 'no' });
}

function unfinishedError(kind: 'cancelled' | 'expired', message?: string): GatewayError {
  const what = kind === 'cancelled' ? 'cancelled at the service' : 'expired at the service';
  const words = `${what} before it was processed${message === undefined ? '' : `: ${message}`}`;
  return new GatewayError('gateway', words, { sent: 'yes', billed: 'no', retryable: true });
}

/** The job that a slot was sent for: that of its row, unless the row asks something else by now. */
async function prepareWaiting(
  { slot, row }: WaitingSlot,
  { providerBatch: { plan }, run: { batch } }: Collection,
): Promise<JournalEntry & { prepared: CollectedJob }> {
  const { jobs, state } = batch;
  const bound = state.bounds.get(slot);
  const known = row && (await prepareRow(row, batch));
  if (known?.prepared) return { ...known, slot, bound };
  const id = state.ids.get(slot) ?? state.slots.nameOf(slot);
  return { job: { id }, slot, bound, prepared: await jobs.openGone(id, plan) };
}

interface JoinedResult {
  result: BatchOutcome | GatewayError;
  /** The result is short, so its reply can be read from the parsed JSON. */
  isShort: boolean;
}

/** Reads the result of a job as its reply, and records the outcome. */
async function joinJob(waiting: WaitingSlot, { result, isShort }: JoinedResult, collection: Collection): Promise<void> {
  const { providerBatch, run, pending, startDeadline } = collection;
  const { batch, now } = run;
  const { host } = batch;
  const { prepared, ...entry } = await prepareWaiting(waiting, collection);
  const { slot } = entry;
  if (queueAgain({ slot, result, apiRequest: prepared.request?.post }, collection)) {
    await prepared.close();
    return run.recordOutcome(entry, { state: 'unsent' });
  }
  const deadline = startDeadline(prepared.settings.timeoutMs);
  collection.deadline = deadline;
  if (host.signal.aborted) deadline.abort(host.signal.reason);
  const bounds = { endOf: () => getTimeoutError(deadline), signal: deadline.signal };
  let outcome: JobOutcome;
  try {
    // All results are there already: read in one turn of the event loop, the last one would come before any signal is seen.
    if (host.elapsed() - collection.turnBegan >= longestTurnMs) {
      await yieldToEventLoop();
      collection.turnBegan = host.elapsed();
    }
    const came = await readJobResult(result, prepared, { ...bounds, isShort, providerBatch });
    const asked = nameAnswer(slot, batch.state);
    const reply = { ...came, attempts: 1, isRecorded: false, mayBeBilled: false, doubtful: 0 };
    outcome = await settleJob({ prepared, asked }, reply, { ...bounds, since: host.elapsed(), host });
  } finally {
    deadline.end();
    collection.deadline = undefined;
    await prepared.close();
  }
  if (outcome.state !== 'unsent')
    Object.assign(outcome.document, { durationMs: Math.max(0, now() - providerBatch.at) });
  const isEndedHere = outcome.state === 'unsent' || endSignals.has(outcome.error?.class);
  if (isEndedHere) host.signal.throwIfAborted();
  // A failure stays pending: it is thrown by the wait for all of them.
  const recorded = run.recordOutcome(entry, outcome).then(() => void pending.delete(recorded));
  recorded.catch(() => undefined);
  pending.add(recorded);
}

/**
 * Puts a job into the next provider batch, once, if the service refused it, did not bill it, and says which form it wants. Returns
 * whether the job is put there.
 */
function queueAgain(
  {
    slot,
    result,
    apiRequest,
  }: { slot: number; result: BatchOutcome | GatewayError; apiRequest?: AnyApiRequest | undefined },
  { providerBatch: { plan }, run }: Pick<Collection, 'providerBatch' | 'run'>,
): boolean {
  const { slots, due } = run.sentAgain;
  const place = run.places.get(slot);
  if (
    !apiRequest ||
    place === undefined ||
    result instanceof GatewayError ||
    result.kind !== 'errored' ||
    slots.has(slot)
  )
    return false;
  if (run.clients.get(plan.profile)?.learn(apiRequest, readLaneRefusal(result, apiRequest)) !== true) return false;
  slots.add(slot);
  due.push(place);
  return true;
}

/** The answer in a result, read in the same way as that of a live reply; or the reason why there is none. */
async function readJobResult(
  result: BatchOutcome | GatewayError,
  { output, request }: CollectedJob,
  { providerBatch, isShort, endOf }: { providerBatch: ProviderBatch; isShort: boolean; endOf: CheckEnd },
): Promise<{ answer: Answer } | { failure: unknown }> {
  const { format, model } = providerBatch.plan;
  try {
    // The folder of images is checked first, in the same way as for a live reply.
    await output.prepare();
    const body = requireReplyBody(result, format, request);
    const { store, mostImages } = output;
    const known = request && toReadOptions(request, await loadFormat(request.post.format));
    const options = { ...known, format, model, store, mostImages, endOf, joined: true as const };
    // A short body has no Base64 that must stay out of memory: it is not written and parsed again.
    const answer = isShort
      ? await readParsedReply(body, options)
      : await readReply({ status: 200, headers: {}, body: Buffer.from(JSON.stringify(body)) }, options);
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
  result: BatchOutcome | GatewayError,
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
