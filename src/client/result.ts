import type { GatewayError } from '../errors.ts';
import type { ReplyFacts, Unfinished } from '../formats/events.ts';
import type { FormatName } from '../formats/types.ts';
import type { StoredBlob } from '../images/types.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { StopReason } from './client-types.ts';
import type { ModelEnd } from '../vendors/model-rules.ts';

/** A candidate as the result document shows it. */
export interface ResultCandidate {
  index: number;
  /** Number of its reply, if one of several requests got it. */
  reply?: number;
  text: string;
  /** The text with the code that the service ran and what that printed, if it ran some. */
  markdown?: string;
  finishReason?: string | undefined;
  finishMessage?: string | undefined;
  safetyRatings?: JsonValue[] | undefined;
}

/** An image or another file of the reply, before it has a name. */
export interface ResultImage {
  /** As the gateway declared it; the bytes may say otherwise. */
  declaredType: string | undefined;
  /** Index of the candidate it came with; 0 in the messages format. */
  candidate: number;
  /** Number of its reply, if one of several requests got it. */
  reply?: number;
  /** A draft (`thought: true`), kept only where there is no other image. */
  draft: boolean;
  /** With it, the image goes back to its service. */
  signature?: string;
  blob: StoredBlob;
  /** The file that it became: its path as it is printed, and its type. */
  saved?: { path: string; mimeType: string };
}

/** A call of a tool that the model asks for. */
export interface ToolCall {
  id?: string | undefined;
  name: string;
  input: JsonValue;
}

/** A place in the text of an answer, in code points. */
export interface SourceSpan {
  start: number;
  end: number;
}

/** A page or a document that the answer cites, or that a search of the service found. */
export interface Source {
  /** Absent for a document that has none. */
  url?: string | undefined;
  title?: string | undefined;
  kind: 'web' | 'document' | 'map' | 'image';
  /** Whether the answer cites it; else the search only found it. */
  cited: boolean;
  /** The page of a document. */
  page?: number | undefined;
  /** A piece of its own text. */
  snippet?: string | undefined;
  /** How the text names it, such as `[1]`. */
  mark?: string | undefined;
  /** What it stands for in the text, in code points; absent where that is not certain. */
  spans?: SourceSpan[];
}

/** Another model was to answer. */
export interface InsteadOf {
  model: string;
  /** Why it did not. */
  why: string;
}

/** One reply, whatever its format. Absent means the gateway did not say. How the fields of several become one is in `reply-fields.ts`. */
export interface Result extends Omit<ReplyFacts, 'modelEnds'> {
  /** The requested model. */
  model: string;
  /** Another model was to answer, and the requested one answers in its place. */
  insteadOf?: InsteadOf | undefined;
  /** What the service says of the end of the model, if that is near or the model is deprecated. */
  modelEnds?: ModelEnd | undefined;
  /** The wire format that it came in. */
  format?: FormatName | undefined;
  /** Text of candidate 0 without thoughts, data URLs cut out. */
  text: string;
  /** The thinking of the model, if it was sent. */
  thinking?: string | undefined;
  candidates: ResultCandidate[];
  images: ResultImage[];
  /** Audio, documents and other bytes that are not images; absent if none came. */
  files?: ResultImage[];
  toolCalls: ToolCall[];
  /** Each once, in the order in which they are cited, then those that are not; absent if none came. */
  sources?: Source[];
  /** As the gateway gave it: a finish reason or a stop reason. */
  stopReason?: StopReason | undefined;
  /** The answer as a turn of a conversation: content blocks in the words of `formats/plain-request.ts`. */
  content?: JsonObject[] | undefined;
  warnings: string[];
  /** Whether the reply came whole, and the reason why it ended says so too. */
  complete: boolean;
  /** Requests that it took, if the service ended it in the middle and went on with the next; retries do not count. */
  requests?: number;
  /** Requests sent for it, retries included. */
  attempts: number;
  durationMs: number;
}

/** A result, and the error that goes with it when the reply was cut, or an image of it was bad: what came is kept. */
export interface Answer {
  result: Result;
  error: GatewayError | undefined;
  /** What another request goes on with, if the service ended the answer in the middle, and how many blocks readers were shown. */
  unfinished?: (Unfinished & { shown: number }) | undefined;
}
