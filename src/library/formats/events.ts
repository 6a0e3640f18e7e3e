import type { GatewayError } from '../errors.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { ModelEnd } from '../vendors/model-rules.ts';

/**
 * One fact or piece of a reply, in the order of the reply. Events are the same for all formats, and for streamed and whole
 * replies. Decoders make them, `client/accumulator.ts` makes one result of them. `candidate` is 0 if it is absent. `index` is the
 * number that the wire gives a content block; without it, an event belongs to the newest block of its candidate.
 */
export type ReplyEvent =
  /** Comes first in every reply, also without a value. */
  | { type: 'start'; id?: string | undefined; model?: string | undefined; role?: string | undefined }
  /**
   * A content block begins; some blocks are complete in this event. `raw` is the block in the words of `plain-request.ts`.
   * `before`: the block that it belongs in front of, if it came too late.
   */
  | { type: 'block-start'; raw: JsonObject; index?: number | undefined; before?: number }
  /** A piece of text. `code` is Markdown of code that the service ran, or of its output. */
  | { type: 'text' | 'thinking' | 'code'; text: string; index?: number | undefined; candidate?: number | undefined }
  /** A piece of the JSON text of a call's input. `isAll`: all of it, whatever came before. */
  | { type: 'tool-input'; json: string; index?: number | undefined; isAll?: true }
  /** Proof of thinking, for the service that made it. */
  | { type: 'signature'; signature: string; index?: number | undefined; candidate?: number | undefined }
  | { type: 'citation'; citation: JsonValue; index?: number | undefined }
  /** A page or a document that a search of the service found, or that the answer cites. */
  | { type: 'source'; source: FoundSource; index?: number | undefined }
  /** A problem on the way to an answer that came all the same. */
  | { type: 'warning'; text: string }
  | { type: 'block-stop'; index?: number | undefined }
  /** A call whose input is known. `isWhole`: all of it came, and could be read. */
  | {
      type: 'call';
      id: string | undefined;
      name: string;
      input: JsonValue;
      isWhole: boolean;
      signature?: string | undefined;
      candidate?: number | undefined;
    }
  /** An image or a file; `data` is its Base64, or the placeholder of a string that is stored already. */
  | {
      type: 'blob';
      mimeType: string | undefined;
      data: string;
      draft?: boolean | undefined;
      /** The signature with which the image goes back to its service. */
      signature?: string;
      candidate?: number | undefined;
    }
  /** The facts of a candidate, such as its finish reason; later values win. */
  | {
      type: 'candidate';
      candidate?: number | undefined;
      role?: string | undefined;
      reason?: string | undefined;
      message?: string | undefined;
      ratings?: JsonValue[] | undefined;
      /** The stop sequence that ended the candidate, and the words of a refusal. */
      sequence?: string | undefined;
      details?: JsonValue | undefined;
    }
  /** Facts of the reply; each has its row in `client/reply-fields.ts`, which says what a later value means. */
  | { type: 'facts'; facts: ReplyFacts }
  /** The token with which another request goes on from here: the answer of the content format is not over, or it is saved on its way. */
  | { type: 'continuation'; token: string }
  /** The rest of the reply cannot be read; events before this one are kept. */
  | { type: 'broken'; error: GatewayError }
  /** The reply says that it is over. */
  | { type: 'end' };

/** Facts of a reply as plain values. An absent value was not in the reply. */
export interface ReplyFacts {
  /** The name that the reply gives for the model that answered. */
  modelVersion?: string | undefined;
  /** The service tier that answered, in the gateway's own word; it decides the price. */
  serviceTier?: string | undefined;
  responseId?: string | undefined;
  role?: string | undefined;
  /** The reason that the prompt was blocked, or its safety ratings. */
  promptFeedback?: JsonObject | undefined;
  /** The counts so far. */
  usage?: Usage | undefined;
  /** The reason that the reply ended, if no candidate gives one: the prompt was blocked. */
  stopReason?: string | undefined;
  stopSequence?: string | undefined;
  stopDetails?: JsonValue | undefined;
  /** The cost that the service tells: a decimal number without exponent; absent if the service tells none. */
  toldCost?: { amount: string; currency: string };
  /**
   * The usage of another model that is billed too: a model that wrote an SVG, or made this number of images for a tool. Absent if
   * there is none.
   */
  otherUsage?: { model: string; usage: Usage; images: number };
  /** The date or notice of the end of the model, as the reply tells it. */
  modelEnds?: Omit<ModelEnd, 'model'> | undefined;
}

/** A source as a reply names it. */
export interface FoundSource {
  kind: 'web' | 'document' | 'map' | 'image';
  url?: string | undefined;
  title?: string | undefined;
  /** The page of a document, from 1. */
  page?: number | undefined;
  /** A piece of its own text. */
  snippet?: string | undefined;
  /** Places in the text that cite the source; absent if there are none. */
  places?: readonly CitedPlace[] | undefined;
  /** The mark of the source in the text, such as `[1]`. */
  mark?: string | undefined;
}

/**
 * A place in the text: the block of its event, characters of that block, or of the whole text if the event has no index, or bytes
 * of the whole text in UTF-8, which hold `text`.
 */
export type CitedPlace =
  | { unit: 'block' }
  | { unit: 'character'; start: number; end: number }
  | { unit: 'byte'; start: number; end: number; text?: string | undefined };

/** A piece of a streamed answer for a reader of the stream: only of the first candidate, without the Base64 of images. */
export type StreamDelta =
  | { type: 'start'; id: string | undefined; model: string | undefined }
  | { type: 'text'; text: string; block: number }
  | { type: 'thinking'; text: string; block: number }
  | { type: 'block-start'; block: number; blockType: string }
  | { type: 'block-stop'; block: number }
  | { type: 'tool-input'; json: string; block: number }
  | { type: 'stop'; stopReason: string | undefined }
  | { type: 'end' };

/** Token counts of a reply; absent means the gateway did not say. */
export interface Usage {
  inputTokens?: number | undefined;
  outputTokens?: number | undefined;
  thinkingTokens?: number | undefined;
  cachedInputTokens?: number | undefined;
  /** Tokens that tools of the service put into the prompt; content format, not in inputTokens. */
  toolInputTokens?: number | undefined;
  /** Tokens that were written to a cache; messages format, not in inputTokens. */
  cacheWriteInputTokens?: number | undefined;
  /** Tokens written to a cache that stay there for an hour or longer; part of cacheWriteInputTokens. */
  cacheWriteLongInputTokens?: number | undefined;
  /** Tokens of pictures and of sound, within inputTokens; those from a cache are within cachedInputTokens too. */
  imageInputTokens?: number | undefined;
  audioInputTokens?: number | undefined;
  cachedImageInputTokens?: number | undefined;
  cachedAudioInputTokens?: number | undefined;
  /** Tokens of images and of sound, within outputTokens. */
  imageOutputTokens?: number | undefined;
  audioOutputTokens?: number | undefined;
  /** Searches of the service's own tool: requests, or in the content format queries. Most services bill each. */
  searches?: number | undefined;
  totalTokens?: number | undefined;
}

/** The parts of an answer that the service ended in the middle. */
export interface Unfinished {
  /** The content blocks of the answer, as in a turn. */
  content: readonly JsonObject[];
  /** The token that the service gave for the next request. */
  token: string | undefined;
}

/** One server-sent event, as the parser of the stream gives it. */
export interface DecoderInput {
  event?: string | undefined;
  data: string;
  /** The body ended without the blank line that ends an event: it is whole, or cut in the middle. */
  unterminated?: true;
}

/**
 * The progress of a reply by its own words: `open`; `stopped`: it said why it ends; `ended`: nothing follows. Only an open reply
 * is cut if its body ends.
 */
export type ReplyProgress = 'open' | 'stopped' | 'ended';

/** Reads one reply of a format. Pure: no I/O, no clock. */
export interface Decoder {
  /** Reads a whole reply of JSON, in every spelling that gateways are known to use. Throws GatewayError bad-reply if it is not a reply of the format. */
  whole(json: unknown): ReplyEvent[];
  /** Reads one event of a stream. Throws the GatewayError of an error event, and bad-reply for an event that cannot be read. */
  feed(event: DecoderInput): ReplyEvent[];
  /** Returns the events that are known only when the stream is over. */
  end(): ReplyEvent[];
  readonly progress: ReplyProgress;
}
