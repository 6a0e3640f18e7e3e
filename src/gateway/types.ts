import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Format, FormatName } from './format.ts';
import type { Route } from './http/route.ts';
import type { Threads } from './messages/threads.ts';
import type { ServiceRules } from './service.ts';

/** The form in which the caller sent its key. */
export type KeyForm = 'vendor-key' | 'bearer' | 'x-api-key' | 'query';

/** What the headers of a caller say of it. */
export interface CallerForm {
  keyForm: KeyForm | undefined;
  /** Of the messages format. */
  version: string | undefined;
}

/** One request that passed the checks of host, route, key and content type. Its body is not read yet. */
export interface GatewayRequest extends CallerForm {
  /** Undefined for a path that only an upstream gateway may know. */
  route: Route | undefined;
  format: Format;
  method: string;
  /** The path's model; undefined where the path names none. */
  model: string | undefined;
  /** Path with query, as it came. */
  target: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** The body as it comes, to be passed on; either this or `readBody` is used. */
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

/** Answers requests: the offline models, an upstream gateway, a recording. Throws Problem for a mistake of the caller. */
export type Handler = (request: GatewayRequest) => Promise<Reply>;

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

/** How a body is checked. */
export interface ValidationMode {
  level: Level;
  /** Called with each path that a lenient check leaves out. */
  leftOut(path: Path): void;
}

/** What an offline model knows of a request beside its body. */
export interface RequestContext {
  mode: ValidationMode;
  /** Whether a local model answers for a vendor's. */
  fallback: boolean;
  /** The service whose behaviour is imitated. */
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
  format: FormatName;
  /** Whether the reply is a stream. */
  stream: boolean;
  /** The wait of the slow faults, ms. */
  delay: number;
  /** Its signal aborts when the caller leaves. */
  left: { readonly signal: AbortSignal };
}

/** How the program that starts the gateway calls these options; replies name them. */
export interface OptionNames {
  specOnly: string;
  headerNames: string;
  hosts: string;
  origins: string;
}
