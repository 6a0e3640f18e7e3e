import type { Signal, Url } from '../client/client-types.ts';
import type { RequestBody } from '../body.ts';

/** One HTTP request. The client sends a POST with a JSON body, or the GET of a list; a gateway passes on any method. */
export interface HttpRequest {
  /** Default `POST`. */
  readonly method?: string | undefined;
  readonly url: Url;
  /** Headers with lower-case names. The header of the key is in its place, with its prefix alone. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RequestBody;
  /** The header for the key; absent if no key is sent. */
  readonly keyHeader?: KeyHeader | undefined;
  /** The base URL that recordings know the gateway by; its origin if there is none. */
  readonly base?: Url | undefined;
  /** The headers that the user set: they may select the model or account, so recordings are distinguished by them. */
  readonly ownHeaders?: Readonly<Record<string, string>> | undefined;
  /** The index of this request among identical ones, from 0: recordings give each its own reply. */
  readonly sample?: number | undefined;
}

/** The header of a key, known before the key is read: `authorization` and `Bearer `. */
export interface KeyHeader {
  readonly name: string;
  readonly prefix: string;
}

/** The head of a reply, and its body as it arrives. Reading applies back-pressure; ending the loop early aborts the request. */
export interface HttpReply {
  readonly status: number;
  /** Lower-case names; repeated headers joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
  /** The request of the reply, for errors: `POST origin/path`. */
  readonly request?: string | undefined;
  /** The time of its recording, ms since 1970, if a recording answers and nothing was sent. */
  readonly recordedAt?: number | undefined;
}

/** A reply whose body is still to be read. */
export interface Answered {
  reply: HttpReply;
  /** Requests that were sent: none if a recording answered. */
  attempts: number;
}

/** The options of one fetch. */
export interface FetchCall {
  /** Ends the fetch: the user's signal or the total deadline. */
  signal: Signal;
  /** Awaited right before a connection is used, but not for a reply from a recording. If it throws, the fetch ends. */
  beforeSend?: (() => Promise<void> | undefined) | undefined;
  /** Called just before the first bytes are sent: from then on the request may be billed. */
  onSent?: (() => void) | undefined;
  /** The caller checks redirects and encodings itself; by default a redirect ends the exchange, and a body is decompressed. */
  acceptsAnyHead?: boolean | undefined;
}

/** Sends one request once and waits for the head of its reply, of any status. Throws GatewayError: not-sent, no-reply or bad-reply. */
export type Fetch = (request: HttpRequest, call: FetchCall) => Promise<HttpReply>;

/** Middleware around a fetch: it may answer in its place, or look at requests and replies. */
export type FetchWrapper = (next: Fetch) => Fetch;

/** The limits of the user. */
export interface RetryPolicy {
  /** Attempts after the first one. */
  retries: number;
  /** Limit of all waits together, in ms. */
  maxWaitMs: number;
  /** Repeats only requests that were certainly not billed. */
  safeOnly: boolean;
  /** Repeats only requests that were certainly not done: 503 can come from a proxy whose service goes on. */
  undoneOnly?: boolean | undefined;
  /** Attempts after the first one while the gateway says that it is busy, if more than `retries`. */
  busyRetries?: number | undefined;
}

export interface ConnectionOptions {
  /** Environment with the proxy variables; a proxy is never used for loopback. */
  env: Readonly<Record<string, string | undefined>>;
  /** The URL of a proxy that takes precedence over the variables, and its source: `flag --proxy`. */
  proxy?: { value: string; from: string } | undefined;
  /** Trusts the authorities of the system's certificate store too. */
  systemCa?: boolean | undefined;
  /** PEM texts. */
  ca?: string | undefined;
  clientCert?: string | undefined;
  clientKey?: string | undefined;
  /** Connect timeout in ms (default 10 s). */
  connectTimeoutMs?: number | undefined;
  /** Longest silence inside a body in ms (default 120 s). */
  idleTimeoutMs?: number | undefined;
}

/** Connections to gateways; close it after the last reply was read. */
export interface Connection {
  fetch: Fetch;
  close(): Promise<void>;
}

/** The content of a URL, as it arrives. */
export interface FetchedInput {
  /** The `content-type` without its parameters, in lower case. */
  mimeType: string | undefined;
  body: AsyncIterable<Uint8Array>;
}

/** Fetches the inputs that the user named by URL. */
export interface InputFetcher {
  /** Throws GatewayError: the error of the fetch; usage for a status other than 200 and for a redirect that is not followed. */
  fetch(url: URL, signal: AbortSignal): Promise<FetchedInput>;
  close(): Promise<void>;
}
