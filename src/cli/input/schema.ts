import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import {
  GatewayError,
  getErrorMessage,
  isObject,
  jsonFaultWords,
  type JsonValue,
  parseFlat,
  usageError,
} from '../../library/index.ts';
import { shippedThread } from '../shipped.ts';
import { findJson } from './find-json.ts';
import type { SchemaQuestion, SchemaReport } from './schema-worker.ts';

/** The JSON of an answer that fits a schema. */
export interface CheckedAnswer {
  /** The JSON text in the answer. */
  json: string;
  value: JsonValue;
}

/** Checks an answer against a JSON Schema. Throws GatewayError incomplete, or the reason of the signal. */
export type SchemaCheck = (answer: string, signal: AbortSignal) => Promise<CheckedAnswer>;

/**
 * Time limit of one check, in ms. A pattern such as `^(a+)+$`, a choice between branches that contain themselves and the
 * comparison of all items can each take years.
 */
const longestCheckMs = 10_000;

/** Time for which a check goes on after the command's time is over: in a batch it may have waited behind a check that does not end. */
const lateCheckMs = 3000;

/** The limit before anything is paid is longer: the thread may have to start, and the machine can be busy. */
const longestCompileMs = 30_000;

/** Compiles a JSON Schema of the user. Throws GatewayError usage if it is not valid, or takes too long; the reason of the signal. */
export async function compileSchema(
  schema: JsonValue,
  { limitMs = longestCheckMs, signal }: Partial<Limits> = {},
): Promise<SchemaCheck> {
  if (!isObject(schema)) throw usageError('--schema: a JSON Schema is an object', 'it begins with { and ends with }');
  const text = JSON.stringify(schema);
  const { invalid, late } = await checkInThread({ schema: text }, { limitMs: longestCompileMs, signal });
  const hint = 'check it against https://json-schema.org';
  if (invalid !== undefined) throw usageError(`--schema: ${invalid}`, hint);
  if (late) throw usageError(`--schema: it could not be compiled: ${late}`, 'give a simpler one');
  return (answer, ending) => checkAgainstSchema(answer, text, { limitMs, lateMs: lateCheckMs, signal: ending });
}

/** The faults of a value by one of our own schemas: `/count must be integer`. Throws GatewayError not-sent if the check failed. */
export async function findFaults(schema: object, value: JsonValue): Promise<string[]> {
  const question = { schema: JSON.stringify(schema), json: JSON.stringify(value) };
  const { faults = [], late } = await checkInThread(question, { limitMs: longestCompileMs });
  if (late) throw new GatewayError('not-sent', `the arguments cannot be checked: ${late}`, { sent: 'no' });
  return faults;
}

async function checkAgainstSchema(answer: string, schema: string, limits: Limits): Promise<CheckedAnswer> {
  const found = findJson(answer);
  if (found.length === 0) throw schemaFailure(`the answer is not JSON: ${jsonFaultWords(answer)}`);
  const fitting: CheckedAnswer[] = [];
  let faults: string[] = [];
  for (const json of found) {
    const report = await checkInThread({ schema, json }, limits);
    if (report.late) throw notChecked(report.late);
    faults = report.faults ?? [];
    if (faults.length === 0) fitting.push({ json, value: parseFlat(json) as JsonValue });
  }
  const [first, second] = fitting;
  if (second) throw schemaFailure(`the answer holds ${fitting.length} documents that fit the schema`);
  if (first) return first;
  throw schemaFailure(
    `the answer does not fit the schema: ${faults.join('; ')}`,
    'say the shape in the prompt too, or try another --model',
  );
}

function schemaFailure(message: string, hint?: string): GatewayError {
  return new GatewayError('incomplete', message, { hint, sent: 'yes', retryable: true });
}

/** The error cannot be retried: the check of the same answer would take as long again. */
function notChecked(why: string): GatewayError {
  return new GatewayError('incomplete', `the answer was not checked against the schema: ${why}`, {
    hint: 'give a simpler schema: without patterns that repeat themselves, branches that hold themselves, uniqueItems',
    sent: 'yes',
    retryable: false,
  });
}

interface Limits {
  limitMs: number;
  /** Time in ms for which the check goes on after a signal of the time limit, which then is no error; by default it ends at once. */
  lateMs?: number;
  signal?: AbortSignal | undefined;
}

/** The report of the thread. `late`: the reason that there is none. */
type ThreadReport = SchemaReport & { late?: string };

/** One thread checks all answers of the process, one after the other. */
let thread: Worker | undefined;
let last: Promise<unknown> = Promise.resolve();

function checkInThread(question: SchemaQuestion, limits: Limits): Promise<ThreadReport> {
  const report = last.then(() => checkNow(question, limits));
  last = report.catch(() => undefined);
  return report;
}

/** Asks the thread, and ends it if it does not answer in time: nothing else stops a regular expression. */
async function checkNow(question: SchemaQuestion, { limitMs, lateMs, signal }: Limits): Promise<ThreadReport> {
  const mayWait = (): boolean => lateMs !== undefined && signal !== undefined && isTimeoutReason(signal);
  const end = new AbortController();
  const stopThread = (): void => end.abort();
  let timer = setTimeout(stopThread, limitMs);
  const endSoon = (): void => {
    clearTimeout(timer);
    if (mayWait()) timer = setTimeout(stopThread, Math.min(limitMs, lateMs ?? 0));
    else stopThread();
  };
  if (signal?.aborted) endSoon();
  else signal?.addEventListener('abort', endSoon, { once: true });
  const [file, options] = shippedThread('dist/cjs/schema-worker.js');
  const worker = (thread ??= new Worker(file, options));
  // The thread keeps the process alive only while an answer is awaited.
  worker.ref();
  try {
    const answered = once(worker, 'message', { signal: end.signal }) as Promise<[SchemaReport]>;
    worker.postMessage(question);
    const [report] = await answered;
    worker.unref();
    return report;
  } catch (error) {
    thread = undefined;
    void worker.terminate();
    if (signal?.aborted && !mayWait()) throw signal.reason;
    if (end.signal.aborted && signal?.aborted) return { late: 'the time of the command was over' };
    if (end.signal.aborted) return { late: `it took longer than ${limitMs / 1000} s` };
    return { late: error instanceof RangeError ? 'it is too deep' : getErrorMessage(error) };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', endSoon);
  }
}

function isTimeoutReason({ reason }: AbortSignal): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError';
}
