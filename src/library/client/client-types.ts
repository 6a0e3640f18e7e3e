import type { StreamDelta } from '../formats/events.ts';
import type { AnyApiRequest } from '../formats/format.ts';
import type { JsonOptions, PlainFields } from '../formats/request-fields.ts';
import type { AuthUse, FormatName } from '../formats/types.ts';
import type { Certainty } from '../errors.ts';
import type { Connection, FetchWrapper, HttpRequest } from '../transport/types.ts';
import type { CallEvent, ClientEvent, Listener } from './events.ts';
import type { ListOptions, ModelList } from './free-requests.ts';
import type { Memory } from './memory.ts';
import type { Payments } from './payment.ts';
import type { AskOptions, Performed, PreparedRequest } from './ask.ts';
import type { Exchange, SendOptions } from './send.ts';
import type { Result } from './result.ts';
import type { AuthForm, ServiceName, Use } from '../vendors/services.ts';
import type { JsonObject } from '../json.ts';

/** The URL of the platform, if its types are loaded (DOM or Node); otherwise the members that are needed. */
export type Url = typeof globalThis extends { URL: { prototype: infer Known } } ? Known : { readonly href: string };

/** The AbortSignal of the platform, if its types are loaded (DOM or Node); otherwise the members that are needed. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Known } }
  ? Known
  : { readonly aborted: boolean; readonly reason: unknown; throwIfAborted(): void };

/** A gateway, and how requests to it are made. Nothing is read from the environment or from files unless it is named here. */
export interface ClientOptions {
  /** A vendor's public service: its base URL, headers and forms of authentication, which the fields below change. */
  service?: ServiceName | undefined;
  /** The wire format of `generate`, `stream` and `generateImages`; by default that of the service. */
  format?: FormatName | undefined;
  /**
   * The base URL, with its path prefix if it has one, without `/v1` or `/v1beta` for the content and messages formats. A service
   * with a host of its own needs none.
   */
  baseUrl?: string | { readonly href: string } | undefined;
  /** The API key. Without it, requests go out unauthenticated. A function is called once, at the first request. */
  apiKey?: string | (() => string | Promise<string>) | undefined;
  /** One form for all operations, or one for each. */
  auth?: AuthForm | { [use in AuthUse]?: AuthForm } | undefined;
  /** The real names of vendor-a's key header and vendor-b's version header; by default those of the service. */
  headerNames?: { apiKey?: string | undefined; version?: string | undefined } | undefined;
  /** Further headers of every request. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Send the key over plain http to another host than this one. */
  allowHttp?: boolean | undefined;
  /** ms for a whole call, retries and waits included; 600000 by default. Images need 120000 or more. */
  timeoutMs?: number | undefined;
  /** Number of attempts after the first; 2 by default. A request that was sent and never answered is not repeated. */
  retries?: number | undefined;
  /** ms of waiting between attempts in all; 60000 by default. */
  retryMaxWaitMs?: number | undefined;
  /** Repeats only requests that were certainly not billed. */
  retrySafeOnly?: boolean | undefined;
  /**
   * The environment with HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY and NODE_EXTRA_CA_CERTS, such as `process.env`; empty by
   * default.
   */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** `http://host:port`: replaces the proxies of `env`, whose NO_PROXY counts; never used for loopback. */
  proxy?: string | undefined;
  /** Trust the system's certificate store too; Node 22.15, 23.10, 24 or later can. */
  systemCa?: boolean | undefined;
  /** PEM of further certificate authorities. */
  ca?: string | undefined;
  /** PEM; together with `clientKey`. */
  clientCert?: string | undefined;
  /** PEM; together with `clientCert`. */
  clientKey?: string | undefined;
  /** An open connection in place of the client's own: several clients can share it, and `close` leaves it open. */
  connection?: Pick<Connection, 'fetch'> | undefined;
  /**
   * Functions around the connection, inside the retries, the first outermost: one may answer in place of the connection. They see
   * every attempt, and never the key.
   */
  wrappers?: readonly FetchWrapper[] | undefined;
  /** Pays for requests to models. */
  payments?: Payments | undefined;
  /** The lessons and lists that an earlier client of the same base URL had of the service. By default the client has a memory of its own. */
  memory?: Memory | undefined;
  /** Gets every event of the client, but for the events of calls that have a listener of their own. */
  onEvent?: Listener<ClientEvent> | undefined;
  /** The model that a request asks once if its own refuses and nothing was billed: with 429, 503 or 529 after the retries, or if it is gone. */
  fallback?: string | undefined;
}

/** The circumstances for which a request is prepared. */
export interface PrepareOptions
  extends Pick<SendOptions, 'signal' | 'timeoutMs' | 'deadline'>, Pick<CallOptions, 'format' | 'fallback'> {
  /** The use of the request: `text` by default. */
  use?: Use | undefined;
  /** Asks for a reply in pieces. */
  stream?: boolean | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /** The wire format, instead of the client's. */
  format?: FormatName | undefined;
  /** Ends the call at once; it rejects with the signal's reason. */
  signal?: Signal | undefined;
  /** ms, instead of the client's. */
  timeoutMs?: number | undefined;
  /** Gets the events of the requests of this call, in place of the client's own listener. */
  onEvent?: Listener<CallEvent> | undefined;
  /** Reject an answer that the token limit cut. */
  requireComplete?: boolean | undefined;
  /**
   * Some services end a long answer in the middle (`CONTINUATION`, `pause_turn`), and another request goes on with it. The
   * maximum number of requests for one answer; 10 by default. Each is billed. If the end is not reached, the call rejects with
   * class `incomplete`.
   */
  maxTurns?: number | undefined;
  /** The other model, instead of the client's. */
  fallback?: string | undefined;
}

/** A call whose images go to files. */
export interface FolderOptions extends CallOptions {
  /** The folder of the images, which become `image-1.png` and so on; no file is replaced. It is made if its parent exists. */
  folder: string;
}

/** An image or file to send: its bytes, or a file that is read while it is sent. The type comes from the bytes unless it is given. */
export type MediaInput = Uint8Array | { path: string } | { data: Uint8Array; mimeType: string };

/** A request in the words of no format. A field that the format lacks is refused before anything is sent. */
export interface AskRequest extends PlainFields, JsonOptions {
  model: string;
  /** Earlier turns of `user` and `assistant`; their blocks are those of `Message`. The system's text goes into `system`. */
  turns?: readonly Message[] | undefined;
  /** Images, and files with their type. */
  media?: readonly MediaInput[] | undefined;
  /** A mask for `generateImages` with media: a PNG as large as the first image. Only its transparent part may change. */
  mask?: MediaInput | undefined;
}

/** An image of a reply. */
export interface Picture {
  /** The type that the bytes show, whatever the gateway declared. */
  mimeType: string;
  /** The extension without the dot. */
  extension: string;
  /** Pixels, if the header of the file has them. */
  width: number | undefined;
  height: number | undefined;
  bytes: number;
  /** Lower-case hex. */
  sha256: string;
  /** Index of the candidate that it came with. */
  candidate: number;
}

/** An image in memory. */
export interface MemoryPicture extends Picture {
  data: Uint8Array;
}

/** An image in a file. */
export interface FilePicture extends Picture {
  /** The absolute path. */
  path: string;
}

/** One reply, whatever its format. An absent value was not in the reply. */
export interface Reply<Image extends Picture = MemoryPicture> extends Omit<Result, 'images' | 'files'> {
  images: Image[];
  /** Audio, documents and other files that are not images; absent if none came. */
  files?: Image[];
  /** Pictures that the text only links to: URLs, which a client does not fetch; absent if there are none. */
  links?: string[];
  /** Number of requests that were sent for the answer, retries included. */
  attempts: number;
  /** Time of the whole call, in ms. */
  durationMs: number;
}

/** The deltas of a streamed answer, as they arrive. Leaving the loop ends the request. */
export interface MessageStream extends AsyncIterable<StreamDelta> {
  /** The whole reply: after the loop, or instead of it. Rejects with the error that ended the stream. */
  reply(): Promise<Reply>;
  /** The parts that came so far: at any time, also after an abort, whose reason has no facts of the call. */
  received(): Received;
}

/** The parts of a streamed call that came, however it ended. */
export interface Received {
  /** The text of the first candidate, as far as it was read. */
  readonly text: string;
  /** Number of requests that were sent, retries included. */
  readonly attempts: number;
  readonly sent: Certainty;
  /** Whether the call was billed: `unknown` after a request was sent that nobody answered. */
  readonly billed: Certainty;
}

/** Sends requests that are ready to a gateway. Connections are kept between requests. */
export interface Sender {
  /**
   * Sends a request that is ready, and reads its reply; the deltas of one arriving chunk come together. Returns the reply so far,
   * with the error of an answer that is not whole. The caller judges whether a whole reply has the requested result.
   */
  ask(request: PreparedRequest, options?: AskOptions): AsyncGenerator<StreamDelta[], Performed>;
  /**
   * Sends a request, with retries, and leaves its reply to be read. The request comes back as it was sent, by which its reply is
   * read. A status other than 2xx is thrown as the error that it means.
   */
  send(request: AnyApiRequest, options?: SendOptions): Promise<Exchange>;
  /** The HTTP request that `send` would send, without its key. Throws GatewayError usage for a URL that the key must not go to. */
  address(request: AnyApiRequest): HttpRequest;
  /** The models that the service lists in a format. */
  listModels(format: FormatName, options?: ListOptions): Promise<ModelList>;
  /** Counts the input tokens of a request at the service, which is free. Undefined if the service cannot. */
  countTokens(request: PreparedRequest, options?: SendOptions): Promise<number | undefined>;
  /** The most input tokens of the model of a request, if the service says so. */
  contextWindow(request: PreparedRequest, options?: SendOptions): Promise<number | undefined>;
  /** Ends every connection. */
  close(): Promise<void>;
}

/**
 * A gateway's client. Every call rejects with a GatewayError, with a ResponseError if the reply lacks the requested result, or
 * with the reason of its signal.
 */
export interface Client extends Sender {
  /** Text or anything else, in the format of the service or in the one that is named. */
  generate(request: AskRequest, options?: CallOptions): Promise<Reply>;
  /** Like `generate`, streamed; nothing is sent before the first delta is requested. */
  stream(request: AskRequest, options?: CallOptions): MessageStream;
  /** Images from a prompt, or from `media` and an instruction; at least one, or it rejects with class `no-result`. */
  generateImages(request: AskRequest, options: FolderOptions): Promise<Reply<FilePicture>>;
  generateImages(request: AskRequest, options?: CallOptions): Promise<Reply>;
  /**
   * Prepares a call as a value: `address` shows it, `ask` sends it. Files of its media are opened, and its `close` removes copies
   * of those that can be read only once. Throws GatewayError usage.
   */
  prepare(request: AskRequest, options?: PrepareOptions): Promise<PreparedRequest & { close(): Promise<void> }>;
}

/** One of the listed values, or any other string: gateways get new values. */
export type Known<Value extends string> = Value | (string & Record<never, never>);

/** The reason that an answer ended: the stop reason or finish reason, in the format's own word. */
export type StopReason = Known<
  | 'end_turn'
  | 'max_tokens'
  | 'stop_sequence'
  | 'tool_use'
  | 'pause_turn'
  | 'refusal'
  | 'model_context_window_exceeded'
  | 'STOP'
  | 'MAX_TOKENS'
  | 'SAFETY'
  | 'RECITATION'
  | 'PROHIBITED_CONTENT'
  | 'BLOCKLIST'
  | 'SPII'
  | 'LANGUAGE'
  | 'OTHER'
>;

/** A turn of the messages format. */
export interface Message {
  readonly role: Known<'user' | 'assistant' | 'system'>;
  readonly content: string | readonly ContentBlock[];
}

/** A part of a turn. Any interface with a `type` fits, and so does a block that came in `reply.content`. */
export type ContentBlock =
  | TextBlock
  | MediaBlock
  | ToolUseBlock
  | ToolResultBlock
  | { readonly type: string }
  | JsonObject;

export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
}

/** An image, or a document such as a PDF file. */
export interface MediaBlock {
  readonly type: 'image' | 'document';
  readonly source: object;
  readonly title?: string | undefined;
}

/** The call of a tool, as the model made it. */
export interface ToolUseBlock {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: object;
}

/** The result of a tool for one call. */
export interface ToolResultBlock {
  readonly type: 'tool_result';
  readonly tool_use_id: string;
  readonly content?: string | readonly ContentBlock[] | undefined;
  readonly is_error?: boolean | undefined;
}
