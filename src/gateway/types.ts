import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Threads } from './messages/threads.ts';
import type { ServiceRules } from './service.ts';

/** The two request formats; they differ in every error body. */
export type Format = 'content' | 'messages';

/** The operations of the specification, what clients ask beside them, and `other` for all else that is passed on. */
export type Operation =
  | 'generate'
  | 'stream-generate'
  | 'count-content'
  | 'messages'
  | 'count-message'
  | 'models'
  | 'other';

/** How the caller showed its key. */
export type KeyForm = 'vendor-key' | 'bearer' | 'x-api-key' | 'query';

/** What the headers of a caller say of it. */
export interface CallerForm {
  keyForm: KeyForm | undefined;
  /** Of the messages format. */
  version: string | undefined;
}

/** One request that passed the gates: host, route, key, content type. Its body is still to be read. */
export interface Call extends CallerForm {
  format: Format;
  operation: Operation;
  method: string;
  /** The path's model; undefined where the path names none, as in the messages format. */
  model: string | undefined;
  /** Path with query, as it came. */
  target: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** The body as it comes, for who passes it on; either this or `readBody` is used. */
  body: Readable;
  /** Its length in bytes; undefined where the caller does not say. */
  length: number | undefined;
  /** The whole body, once there is room for it; throws Problem 413 past the limit. */
  readBody(): Promise<Buffer>;
  /** Its signal aborts when the caller leaves before the reply is complete; it is made when it is first asked for. */
  left: { readonly signal: AbortSignal };
}

/** How a reply's connection ends: properly, in the middle of the body, or by a reset. */
type Ending = 'end' | 'cut' | 'reset';

/** A reply on its way to the caller. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
  /** Bytes of a body whose pieces take their time. */
  length?: number | undefined;
  /** `end` unless a fault wants otherwise. */
  ending?: Ending;
  /** Whether the head is sent at all; false only for faults. */
  head?: boolean;
  /** The model that answered, for the log. */
  model?: string | undefined;
  /** What the log says beside it. */
  note?: string | undefined;
}

/** Answers calls: the offline models, an upstream gateway, a recording. Throws Problem for what the caller did wrong. */
export type Answerer = (call: Call) => Promise<Reply>;

/** What the log learns of one request; never a header, a query or a body. */
export interface LogEntry {
  method: string;
  path: string;
  status: number;
  model: string | undefined;
  durationMs: number;
  /** Body bytes sent. */
  bytes: number;
  /** Why it was refused, or how it ended early. */
  note: string | undefined;
}

/** The real names behind vendor-a's key header and vendor-b's version header. */
export interface ServedHeaderNames {
  apiKey?: string | undefined;
  version?: string | undefined;
}

/** Keys and indexes from a body down to a value. */
export type Path = readonly (string | number)[];

/**
 * What happens to fields, values and block types that are not known. `lenient` leaves them out, `strict` refuses them as the
 * services do, `spec` also refuses what clients send beyond the specification.
 */
export type Level = 'lenient' | 'strict' | 'spec';

/** How a body is read. */
export interface Reading {
  level: Level;
  /** Told of what a lenient reading leaves out. */
  leftOut(path: Path): void;
}

/** What an offline model knows of a request beside its body. */
export interface RequestContext {
  reading: Reading;
  /** Whether a local model answers for a vendor's. */
  fallback: boolean;
  /** The service that is played. */
  rules: ServiceRules | undefined;
  threads: Threads;
  /** Adds to what the log says of the request. */
  note(text: string): void;
  /** Wait before each delta of a stream, ms. */
  pace: number;
  /** Made from the request's bytes alone: equal requests get equal ids. */
  id: string;
  /** How often the same request was answered before, where each of them gets a picture of its own; else 0. */
  variant: number;
  /** Counts one more attempt at a fault model. */
  attempt(stream: boolean): Attempt;
}

/** One request to a fault model. */
export interface Attempt {
  /** How often the same request came before. */
  count: number;
  format: Format;
  /** Whether the reply is a stream. */
  stream: boolean;
  /** The wait of the slow faults, ms. */
  delay: number;
  /** Its signal aborts when the caller leaves. */
  left: { readonly signal: AbortSignal };
}

/** What whoever starts the gateway calls these options; replies say them. */
export interface OptionNames {
  specOnly: string;
  headerNames: string;
  hosts: string;
  origins: string;
}
