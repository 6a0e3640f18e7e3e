import { randomBytes } from 'node:crypto';
import { setImmediate as yieldToEventLoop, setTimeout as sleep } from 'node:timers/promises';
import { isObject, type JsonObject, type JsonValue, longestTimerMs, parseObject } from '../../library/index.ts';
import { type BatchFault, findFault } from '../faults/table.ts';
import { Problem, toProblem } from '../problem.ts';
import type { BodyHandler, GatewayFormatName, GatewayRequest, GatewayReply } from '../types.ts';

/** The end of one request of a batch. */
type LineEnd = 'succeeded' | 'errored' | 'canceled' | 'expired';

/** The result of one request: the body of its reply, or of the error. */
interface LineResult {
  end: LineEnd;
  status: number;
  body: JsonObject;
}

/** One request of a batch. */
export interface BatchLine {
  /** The key of the request, which its result repeats. */
  label: JsonObject;
  body: JsonObject;
  /** The reason that the request cannot be answered. */
  problem?: Problem | undefined;
}

/** The parts of a batch. */
export interface BatchJob {
  /** The request that created it. */
  request: GatewayRequest;
  /** Values of the request that the API shows again: metadata, a display name. */
  about: JsonObject;
  /** The model of the first request; the fault of a fault model applies to the whole batch. */
  model: string;
  /** The path that answers such a request outside of a batch, and its handler. */
  path: string;
  handle: BodyHandler;
  lines: readonly BatchLine[];
  /** The reason that no line is taken: the batch is created, and fails. */
  fault?: Problem | undefined;
}

/** A batch. Times are ms since 1970. */
export interface StoredBatch extends Pick<BatchJob, 'about' | 'model'> {
  id: string;
  format: GatewayFormatName;
  fault: BatchFault;
  total: number;
  results: { label: JsonObject; result: LineResult }[];
  created: number;
  canceled?: number;
  ended?: number;
  failure?: Problem;
  /** Number of requests for the batch after its creation that do not find it. */
  hidden: number;
  stop: AbortController;
}

/** The words of a batch API for how far a batch is. */
export type StateWords = Readonly<
  Record<'running' | 'canceling' | 'canceled' | 'failed' | 'expired' | 'completed', string>
>;

/** How far a batch is. */
export function stateOf(batch: StoredBatch): keyof StateWords {
  const { canceled, ended, failure } = batch;
  if (failure) return 'failed';
  if (canceled !== undefined) return ended === undefined ? 'canceling' : 'canceled';
  if (ended === undefined) return 'running';
  return countEnds(batch).expired > 0 ? 'expired' : 'completed';
}

/** Number of requests of a batch that ended in each way. */
export function countEnds({ results }: StoredBatch): Record<LineEnd, number> {
  const counts = { succeeded: 0, errored: 0, canceled: 0, expired: 0 };
  for (const { result } of results) counts[result.end]++;
  return counts;
}

/** Answers one request of a batch as if it came alone. Throws Problem. */
type AnswerLine = (request: GatewayRequest, handle: BodyHandler, body: JsonObject) => Promise<GatewayReply>;

/** Options for running batches. */
export interface BatchOptions {
  /** Time from the creation of a batch to its first result, ms. */
  delay: number;
  answer: AnswerLine;
}

/** Creates a batch, which runs in the background from now on. */
export function startBatch(id: string, job: BatchJob, options: BatchOptions): StoredBatch {
  const { request, about, model, lines } = job;
  const fault = findFault(model)?.batch ?? {};
  const batch: StoredBatch = {
    id,
    format: request.format.name,
    about,
    model,
    fault,
    total: lines.length,
    results: [],
    created: Date.now(),
    hidden: fault.hiddenReads ?? 0,
    stop: new AbortController(),
  };
  void run(batch, job, options).catch((error: unknown) => {
    batch.failure = toProblem(error, request.format);
    batch.ended = Date.now();
  });
  return batch;
}

/** Stops a batch; requests that were not answered yet end as canceled. */
export function cancelBatch(batch: StoredBatch): void {
  if (batch.ended !== undefined) return;
  batch.canceled ??= Date.now();
  batch.stop.abort();
}

async function run(batch: StoredBatch, job: BatchJob, { delay, answer }: BatchOptions): Promise<void> {
  const { fault, stop } = batch;
  await pause(fault.isStuck ? longestTimerMs : delay, stop.signal);
  if (job.fault) throw job.fault;
  for (const [index, line] of (fault.swapsLines ? swapped(job.lines) : job.lines).entries()) {
    const result = { label: line.label, result: await runLine(line, { batch, job, index, answer }) };
    batch.results.push(result, ...(fault.doublesResults ? [result] : []));
    // Control goes back to the event loop, so that other callers are answered between two requests of a batch.
    await yieldToEventLoop();
  }
  batch.ended = Date.now();
}

/** Waits until the time is over or the batch is canceled, without keeping the process alive. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.min(ms, longestTimerMs), undefined, { signal, ref: false }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

/** Swaps each pair of lines. */
function swapped(lines: readonly BatchLine[]): BatchLine[] {
  return lines.flatMap((_, index) => (index % 2 === 0 ? lines.slice(index, index + 2).toReversed() : []));
}

async function runLine(
  { problem, body }: BatchLine,
  { batch, job, index, answer }: { batch: StoredBatch; job: BatchJob; index: number; answer: AnswerLine },
): Promise<LineResult> {
  const { fault, stop } = batch;
  const { path, handle } = job;
  const { format } = job.request;
  const unsent = { status: 0, body: {} };
  if (stop.signal.aborted) return { ...unsent, end: 'canceled' };
  if (fault.expires && index >= batch.total / 2) return { ...unsent, end: 'expired' };
  try {
    if (problem) throw problem;
    if (fault.failsEverySecond && index % 2 === 1) throw new Problem(500, 'An internal error has occurred.');
    const request = { ...job.request, path, query: new URLSearchParams(), left: stop.signal, route: undefined };
    return { end: 'succeeded', status: 200, body: wholeBody(await answer(request, handle, body)) };
  } catch (error) {
    if (stop.signal.aborted) return { ...unsent, end: 'canceled' };
    const shown = toProblem(error, format);
    return { end: 'errored', status: shown.status, body: format.error(shown) };
  }
}

/** The JSON of a reply. A fault that only a connection can have, such as an early end, is an error of the service in a batch. */
function wholeBody({ status, body, head = true, ending }: GatewayReply): JsonObject {
  if (status === 200 && head && ending === undefined && typeof body === 'string') {
    const json = parseObject(body);
    if (Object.keys(json).length > 0 && (json['error'] ?? null) === null) return json;
  }
  throw new Problem(500, 'An internal error has occurred.');
}

/** The values of a file of JSON lines; undefined in place of a line that is no object. */
export function parseJsonLines(bytes: Buffer): (JsonObject | undefined)[] {
  const lines = bytes.toString().split('\n');
  return lines.filter((line) => line.trim() !== '').map(parseLine);
}

function parseLine(line: string): JsonObject | undefined {
  try {
    const json = JSON.parse(line) as JsonValue;
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** Values as a file of JSON lines. */
export function toLines(values: readonly JsonObject[]): Buffer {
  return Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
}

/** A name for a batch or a file that cannot be guessed. */
export function randomId(prefix: string, length = 24): string {
  return prefix + randomBytes(length).toString('hex').slice(0, length);
}
