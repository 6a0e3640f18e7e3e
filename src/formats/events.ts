import type { GatewayError } from '../errors.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { ModelEnd } from '../vendors/model-rules.ts';

/**
 * What a reply says, one thing after the other, whichever format and whether it is streamed or whole. Decoders make these,
 * `client/accumulator.ts` makes one result of them. `candidate` is 0 if it is absent. `index` is the number that the wire gives a
 * content block; without one, an event belongs to the newest block of its candidate.
 */
export type ReplyEvent =
  /** Comes first in every reply, also without a value. */
  | { type: 'start'; id?: string | undefined; model?: string | undefined; role?: string | undefined }
  /**
   * A content block begins; some come whole in it. `raw` is the block in the words of `plain-request.ts`. `before`: the block that it
   * belongs in front of, where it came too late.
   */
  | { type: 'block-start'; raw: JsonObject; index?: number | undefined; before?: number }
  /** A piece of text. `code` is Markdown of code that the service ran, or of what that printed. */
  | { type: 'text' | 'thinking' | 'code'; text: string; index?: number | undefined; candidate?: number | undefined }
  /** A piece of the JSON text of a call's input. `isAll`: all of it, whatever came before. */
  | { type: 'tool-input'; json: string; index?: number | undefined; isAll?: true }
  /** Proof of thinking, for the service that made it. */
  | { type: 'signature'; signature: string; index?: number | undefined; candidate?: number | undefined }
  | { type: 'citation'; citation: JsonValue; index?: number | undefined }
  /** A page or a document that a search of the service found, or that the answer cites. */
  | { type: 'source'; source: FoundSource; index?: number | undefined }
  /** What went wrong on the way to an answer that came all the same. */
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
      /** With it, the image goes back to its service. */
      signature?: string;
      candidate?: number | undefined;
    }
  /** What is known about a candidate, and why it ended; later values win. */
  | {
      type: 'candidate';
      candidate?: number | undefined;
      role?: string | undefined;
      reason?: string | undefined;
      message?: string | undefined;
      ratings?: JsonValue[] | undefined;
      /** The stop sequence that ended it, and what a refusal says. */
      sequence?: string | undefined;
      details?: JsonValue | undefined;
    }
  /** Values that the reply gives of itself; each has its row in `client/reply-fields.ts`, which says what a later one does. */
  | { type: 'facts'; facts: ReplyFacts }
  /** With this token, another request goes on from here: an answer of the content format that is not over, or that is saved on its way. */
  | { type: 'continuation'; token: string }
  /** What follows cannot be read; what came before is kept. */
  | { type: 'broken'; error: GatewayError }
  /** The reply says that it is over. */
  | { type: 'end' };

/** What a reply says of itself as plain values. Absent means the gateway did not say. */
export interface ReplyFacts {
  /** As the reply names the model that answered. */
  modelVersion?: string | undefined;
  /** The service tier that answered, in the gateway's own word; it decides the price. */
  serviceTier?: string | undefined;
  responseId?: string | undefined;
  role?: string | undefined;
  /** Why the prompt was blocked, or what its ratings are. */
  promptFeedback?: JsonObject | undefined;
  /** Counts so far. */
  usage?: Usage | undefined;
  /** Why the reply ended, where no candidate says it: the prompt was blocked. */
  stopReason?: string | undefined;
  stopSequence?: string | undefined;
  stopDetails?: JsonValue | undefined;
  /** What the service says that it cost: a decimal number without exponent; absent if it does not say. */
  toldCost?: { amount: string; currency: string };
  /** The usage of another model, billed beside: one that wrote an SVG, or made so many pictures for a tool. Absent if none did. */
  otherUsage?: { model: string; usage: Usage; images: number };
  /** What the reply says of the end of its model. */
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
  /** What cites it; absent if nothing does. */
  places?: readonly CitedPlace[] | undefined;
  /** Where this word is in the text, it is cited: `[1]`. */
  mark?: string | undefined;
}

/**
 * A place in the text: the block of its event, characters of that block, or of the whole text where the event has no index, or bytes of the
 * whole text in UTF-8, which hold `text`.
 */
export type CitedPlace =
  | { unit: 'block' }
  | { unit: 'character'; start: number; end: number }
  | { unit: 'byte'; start: number; end: number; text?: string | undefined };

/** What a piece of a streamed answer means to a reader: only of the first candidate, without the Base64 of images. */
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
  /** What tools of the service put into the prompt; content format, not in inputTokens. */
  toolInputTokens?: number | undefined;
  /** What was written to a cache; messages format, not in inputTokens. */
  cacheWriteInputTokens?: number | undefined;
  /** Of what was written to a cache, what stays there for an hour or longer. */
  cacheWriteLongInputTokens?: number | undefined;
  /** Tokens of pictures and of sound, within inputTokens; of those in a cache, within cachedInputTokens too. */
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

/** What came of an answer that is to go on. */
export interface Unfinished {
  /** Its content blocks, as in a turn. */
  content: readonly JsonObject[];
  /** What the service gave for the next request. */
  token: string | undefined;
}

/** One server-sent event as the stream's parser gives it. */
export interface DecoderInput {
  event?: string | undefined;
  data: string;
  /** The body ended without the blank line that ends an event: it is whole, or cut in the middle. */
  unterminated?: true;
}

/**
 * How far a reply has come by its own words: `open`; `stopped`, it said why it ends; `ended`, nothing follows. Only an open
 * reply is cut where its body ends.
 */
export type ReplyProgress = 'open' | 'stopped' | 'ended';

/** Reads one reply of a format. Pure: no I/O, no clock. */
export interface Decoder {
  /** Reads a whole reply of JSON, in every spelling that gateways are known to use. Throws GatewayError bad-reply if it is not a reply of the format. */
  whole(json: unknown): ReplyEvent[];
  /** Reads one event of a stream. Throws the GatewayError of an error event, and bad-reply for an event that cannot be read. */
  feed(event: DecoderInput): ReplyEvent[];
  /** What is only known when the stream is over. */
  end(): ReplyEvent[];
  readonly progress: ReplyProgress;
}
