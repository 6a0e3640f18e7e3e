import type { IncomingHttpHeaders } from 'node:http';
import type { Route } from './routes.ts';
import type { ServiceRules } from './service.ts';
import type { JsonObject, JsonValue, Size } from '../library/index.ts';
import type { Breach } from './fields/rule.ts';
import type { LocalModel } from './models/local.ts';
import type { Fault } from './faults/table.ts';
import type { ResponseStore } from './responses/store.ts';
import type { ModelAnswer, Candidate, TextTask } from './models/task.ts';
import type { Problem } from './problem.ts';

/** The form in which the caller sent its key. */
export type KeyForm = 'vendor-key' | 'bearer' | 'x-api-key' | 'query';

/** A request that passed the checks of host, route, key and content type. Its body is not read yet. */
export interface GatewayRequest {
  keyForm: KeyForm | undefined;
  /** Undefined for a path that only an upstream gateway may know. */
  route: Route | undefined;
  format: GatewayFormat;
  method: string;
  /** The id in the path: of a model, a batch, a file or a kept response; undefined if the path has none. */
  pathId: string | undefined;
  /** The path as it came. */
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** The whole body; throws Problem 413 past the limit. */
  readBody(): Promise<Buffer>;
  /** Aborts when the caller leaves before the reply is complete. */
  left: AbortSignal;
}

/** A reply on its way to the caller. */
export interface GatewayReply {
  status: number;
  headers: Record<string, string>;
  body: string | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
  /** The bytes of a stream. */
  length?: number | undefined;
  /** How the connection ends, if not properly: in the middle of the body, or by a reset. */
  ending?: 'cut' | 'reset';
  /** Whether the head is sent at all; false only for faults. */
  head?: boolean;
  /** The model that answered, for the log; of a request that was passed on, the id in its path. */
  model?: string | undefined;
  /** A note on the exchange for the log. */
  note?: string | undefined;
}

/** Answers the requests of a route whose body was parsed. Throws Problem and Violation. */
export type BodyHandler = (request: GatewayRequest, body: JsonObject, context: RequestContext) => Promise<GatewayReply>;

/** Answers requests: the offline models, an upstream gateway, a recording. Throws Problem and Violation for a mistake of the caller. */
export type Handler = (request: GatewayRequest) => Promise<GatewayReply>;

/** The log entry of one request; never with a header, a query or a body. */
export interface LogEntry {
  method: string;
  path: string;
  status: number;
  model: string | undefined;
  durationMs: number;
  /** Body bytes sent. */
  bytes: number;
  /** The reason that the request was refused, or the way in which it ended early. */
  note: string | undefined;
}

/** The real names of vendor-a's key header and vendor-b's version header. */
export interface ServedHeaderNames {
  apiKey?: string | undefined;
  version?: string | undefined;
}

/** Keys and indexes from a body down to a value. */
export type Path = readonly (string | number)[];

/** How a body is checked. */
export interface ValidationMode {
  /** Whether unknown fields, values and block types are refused; otherwise they are left out. */
  isStrict: boolean;
  /** Called with each field that is left out. */
  leftOut(path: Path, value: JsonValue): void;
}

/** The facts of a request that an offline model needs beside its body. */
export interface RequestContext {
  mode: ValidationMode;
  /** Whether a local model answers for a vendor's. */
  fallback: boolean;
  /** The service that the gateway stands for. */
  rules: ServiceRules | undefined;
  script: AnswerScript | undefined;
  /** The responses that are kept between requests. */
  responses: ResponseStore;
  /** Whether the request is one of a batch. */
  inBatch: boolean;
  /** Adds a note about the request to the log. */
  note(text: string): void;
  /** Wait before each delta of a stream, ms. */
  pace: number;
  /** Made only from the request's bytes: equal requests get equal ids. */
  id: string;
  /** Number of earlier answers to the same request, if each gets an image of its own; otherwise 0. */
  variant: number;
  /** Counts one more attempt at a fault model. */
  attempt(stream: boolean): Attempt;
}

/** One request to a fault model. */
export interface Attempt {
  /** Number of earlier requests that were the same. */
  count: number;
  format: GatewayFormatName;
  /** Whether the reply is a stream. */
  stream: boolean;
  /** The wait of the slow faults, ms. */
  delay: number;
  /** Aborts when the caller leaves. */
  left: AbortSignal;
}

/** The request formats. */
export type GatewayFormatName = 'content' | 'messages' | 'completions';

/** The parts that all paths of a format share: errors and lists of models. */
export interface GatewayFormat {
  name: GatewayFormatName;
  /** Whether a path belongs to the format, even if it is not served. */
  claims(path: string, headers: IncomingHttpHeaders): boolean;
  /** Whether requests of the format name a version in a header. */
  hasVersion?: true;
  /** The header of a reply that carries the id of the request. */
  idHeader?: string;
  /** The forms of the key that its specification names. */
  keyForms: readonly KeyForm[];
  /** The message to a caller with another key. */
  wrongKey: string;
  /** The body of an error reply, which also ends a stream that breaks off. */
  error(problem: Problem, requestId?: string): JsonObject;
  /** The 400 reply to a field that breaks a rule. */
  violation(path: Path, breach: Breach): Problem;
  /** The 404 reply for a model that is not served; `served` names the served models. */
  unknownModel(model: string, served: string): Problem;
  listModels(models: readonly LocalModel[]): JsonObject;
  encodeModel(model: LocalModel): JsonObject;
  /** Whether a local model is offered in this format. */
  offers(model: LocalModel): boolean;
}

/** The request to a model, whatever its format. */
export interface ModelRequest {
  task: TextTask;
  /** The model that the request names, if another answers for it. */
  asked?: string;
  /** The number of candidates that are wanted. */
  candidates: number;
  stream: boolean;
  /** Whether a stream ends with the usage, if the format leaves that to the request. */
  streamUsage?: boolean;
  /** Whether a call is written in the older form, `function_call`. */
  functionCalls?: boolean;
  /** Whether thoughts are shown, or only that there are some. */
  showThinking: boolean;
  /** Whether the reply holds the thoughts in a form that can only go back. */
  encryptsThinking?: boolean;
  /** The service tier, if the reply names it. */
  tier?: string | undefined;
  /** The part of the request that the reply repeats. */
  repeated?: JsonObject;
  /** All items of the conversation, for a reply that is kept. */
  items?: readonly JsonValue[];
  /** The image that the request wants. */
  image: {
    /** Whether the request names an image as the answer. */
    isAsked: boolean;
    aspectRatio?: string | undefined;
    /** The class of the size: `512`, `1K`, `2K`, `4K`. */
    imageSize?: string | undefined;
    /** The size in pixels, if the request names it. */
    size?: Size | undefined;
    /** The media type; by default PNG, and JPEG for an edit of a JPEG. */
    mimeType?: string | undefined;
    /** Whether the image comes as a URL. */
    url?: boolean;
    /** Whether the answer has images and no text. */
    withoutText?: boolean;
    /** The places of prompt and image in the body, for errors. */
    promptPath: Path;
    imagePath: Path;
  };
  /** The pieces in which a stream sends the text. */
  pieces?: readonly string[] | undefined;
}

/** The answer of a script in place of the offline models' answer. */
export interface Scripted {
  /** Each candidate of the answer. */
  candidate?: Candidate;
  /** An image is drawn. */
  draws?: true;
  fault?: Fault | undefined;
  pieces?: readonly string[];
  /** Waits before the deltas of a stream, ms. */
  pauses?: readonly number[];
}

/** Answers requests in place of the offline models. */
export interface AnswerScript {
  /** Whether every name counts as the name of a model. */
  anyModel: boolean;
  /** Undefined leaves the request to the offline models. Throws Problem. */
  answer(read: ModelRequest, request: GatewayRequest): Scripted | undefined;
}

/** One event of a stream, before its bytes. */
export interface StreamEvent {
  /** A string is sent as it is, in place of JSON. */
  data: JsonObject | string;
  /** `delta`: a piece of the answer; `start`: before the first; `end`: closes the answer; `done`: the mark after everything. */
  step: 'start' | 'delta' | 'end' | 'done';
  /** Whether a stream with a pace waits before it; by default before each delta. */
  waits?: boolean;
}

/** One kind of request: its reader, and the writer of its answer. */
export interface GatewayOperation {
  /** Whether a local model answers requests of this kind. */
  serves(model: LocalModel): boolean;
  /** The name of the model that a request asks for. */
  modelOf(request: GatewayRequest, body: JsonObject): string | undefined;
  /** Checks a body by itself, whichever model it is for. Throws Violation. */
  check(body: JsonObject, mode: ValidationMode): JsonObject;
  /** The local model that answers for a vendor's. */
  fallback(requested: string, checked: JsonObject): string;
  /** Reads a checked body for a local model. Throws Problem or Violation. */
  read(
    checked: JsonObject,
    model: string,
    request: GatewayRequest,
    context: Pick<RequestContext, 'responses' | 'inBatch'>,
  ): ModelRequest;
  /** Whether the answer to a request should be an image; absent if it never is. */
  wantsImage?(read: ModelRequest, request: GatewayRequest): boolean;
  /** The body of the reply. */
  reply(answer: ModelAnswer, request: ModelRequest): JsonObject;
  /** Whether the body of the reply can say that the answer failed; otherwise an error is sent, also with status 200. */
  repliesFailure?: true;
  /** Keeps the body of a reply for later requests. */
  keep?(reply: JsonObject, request: ModelRequest, context: RequestContext): void;
  contentType: string;
  stream?: OperationStream;
}

/** How the tokens of a request are counted. */
export interface OperationCount {
  /** The request that is counted. */
  bodyOf(body: JsonObject): JsonObject;
  reply(tokens: number): JsonObject;
}

/** How the reply of an operation is streamed. */
export interface OperationStream {
  contentType(request: GatewayRequest): string;
  /** The events of a whole reply. */
  events(reply: JsonObject, request: ModelRequest): Iterable<StreamEvent>;
  /** The bytes of an event; `index` is its place in the stream. */
  encode(event: StreamEvent, index: number, request: GatewayRequest): string;
  /** Bytes after the last event. */
  end?(request: GatewayRequest): string;
  /** The error that breaks a stream off. */
  failure: StreamEvent;
  /** An event that is not JSON. */
  broken: StreamEvent;
  /** Events of an unknown kind that a newer server could send after an event. */
  unknownAfter?(event: StreamEvent): StreamEvent[];
}
