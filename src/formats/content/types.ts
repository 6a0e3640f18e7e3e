import type { JsonObject, JsonValue } from '../../json.ts';
import type { Body, Upload } from '../../upload.ts';

/** An input image or file as an inlineData part: media type and Base64 to be (formats 2). */
export interface InlineInput {
  mimeType: string;
  data: Upload;
}

/** Everything a content-format request may carry; an absent field is not sent (formats 2). */
export interface ContentInput {
  /** The text of the last user turn: a prompt or an edit instruction. */
  prompt?: string | undefined;
  /** Images and files that follow the text part in the same turn. */
  inline?: readonly InlineInput[] | undefined;
  /** Earlier turns, sent before the prompt as they are. */
  contents?: readonly JsonValue[] | undefined;
  system?: string | undefined;
  temperature?: number | undefined;
  topP?: number | undefined;
  topK?: number | undefined;
  /** candidateCount */
  candidates?: number | undefined;
  /** maxOutputTokens */
  maxTokens?: number | undefined;
  /** stopSequences */
  stop?: readonly string[] | undefined;
  seed?: number | undefined;
  responseMime?: string | undefined;
  /** JSON Schema, sent as responseJsonSchema with responseMimeType application/json. */
  schema?: JsonValue | undefined;
  /** imageConfig.aspectRatio, `W:H` */
  aspect?: string | undefined;
  /** imageConfig.imageSize */
  size?: string | undefined;
  safety?: readonly { category: string; threshold: string }[] | undefined;
  tools?: readonly JsonValue[] | undefined;
  toolConfig?: JsonObject | undefined;
  cachedContent?: string | undefined;
  /** A whole body that the fields above are laid over. */
  body?: Body | undefined;
}

/** One part of a candidate. `data` is Base64 as it came, or a placeholder for Base64 that was stored on the way. */
export type ContentPart =
  | { kind: 'text'; text: string; thought: boolean }
  | { kind: 'blob'; mimeType: string | undefined; data: string; thought: boolean }
  /** Code that the service ran, or what it printed, as a fenced block. */
  | { kind: 'code'; key: 'executableCode' | 'codeExecutionResult'; markdown: string }
  | { kind: 'call'; id: string | undefined; name: string; input: JsonValue }
  | CallPiece
  | { kind: 'other'; keys: string[] };

/** A part of a call whose arguments are streamed (deviation 44). */
export interface CallPiece {
  kind: 'call-piece';
  id: string | undefined;
  name: string | undefined;
  args: JsonObject | undefined;
  /** Values with the path of their place. */
  partialArgs: JsonValue[];
  willContinue: boolean;
  /** An empty call: the one before is over. */
  isEnd: boolean;
}

/** One candidate of a reply (formats 2). */
export interface Candidate {
  index: number;
  role: string | undefined;
  parts: ContentPart[];
  finishReason: string | undefined;
  finishMessage: string | undefined;
  safetyRatings: JsonValue[] | undefined;
}

/** A content-format reply, whatever spelling the gateway used (formats 6). */
export interface ContentReply {
  candidates: Candidate[];
  promptFeedback: JsonObject | undefined;
  /** promptFeedback.blockReason, also in snake case. */
  blockReason: string | undefined;
  usage: Usage | undefined;
  modelVersion: string | undefined;
  serviceTier?: string | undefined;
  responseId: string | undefined;
}

/** Token counts of either format; absent means the gateway did not say. */
export interface Usage {
  inputTokens?: number | undefined;
  outputTokens?: number | undefined;
  thinkingTokens?: number | undefined;
  cachedInputTokens?: number | undefined;
  /** What tools of the service put into the prompt; content format, beside inputTokens. */
  toolInputTokens?: number | undefined;
  /** What was written to a cache; messages format, beside inputTokens. */
  cacheWriteInputTokens?: number | undefined;
  /** Tokens of images; content format, within outputTokens. */
  imageOutputTokens?: number | undefined;
  totalTokens?: number | undefined;
}
