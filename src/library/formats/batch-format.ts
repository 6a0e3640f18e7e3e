import { field, isObject, type JsonObject, type JsonValue, listField, textField } from '../json.ts';
import type { Body } from '../body.ts';
import type { FormatName } from './types.ts';

/** A GET, or with a body a POST, below a base URL. */
interface BatchCall {
  path: string;
  query?: string;
  body?: Body;
}

/** The state of a batch as a service tells it. An absent value was not told. */
export interface BatchInfo {
  /** The id in the form that the paths of the service take. */
  id: string;
  /** The mark that it was created with, if the service lists it. */
  mark?: string | undefined;
  /** The batch goes no further: its results so far can be read. */
  hasEnded: boolean;
  /** The service's own word, such as `in_progress` or `expired`. */
  status: string;
  /** The reason that no request of the batch was done, in the service's words. */
  failure?: string | undefined;
  /** Number of requests that have ended, and of all requests. */
  done?: number | undefined;
  /** Requests that have an answer, which is billed. */
  succeeded?: number | undefined;
  total?: number | undefined;
  /** ms since 1970, by the clock of the service. */
  createdAt?: number | undefined;
  expiresAt?: number | undefined;
  /** The files of the results: lines of JSON. Only a batch that has ended has results. */
  results: readonly ResultPlace[];
}

export type ResultPlace = { path: string; query?: string };

/** The outcome of one request of a batch. `body` of an error is the body that its reply would have had. */
export type BatchOutcome =
  | { kind: 'succeeded'; body: JsonObject }
  | { kind: 'errored'; status: number | undefined; body: JsonValue }
  | { kind: 'cancelled' | 'expired'; message?: string | undefined };

/** One result: `entry` is the name of its entry. `outcome` is undefined if its shape is not documented by the service. */
export interface BatchResult {
  entry: string;
  outcome: BatchOutcome | undefined;
}

/** A page of batches, the newest first. */
export interface BatchPage {
  batches: BatchInfo[];
  next: string | undefined;
}

/** The values that a batch is created from. */
export interface BatchParts {
  mark: string;
  model: string;
  /** The path of its requests. */
  path: string;
}

/** The batch API of a format, as pure functions: they write its requests and read its replies. */
export interface BatchFormat {
  name: FormatName;
  /** The most that one batch can hold. */
  bounds: { count: number; bytes: number };
  /** The path of a request in a batch, if a stream has another one. */
  pathOf?(path: string): string;
  /** A request as an entry of a batch: `name` comes back with its result. */
  entry(name: string, post: { path: string; body: Body }): Body;
  /** A batch that is created by one request: its path, and the text around the entries. Undefined: these are uploaded first. */
  inline?: { path: string; head: string; tail: string };
  /** A batch whose entries are uploaded first, one a line. */
  byFile?: {
    upload: 'form' | 'resumable';
    /** The path that the file is uploaded to. */
    files: string;
    create(parts: BatchParts, file: string): BatchCall;
    /** The name of an uploaded file; undefined if the reply names none. */
    fileOf(reply: JsonObject): string | undefined;
  };
  retrieve(id: string): BatchCall;
  cancel(id: string): BatchCall;
  list(page?: string): BatchCall;
  /** Reads a batch; undefined if the reply has none. */
  readBatch(reply: JsonObject): BatchInfo | undefined;
  readPage(reply: JsonObject): BatchPage | undefined;
  readResult(line: JsonValue): BatchResult | undefined;
}

/** Apart from the other facts of a format: the library has no batch API. */
const loaders: Readonly<Record<FormatName, () => Promise<BatchFormat>>> = {
  content: async () => (await import('./content/batch.ts')).contentBatch,
  messages: async () => (await import('./messages/batch.ts')).messagesBatch,
  completions: async () => (await import('./completions/batch.ts')).completionsBatch,
  // OpenAI's batch API is the same for each of its operations.
  responses: async () => ({ ...(await import('./completions/batch.ts')).completionsBatch, name: 'responses' }),
};

/** The batch API of a format. */
export function loadBatchFormat(name: FormatName): Promise<BatchFormat> {
  return loaders[name]();
}

/** A time in ms since 1970: a text as in `2026-11-25T01:00:00Z`, or seconds. */
export function timeField(object: JsonObject, name: string): number | undefined {
  const value = field(object, name);
  if (typeof value === 'number') return value * 1000;
  const time = typeof value === 'string' ? Date.parse(value) : NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** A count, which proto3 JSON writes as a text. */
export function readBatchCount(object: JsonObject, name: string): number | undefined {
  const value = field(object, name);
  const count = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}

/** The sum of the counts of these names; undefined if none is there. */
export function sumBatchCounts(object: JsonObject, ...names: string[]): number | undefined {
  const counts = names.map((name) => readBatchCount(object, name)).filter((count) => count !== undefined);
  return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0);
}

/** Whether an id of a reply can be a segment of a path, as `segment` writes it. */
export function isPlainId(id: string): boolean {
  return /^(?!\.{1,2}$)[\x21-\x7e]{1,500}$/.test(id);
}

/** An id as a segment of a path and nothing more. */
export const segment = encodeURIComponent;

/** The operations of an API that lists its batches in pages, each after the last batch of the page before. */
export function pagedBatches(
  base: string,
  after: string,
  readBatch: BatchFormat['readBatch'],
): Pick<BatchFormat, 'retrieve' | 'cancel' | 'list' | 'readBatch' | 'readPage'> {
  return {
    retrieve: (id) => ({ path: `${base}/${segment(id)}` }),
    cancel: (id) => ({ path: `${base}/${segment(id)}/cancel`, body: {} }),
    list(page) {
      const query = new URLSearchParams({ limit: '100', ...(page !== undefined && { [after]: page }) });
      return { path: base, query: query.toString() };
    },
    readBatch,
    readPage(reply) {
      const data = listField(reply, 'data');
      if (data === undefined) return undefined;
      const batches = data.flatMap((item) => (isObject(item) && readBatch(item)) || []);
      const hasMore = reply['has_more'] === true;
      const next = hasMore ? (textField(reply, 'lastId') ?? batches.at(-1)?.id) : undefined;
      return { batches, next };
    },
  };
}
