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
  /** The text with the code that the service ran and the output of that code, if it ran some. */
  markdown?: string;
  finishReason?: string | undefined;
  finishMessage?: string | undefined;
  safetyRatings?: JsonValue[] | undefined;
}

/** An image or another file of the reply, before it has a name. */
export interface ResultImage {
  /** The type that the gateway declared; the bytes may be of another type. */
  declaredType: string | undefined;
  /** Index of the candidate it came with; 0 in the messages format. */
  candidate: number;
  /** Number of its reply, if one of several requests got it. */
  reply?: number;
  /** A draft (`thought: true`), kept only if there is no other image. */
  draft: boolean;
  /** The signature with which the image goes back to its service. */
  signature?: string;
  blob: StoredBlob;
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
  /** Whether the answer cites the source; otherwise a search only found it. */
  cited: boolean;
  /** The page of a document. */
  page?: number | undefined;
  /** A piece of the source's own text. */
  snippet?: string | undefined;
  /** The mark of the source in the text, such as `[1]`. */
  mark?: string | undefined;
  /** The places in the text that cite the source, in code points; absent if they are not certain. */
  spans?: SourceSpan[];
}

/** The model that was replaced. */
export interface InsteadOf {
  model: string;
  /** The reason that it did not answer. */
  why: string;
}

/**
 * One reply, whatever its format. An absent value was not in the reply. `reply-fields.ts` says how the fields of several replies
 * become one.
 */
export interface Result extends Omit<ReplyFacts, 'modelEnds'> {
  /** The requested model. */
  model: string;
  /** The model that should have answered; `model` answers in its place. */
  insteadOf?: InsteadOf | undefined;
  /** The end of the model, as the service tells it, if it is near or the model is deprecated. */
  modelEnds?: ModelEnd | undefined;
  /** The wire format of the reply. */
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
  /** Each source once: cited ones in the order of their citations, then the others; absent if none came. */
  sources?: Source[];
  /** The finish reason or stop reason in the gateway's own word. */
  stopReason?: StopReason | undefined;
  /** The answer as a turn of a conversation: content blocks in the words of `formats/plain-request.ts`. */
  content?: JsonObject[] | undefined;
  warnings: string[];
  /** Whether the reply came whole, and the reason why it ended says so too. */
  complete: boolean;
  /** Number of requests for the answer, if the service ended it in the middle and another request went on; retries do not count. */
  requests?: number;
}

/** A result, and the error beside it if the reply was cut, or an image was bad: the parts so far are kept. */
export interface Answer {
  result: Result;
  error: GatewayError | undefined;
  /**
   * The values for a request that goes on with the answer, if the service ended it in the middle, and the number of blocks that
   * readers were shown.
   */
  unfinished?: (Unfinished & { shown: number }) | undefined;
}
