import { randomBytes } from 'node:crypto';
import { setImmediate as yieldToEventLoop, setTimeout as sleep } from 'node:timers/promises';
import { longestTimerMs } from '../../clock.ts';
import { isObject, type JsonObject } from '../../json.ts';
import { type BatchFault, findFault } from '../faults/table.ts';
import { Problem, type ProblemDetails, toProblem } from '../problem.ts';
import type { BodyHandler, GatewayFormatName, GatewayRequest, GatewayReply } from '../types.ts';
import { createSpool, type Spool } from './spool.ts';

/** How one request of a batch ended. */
type LineEnd = 'succeeded' | 'errored' | 'canceled' | 'expired';

/** The result of one request: the body of its reply, or of the error. */
export interface LineResult {
  end: LineEnd;
  status: number;
  body: JsonObject;
}

/** One request of a batch, read from its line. */
export interface OpenedLine {
  /** What joins it to its result, as the result repeats it. */
  label: JsonObject;
  body: JsonObject;
  /** Why it cannot be answered. */
  problem?: Problem | undefined;
}

/** What a batch is made of. */
export interface BatchJob {
  /** The request that created it. */
  request: GatewayRequest;
  /** What the API shows of it again: metadata, a display name. */
  about: JsonObject;
  /** The model of its first request; the fault of a fault model is that of the whole batch. */
  model: string;
  /** The number of requests; 0 where `validate` counts them. */
  total: number;
  /** The path that answers such a request outside of a batch, and what answers there. */
  path: string;
  handle: BodyHandler;
  lines(): AsyncIterable<string>;
  /** Checks the lines before any is answered, and returns their number. Throws Problem, and the batch has failed. */
  validate?: () => Promise<number>;
  open(line: string): OpenedLine;
  write(label: JsonObject, result: LineResult): JsonObject;
  /** Whether failed requests have a file of their own. */
  splitsErrors?: true;
}

/** A batch. Times are ms since 1970. */
export interface StoredBatch extends Pick<BatchJob, 'about' | 'model' | 'total'> {
  id: string;
  format: GatewayFormatName;
  fault: BatchFault;
  state: 'waiting' | 'running' | 'ended' | 'failed';
  counts: Record<LineEnd, number>;
  created: number;
  canceled?: number;
  ended?: number;
  failure?: Problem;
  results: Spool;
  /** The results of failed requests, if they are apart. */
  errors: Spool;
  /** How often it is not found after its creation. */
  hidden: number;
  stop: AbortController;
  /** Whether it is deleted, or the gateway has closed. */
  isDropped: boolean;
}

/** Answers one request of a batch as it would be answered outside of one. Throws Problem. */
type AnswerLine = (request: GatewayRequest, handle: BodyHandler, body: JsonObject) => Promise<GatewayReply>;

/** How batches are run. */
export interface BatchOptions {
  /** Time from the creation of a batch to its first result, ms. */
  delay: number;
  answer: AnswerLine;
}

/** Creates a batch, which runs in the background from now on. */
export function startBatch(id: string, job: BatchJob, options: BatchOptions): StoredBatch {
  const { request, about, model, total } = job;
  const fault = findFault(model)?.batch ?? {};
  const batch: StoredBatch = {
    id,
    format: request.format.name,
    about,
    model,
    total,
    fault,
    state: 'waiting',
    counts: { succeeded: 0, errored: 0, canceled: 0, expired: 0 },
    created: Date.now(),
    results: createSpool(),
    errors: createSpool(),
    hidden: fault.hiddenReads ?? 0,
    stop: new AbortController(),
    isDropped: false,
  };
  void run(batch, job, options).catch((error: unknown) => {
    batch.failure = toProblem(error, request.format);
    batch.state = 'failed';
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

/** Ends the work on a batch that is not wanted any more. */
export function dropBatch(batch: StoredBatch): void {
  batch.isDropped = true;
  batch.stop.abort();
  batch.results.close();
  batch.errors.close();
}

async function run(batch: StoredBatch, job: BatchJob, options: BatchOptions): Promise<void> {
  const { fault, stop } = batch;
  await pause(options.delay / 2, stop.signal);
  if (job.validate) batch.total = await job.validate();
  batch.state = 'running';
  await pause(fault.isStuck ? longestTimerMs : options.delay / 2, stop.signal);
  let index = 0;
  for await (const line of fault.swapsLines ? swapped(job.lines()) : job.lines()) {
    const opened = job.open(line);
    const result = await runLine(opened, { batch, job, index: index++, answer: options.answer });
    if (batch.isDropped) return;
    batch.counts[result.end]++;
    const bytes = Buffer.from(`${JSON.stringify(job.write(opened.label, result))}\n`);
    const spool = job.splitsErrors && result.end !== 'succeeded' ? batch.errors : batch.results;
    for (let times = fault.doublesResults ? 2 : 1; times > 0; times--) spool.append(bytes);
    // Other callers are answered between two requests of a batch.
    await yieldToEventLoop();
  }
  batch.state = 'ended';
  batch.ended = Date.now();
}

/** Waits until the time is over or the batch is canceled, without keeping the process alive. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.min(ms, longestTimerMs), undefined, { signal, ref: false }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

/** Every second line comes before the one that it follows. */
async function* swapped(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let held: string | undefined;
  for await (const line of lines) {
    if (held !== undefined) yield* [line, held];
    held = held === undefined ? line : undefined;
  }
  if (held !== undefined) yield held;
}

async function runLine(
  { problem, body }: OpenedLine,
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
    const request = { ...job.request, path, query: new URLSearchParams(), left: stop, route: undefined };
    return { end: 'succeeded', status: 200, body: wholeBody(await answer(request, handle, body)) };
  } catch (error) {
    if (stop.signal.aborted) return { ...unsent, end: 'canceled' };
    const shown = toProblem(error, format);
    return { end: 'errored', status: shown.code, body: format.error(shown) };
  }
}

/** The JSON of a reply. What only a connection can do, such as ending early, is an error of the service in a batch. */
function wholeBody({ status, body, head = true, ending }: GatewayReply): JsonObject {
  if (status === 200 && head && ending === undefined && typeof body === 'string') {
    const json = parseIfJson(body);
    if (isObject(json) && (json['error'] ?? null) === null) return json;
  }
  throw new Problem(500, 'An internal error has occurred.');
}

function parseIfJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The line as a JSON object. Throws Problem 400. */
export function parseBatchLine(line: string, details?: ProblemDetails): JsonObject {
  const json = parseIfJson(line);
  if (isObject(json)) return json;
  throw new Problem(400, 'This line is not parseable as valid JSON.', details);
}

/** A name for a batch or a file that cannot be guessed. */
export function randomId(prefix: string, length = 24): string {
  return prefix + randomBytes(length).toString('hex').slice(0, length);
}
