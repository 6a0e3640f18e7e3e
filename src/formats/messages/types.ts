import type { JsonObject, JsonValue } from '../../json.ts';
import type { Body, Upload } from '../../upload.ts';
import type { Usage } from '../content/types.ts';

/** An image or document that goes into the last user turn. */
export interface MessageInline {
  /** `image/*` becomes an image block, `application/pdf` a document block. */
  mimeType: string;
  /** A string is plain text: a document that is sent as text. */
  data: Upload | string;
  /** Title of a document. */
  title?: string | undefined;
}

/** Everything a messages-format request may carry; an absent field is not sent (formats 3). */
export interface MessagesInput {
  model: string;
  /** max_tokens, which the wire requires. */
  maxTokens: number;
  /** The text of the last user turn. */
  prompt?: string | undefined;
  inline?: readonly MessageInline[] | undefined;
  /** Earlier turns. */
  messages?: readonly JsonValue[] | undefined;
  system?: string | undefined;
  stream?: boolean | undefined;
  temperature?: number | undefined;
  topP?: number | undefined;
  topK?: number | undefined;
  stop?: readonly string[] | undefined;
  tools?: readonly JsonValue[] | undefined;
  toolChoice?: JsonValue | undefined;
  metadata?: JsonObject | undefined;
  /** JSON Schema, sent as output_config.format. */
  schema?: JsonValue | undefined;
  body?: Body | undefined;
}

/** One block of a reply (formats 3); `raw` is the block as the gateway would want it back in a later turn. */
export type Block =
  | { kind: 'text'; text: string; raw: JsonObject }
  | { kind: 'thinking'; text: string; raw: JsonObject }
  | { kind: 'blob'; mimeType: string | undefined; data: string; raw: JsonObject }
  | { kind: 'call'; id: string | undefined; name: string; input: JsonValue; raw: JsonObject }
  | { kind: 'other'; type: string; raw: JsonObject };

/** A whole messages-format reply, from JSON or put together from a stream. */
export interface MessageReply {
  id: string | undefined;
  role: string | undefined;
  model: string | undefined;
  blocks: Block[];
  stopReason: string | undefined;
  stopSequence: string | undefined;
  /** stop_details of a refusal, as it came. */
  stopDetails: JsonValue | undefined;
  usage: Usage | undefined;
  serviceTier?: string | undefined;
  /** Whether the reply said itself that it is over: a stop reason or message_stop was seen. */
  complete: boolean;
}

/** What one stream event means to a reader. Unknown events mean nothing and yield nothing. */
export type StreamDelta =
  | { type: 'start'; id: string | undefined; model: string | undefined }
  | { type: 'text'; text: string; block: number }
  | { type: 'thinking'; text: string; block: number }
  | { type: 'block-start'; block: number; blockType: string }
  | { type: 'block-stop'; block: number }
  | { type: 'tool-input'; json: string; block: number }
  | { type: 'stop'; stopReason: string | undefined }
  | { type: 'end' };
