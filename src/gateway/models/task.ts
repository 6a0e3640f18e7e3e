import type { JsonValue, Size } from '../../library/index.ts';
import type { Problem } from '../problem.ts';

/** An image or document of a request, decoded. */
export interface DecodedMedia {
  mimeType: string;
  bytes: Buffer;
  /** The place in the body, for messages. */
  path: readonly (string | number)[];
}

/** A function that the caller offers. */
export interface ToolOffer {
  name: string;
  /** JSON Schema of its arguments, or the OpenAPI form with types in capitals. */
  schema: JsonValue | undefined;
  /** The input is a text, as of OpenAI's `custom` tools. */
  isCustom?: true;
}

/** A tool whose input is a text. Its grammar is not looked at. */
export function customTool(name: string): ToolOffer {
  return { name, schema: { type: 'string' }, isCustom: true };
}

/** Whether the model may, must or must not call a tool; `names` restricts which. */
export interface ToolChoice {
  mode: 'auto' | 'any' | 'none';
  names?: readonly string[] | undefined;
}

/** The task of a text model, whatever the format of the request. */
export interface TextTask {
  model: string;
  /** Text of the last user turn. */
  prompt: string;
  system?: string | undefined;
  /** Texts of the user's earlier turns, oldest first. */
  earlier: readonly string[];
  /** Media of the last user turn. */
  media: readonly DecodedMedia[];
  /** The results of tools in the last turn. */
  toolResults: readonly { name: string; text: string }[];
  tools: readonly ToolOffer[];
  choice: ToolChoice;
  /** The schema of the wanted value, in place of prose. */
  schema?: JsonValue | undefined;
  /** JSON is wanted. */
  json: boolean;
  thinking: boolean;
  /** Ceiling on output tokens, thinking included. */
  maxTokens?: number | undefined;
  stop: readonly string[];
  seed?: number | undefined;
}

/** An image that a model made. */
export interface MadeImage {
  mimeType: string;
  /** Base64. */
  data: string;
  size: Size;
  /** A draft, which a better image follows. */
  isDraft?: boolean;
}

/** One piece of a model's answer; if it has both, the text holds the image. */
export type AnswerPart = { text: string; image?: MadeImage } | { text?: undefined; image: MadeImage };

export interface ModelCall {
  /** The id in the words of the service that made the call. */
  id?: string | undefined;
  name: string;
  input: JsonValue;
  isCustom?: true;
}

/** One of several answers in a reply, as every format has it. */
export interface Candidate {
  /** Undefined if no thoughts were asked for. */
  thinking?: string | undefined;
  parts: readonly AnswerPart[];
  calls?: readonly ModelCall[] | undefined;
  /** `refused` and `no-image` are faults. */
  ended: 'end' | 'max-tokens' | 'stop-sequence' | 'call' | 'refused' | 'no-image';
  stopSequence?: string | undefined;
  usage: { thinking: number; answer: number };
}

/** Everything that a model answers to one request; each format writes it down in its own way. */
export interface ModelAnswer {
  /** The model that answered. */
  model: string;
  /** Made only from the request. */
  id: string;
  candidates: readonly Candidate[];
  /** Whether images were made. */
  drawn: boolean;
  tokens: { input: number; thinking: number; answer: number };
  /** Whether the prompt is refused, so that there is no answer. */
  blocked?: boolean;
  /** Whether all optional parts are left out: usage, model, id. */
  bare?: boolean;
  /** An error in place of the answer. */
  failure?: Problem;
}

/** The calls of a candidate, each with an id: ids of one reply differ by their number. */
export function listCalls({ calls = [] }: Candidate, prefix: string, id: string): (ModelCall & { id: string })[] {
  return calls.map((call, index) => ({ ...call, id: call.id ?? `${prefix}${id}${index === 0 ? '' : `_${index}`}` }));
}

/** A value that clients send back unread: the signature of thoughts or of a call, or encrypted thoughts. */
export function sealThoughts(id: string): string {
  return Buffer.from(`offline ${id}`).toString('base64');
}

/** The images of a candidate for a format that has no drafts of images: an image with a text is inside the text. */
export function wholeImages({ parts }: Candidate): MadeImage[] {
  return parts.flatMap(({ text, image }) => (text === undefined && image && !image.isDraft ? [image] : []));
}

/** The words with which a model refuses. */
export const refusalText = "I'm sorry, but this offline model refuses everything.";

export function candidateText({ parts }: Candidate): string {
  return parts.map(({ text = '' }) => text).join('');
}

/** The offline models' token rule: four UTF-16 units are one token, and a rest counts as one. */
const unitsPerToken = 4;

/** Tokens of an image in a request, whatever its size. */
export const tokensPerImage = 258;

export function estimateTokens(text: string): number {
  return Math.ceil(text.length / unitsPerToken);
}

/** The beginning of a text that fits into the tokens; a character is never split. */
export function cutToTokens(text: string, tokens = Infinity): string {
  const end = tokens * unitsPerToken;
  return text.length <= end ? text : text.slice(0, end).replace(/[\uD800-\uDBFF]$/, '');
}

/** The pieces in which a stream sends JSON. */
export function splitJson(json: string): readonly string[] {
  return json.match(/.{1,12}/gs) ?? [];
}

/** The pieces of a text that a stream sends: the given ones, or three words each with the spaces after them. Joined they are the text. */
export function splitForStream(
  text: string,
  { pieces }: { pieces?: readonly string[] | undefined } = {},
): readonly string[] {
  if (pieces?.join('') === text) return pieces;
  return text.match(/\s*(?:\S+\s*){1,3}/g) ?? (text === '' ? [] : [text]);
}
