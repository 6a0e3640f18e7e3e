import { closest } from '../closest.ts';
import { quoteForeign, usageError } from '../errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import type { ModelEfforts } from '../vendors/effort.ts';
import type { Use } from '../vendors/services.ts';
import { type Body, type BodyValue, setFields, type Upload } from '../body.ts';
import type { JsonFields, PlainFields } from './request-fields.ts';

/** An image or a file that goes into the last turn of the user. */
export interface Media {
  mimeType: string;
  /** A string is plain text: a document that is sent as text. */
  data: Upload | string;
  /** The title of the document: the name of its file. */
  title?: string | undefined;
  /** `WxH` of a picture, in pixels. */
  pixels?: string | undefined;
}

/** A request to a model, in the words of no format. An absent field is not sent. */
export interface PlainRequest extends PlainFields, JsonFields {
  use: Use;
  model: string;
  /** The efforts of the model, from the service's list of models. */
  efforts?: ModelEfforts | undefined;
  /** The media type of the wanted image, for services that have such a field. */
  imageType?: string | undefined;
  /** Whether the reply is streamed; undefined: the body decides. */
  stream: boolean | undefined;
  media?: readonly Media[] | undefined;
  /** A PNG as large as the first image of `media`; its transparent part may change. */
  mask?: Media | undefined;
  /** Blocks in front of the prompt in its turn: results of tools. */
  results?: readonly JsonObject[] | undefined;
  /** Earlier turns. */
  turns?: readonly Turn[] | undefined;
  /** Earlier turns in the format's own form, sent as they are. */
  ownTurns?: readonly JsonValue[] | undefined;
  /** The requested service tier: half price, slower, refused while the service is busy. */
  tier?: 'flex' | undefined;
}

/** A request as a format encodes it, below a base URL. */
export interface EncodedRequest {
  /** `/v1/messages` */
  path: string;
  /** The query after the path, without its `?`. */
  query?: string | undefined;
  body: Body;
  /** A file in place of the body, whose bytes are sent as they are. */
  file?: Upload | undefined;
  /** Headers that only this request has, in lower-case names. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** The body is sent as a form: `multipart/form-data`. */
  form?: true | undefined;
  accept?: string | undefined;
  /** Decides how the reply is read: see the plain field of that name. */
  keepThink?: true | undefined;
  /** A note for the user about a value that replaces another one. */
  note?: string | undefined;
  /** A stream of the content format, which a gateway need not have. */
  streamsContent?: true | undefined;
}

/*
 * A conversation in the words of no service. Its blocks have the form of the messages format, which has the most kinds: text,
 * image, document, tool_use, tool_result, thinking. A session file holds such turns.
 */

/** One turn. A string is a single text block. */
export interface Turn {
  role: 'user' | 'assistant';
  content: string | readonly BodyValue[];
  /** The service that wrote the turn: signatures go back only to that service. */
  service?: string | undefined;
}

/** The turns of a list that the user wrote. Throws GatewayError usage for an entry that is not a turn. */
export function readTurns(list: readonly unknown[], place: string): Turn[] {
  const wrong = list.findIndex((entry) => !isTurnEntry(entry));
  if (wrong < 0) return list as Turn[];
  throw usageError(
    `${place}: message ${wrong + 1} is not one of user or assistant with a content of text or blocks`,
    'for example: {"role":"user","content":"…"}; a system instruction is given apart from them',
  );
}

function isTurnEntry(entry: unknown): boolean {
  if (!isObject(entry)) return false;
  const { role, content } = entry;
  const isContent = typeof content === 'string' || (Array.isArray(content) && content.every(isObject));
  return (role === 'user' || role === 'assistant') && isContent;
}

/** The blocks of a turn, without values that are not blocks. */
export function getTurnBlocks({ content }: Pick<Turn, 'content'>): JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return content.filter((block): block is JsonObject => isObject(block));
}

/** A text document in a format that has none: its name is above the text. */
export function withTitleAbove(text: string, title: string | undefined): string {
  return title === undefined ? text : `${title}:\n${text}`;
}

/** The content of a tool's result, which may be one block. */
export function toList(value: JsonValue): JsonValue[] {
  return Array.isArray(value) ? value : [value];
}

/**
 * The content of the user's last turn, as a session keeps it; undefined if it is empty. Images and documents come before the text
 * about them, as the documentation of the messages format advises.
 */
export function lastTurn({
  prompt,
  media = [],
  results = [],
}: Pick<PlainRequest, 'prompt' | 'media' | 'results'>): Turn['content'] | undefined {
  if (media.length === 0 && results.length === 0) return prompt;
  const text = prompt === undefined ? [] : [{ type: 'text', text: prompt }];
  return [...results, ...media.map(mediaBlock), ...text];
}

function mediaBlock({ mimeType, data, title }: Media): BodyValue {
  if (typeof data === 'string') {
    return setFields({ type: 'document', source: { type: 'text', media_type: 'text/plain', data } }, { title });
  }
  const source = { type: 'base64', media_type: mimeType, data };
  if (mimeType.toLowerCase().startsWith('image/')) return { type: 'image', source };
  return setFields({ type: 'document', source }, { title });
}

/** A tool that the model may call, in the plain form, which every format can express. */
export interface PlainTool {
  name: string;
  description?: string | undefined;
  /** A JSON Schema of the input. */
  schema?: JsonValue | undefined;
  /** Fields that only one format has. */
  own: JsonObject;
}

/** Names of the schema: the plain name, those of the formats, of MCP and of many libraries. */
const schemaNames = ['schema', 'parameters', 'input_schema', 'parametersJsonSchema', 'inputSchema'];

/** Keys that the messages format has for a tool. */
const messagesKeys = 'strict cache_control input_examples defer_loading allowed_callers eager_input_streaming'.split(
  ' ',
);

/** Keys that a list of tools by MCP has, and that say nothing to a model. */
const otherKeys = ['type', 'title', 'outputSchema', 'annotations', 'execution', 'icons', '_meta'];

/**
 * Reads a tool in the plain form; its schema may have any name in use. Throws GatewayError usage for an unknown key: with a
 * mistyped one the model would not see the schema.
 */
export function plainTool(tool: JsonObject): PlainTool {
  const { name, description } = tool;
  const called = `the tool ${typeof name === 'string' ? quoteForeign(name, 60) : 'without a name'}`;
  const keys = ['name', 'description', ...schemaNames, ...messagesKeys, ...otherKeys];
  const unknown = Object.keys(tool).find((key) => !keys.includes(key));
  if (unknown !== undefined) {
    const near = closest(unknown, keys) ?? 'schema';
    throw usageError(
      `${called} has an unknown key '${quoteForeign(unknown, 60)}'`,
      `the nearest that there is: '${near}'`,
    );
  }
  const given = schemaNames.find((key) => (tool[key] ?? undefined) !== undefined);
  const schema = given === undefined ? undefined : tool[given];
  if (schema !== undefined && !isObject(schema) && typeof schema !== 'boolean')
    throw usageError(`${called}: its ${given} is not a JSON Schema`, 'for example: {"type":"object"}');
  return {
    name: typeof name === 'string' ? name : '',
    description: typeof description === 'string' ? description : undefined,
    schema,
    own: Object.fromEntries(messagesKeys.flatMap((key) => (tool[key] === undefined ? [] : [[key, tool[key]]]))),
  };
}

/** Whether a tool is in the plain form: a name, and no type of a format. */
export function isPlainTool(tool: JsonObject): boolean {
  return typeof tool['name'] === 'string' && tool['type'] === undefined;
}
