import type { Upload } from '../upload.ts';

/** A body cut where uploads stand: bytes go out as they are, uploads as Base64 of their content. */
export interface RequestBody {
  readonly segments: readonly (Uint8Array | Upload)[];
  /** Content-Length in bytes. */
  readonly bytes: number;
  /** Instead of segments: what is passed on while it comes, and so can be sent once. */
  readonly arriving?: AsyncIterable<Uint8Array> | undefined;
}

/** One HTTP request. A request of the service is a POST with a JSON body, or the GET of a list; a gateway passes others on. */
export interface HttpRequest {
  /** Default `POST`. */
  readonly method?: string | undefined;
  readonly url: URL;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RequestBody;
  /** Those of the headers that the user set: they may choose who answers, so recordings are told apart by them. */
  readonly ownHeaders?: Readonly<Record<string, string>> | undefined;
  /** Which of several answers to the same request is wanted, from 0: recordings give each its own. */
  readonly sample?: number | undefined;
}

/** The head of a reply, and its body as it arrives. Reading on is back-pressure; ending the loop early aborts the request. */
export interface HttpReply {
  readonly status: number;
  /** Lower-case names; repeated headers joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
  /** What it answers, for errors: `POST origin/path`. */
  readonly request?: string | undefined;
  /** When it was recorded, ms since 1970, where it comes from a cache and nothing was sent. */
  readonly recordedAt?: number | undefined;
}

/** What one exchange needs beside its request. */
export interface ExchangeOptions {
  /** Ends the exchange: the user's signal or the total deadline. */
  signal: AbortSignal;
  /** Called just before the first bytes go out: from here on it may be billed. */
  onSent?: (() => void) | undefined;
  /** Redirects and codings are the caller's to judge; by default they end the exchange. */
  acceptsAnyHead?: boolean | undefined;
}

/** Sends one request and waits for the head of its reply. Throws GatewayError: not-sent, no-reply or bad-reply. */
export type Exchange = (request: HttpRequest, options: ExchangeOptions) => Promise<HttpReply>;

/** Connection settings of a transport. */
export interface TransportOptions {
  /** Environment in which the proxy variables are looked up; loopback never goes through a proxy. */
  env: Readonly<Record<string, string | undefined>>;
  /** The URL of a proxy that comes before those of the variables, and who names it: `flag --proxy`. */
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
  /** Connects to addresses of the internet alone. What a proxy connects to is judged by its name. */
  publicOnly?: boolean | undefined;
}

/** Connections to gateways; close it when the last reply is read. */
export interface Transport {
  exchange: Exchange;
  close(): Promise<void>;
}

/** What stands behind a URL, while it comes. */
export interface FetchedInput {
  /** The `content-type` without its parameters, in lower case. */
  mimeType: string | undefined;
  body: AsyncIterable<Uint8Array>;
}

/** Fetches what the user's URLs name. */
export interface InputFetcher {
  /** Throws GatewayError: that of the exchange; usage for a status that is no success, and for a redirect that is not followed. */
  fetch(url: URL, signal: AbortSignal): Promise<FetchedInput>;
  close(): Promise<void>;
}

/** Receives the Base64 text of one long string of a reply, as it arrives. */
export interface Base64Sink {
  /** A returned promise is back-pressure: the next bytes come when it resolves. The bytes are only valid during the call and its promise. */
  write(base64: Uint8Array): void | Promise<void>;
  /** The string is over. Throws GatewayError bad-reply when it was not Base64. */
  end(): void | Promise<void>;
}

/** A long Base64 string that does not stay in the reply. */
export interface DivertedString {
  sink: Base64Sink;
  placeholder: string;
}

/** Where long Base64 strings of a reply go instead of memory. */
export interface Base64Diversion {
  /** Opens the sink of the next string and names the placeholder that stands in its place in the JSON. */
  open(): Promise<DivertedString>;
}
