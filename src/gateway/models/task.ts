import type { JsonValue } from '../../json.ts';

/** An image or document of a request, decoded. */
export interface Media {
  mimeType: string;
  bytes: Buffer;
  /** Where it stands in the body, for messages. */
  path: readonly (string | number)[];
}

/** A function that the caller offers. */
export interface ToolOffer {
  name: string;
  /** JSON Schema of its arguments, or the OpenAPI form with types in capitals. */
  schema: JsonValue | undefined;
}

/** Whether the model may, must or must not call a tool; `names` restricts which. */
export interface ToolChoice {
  mode: 'auto' | 'any' | 'none';
  names?: readonly string[] | undefined;
}

/** What a text model is asked for, whichever format asked. */
export interface TextTask {
  model: string;
  /** Text of the last user turn. */
  prompt: string;
  system: string | undefined;
  /** Texts of the user's earlier turns, oldest first. */
  earlier: readonly string[];
  /** Media of the last user turn. */
  media: readonly Media[];
  /** What tools returned in the last turn. */
  toolResults: readonly { name: string; text: string }[];
  tools: readonly ToolOffer[];
  choice: ToolChoice;
  /** A value that fits is wanted instead of prose. */
  schema: JsonValue | undefined;
  /** JSON is wanted. */
  json: boolean;
  thinking: boolean;
  /** Ceiling on output tokens, thinking included. */
  maxTokens: number | undefined;
  stop: readonly string[];
  seed: number | undefined;
}

/** What a text model said. */
export interface Draft {
  thinking: string;
  text: string;
  call: { name: string; input: JsonValue } | undefined;
  ended: 'end' | 'max-tokens' | 'stop-sequence' | 'call';
  stopSequence: string | undefined;
  usage: { thinking: number; answer: number };
}
