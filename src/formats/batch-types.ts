import type { JsonObject, JsonValue } from '../json.ts';
import type { Body } from '../body.ts';
import type { FormatName } from './types.ts';

/** A GET, or with a body a POST, below a base URL. */
interface BatchCall {
  path: string;
  query?: string;
  body?: Body;
}

/** What one batch holds at most. */
interface BatchBounds {
  count: number;
  bytes: number;
}

/** The text around and between the entries of a batch. */
interface BatchFrame {
  head: string;
  separator: string;
  tail: string;
}

/** How a service says where a batch is. Absent: it does not say. */
export interface BatchInfo {
  /** As the paths of the service take it. */
  id: string;
  /** The mark that it was created with, if the service lists it. */
  mark?: string | undefined;
  /** It goes no further: what there is of results can be read. */
  hasEnded: boolean;
  /** The service's own word, such as `in_progress` or `expired`. */
  status: string;
  /** Why nothing of it was done, in the service's words. */
  failure?: string | undefined;
  /** Requests that have ended, and all of them. */
  done?: number | undefined;
  total?: number | undefined;
  /** ms since 1970, by the clock of the service. */
  createdAt?: number | undefined;
  expiresAt?: number | undefined;
  /** Where its results are: lines of JSON, or items of an array in one JSON. Only of a batch that has ended. */
  results: readonly ResultPlace[];
}

/** `items`: the key of the array, and the top-level keys that it is below. */
export type ResultPlace = { path: string; query?: string; items?: { key: string; below: readonly string[] } };

/** How one request of a batch ended. `body` of an error is what its reply would have held. */
export type BatchOutcome =
  | { kind: 'succeeded'; body: JsonObject }
  | { kind: 'errored'; status: number | undefined; body: JsonValue }
  | { kind: 'cancelled' | 'expired'; message?: string | undefined };

/** One result: `key` is that of its entry. `outcome` is undefined if it has another shape than the service documents. */
export interface BatchResult {
  key: string;
  outcome: BatchOutcome | undefined;
}

/** A page of batches, the newest first. */
export interface BatchPage {
  batches: BatchInfo[];
  next: string | undefined;
  /** Whether all batches of it could be read, and the place of the next page. */
  isWhole: boolean;
}

/** What a batch is created of. */
export interface BatchParts {
  mark: string;
  model: string;
  /** The path of its requests. */
  path: string;
}

/** The batch API of a format, as pure functions: what is sent, and what replies mean. */
export interface BatchFormat {
  name: FormatName;
  bounds: BatchBounds;
  /** The path of a request in a batch, where a stream has another one. */
  pathOf?(path: string): string;
  /** One request as it is in a batch: `key` comes back with its result. */
  entry(key: string, post: { path: string; body: Body }): Body;
  /** A batch that is created by one request with all of its entries. Undefined: they are uploaded first. */
  inline?: {
    /** A larger batch is uploaded, where the service takes files. */
    maxBytes: number;
    path(parts: BatchParts): string;
    frame(parts: BatchParts): BatchFrame;
  };
  /** A batch whose entries are uploaded first, one a line. */
  byFile?: {
    upload: 'form' | 'resumable';
    /** Where it is uploaded to. */
    files: string;
    /** The line of an entry. */
    line(entry: string): string;
    create(parts: BatchParts, file: string): BatchCall;
    /** The name of an uploaded file; undefined if the reply names none. */
    fileOf(reply: JsonObject): string | undefined;
  };
  /** Where results can be in what the service says of batches: they are passed over there. */
  held?: ResultPlace['items'];
  retrieve(id: string): BatchCall;
  cancel(id: string): BatchCall;
  list(page?: string): BatchCall;
  /** Undefined if it is not a batch. */
  readBatch(reply: JsonObject): BatchInfo | undefined;
  readPage(reply: JsonObject): BatchPage | undefined;
  readResult(line: JsonValue): BatchResult | undefined;
}
