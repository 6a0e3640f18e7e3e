import type { JsonObject, JsonValue } from '../../json.ts';
import {
  decodeBase64,
  flagAt,
  listAt,
  numberAt,
  objectAt,
  sniffMediaType,
  textAt,
  textsAt,
  valueAt,
} from '../fields/read.ts';
import type { GatewayFormat, GatewayOperation, OperationCount, Path } from '../types.ts';
import { selectPage } from '../http/reply.ts';
import { findLocalModel, type LocalModel } from '../models/local.ts';
import { Problem } from '../problem.ts';
import { messagesError, messagesReply, messagesStream, messagesViolation } from './reply.ts';
import { messagesBody } from './fields.ts';
import { badValue } from '../fields/rule.ts';
import type { DecodedMedia, TextTask, ToolChoice, ToolOffer } from '../models/task.ts';

const writes = ({ draws }: LocalModel): boolean => !draws;

/** The messages format. */
export const messagesFormat: GatewayFormat = {
  name: 'messages',
  claims: (path, headers) =>
    /^\/v1\/(?:messages(?:\/|$)|models(?:\/[^:]*)?$)/.test(path) ||
    (/^\/v1\/(?:files|skills|complete|agents|environments|sessions|organizations)(?:\/|$)/.test(path) &&
      ['anthropic-version', 'vendor-b-version', 'x-api-key'].some((name) => headers[name] !== undefined)),
  hasVersion: true,
  idHeader: 'request-id',
  keyForms: ['x-api-key'],
  wrongKey: 'invalid x-api-key',
  error: messagesError,
  violation: messagesViolation,
  unknownModel(model, served) {
    const hint = findLocalModel(model) ? 'it is not served in the messages format' : `this gateway has ${served}`;
    return new Problem(404, `model: ${model} (${hint})`);
  },
  offers: writes,
  listModels(models, query) {
    const fields = { after: 'after_id', before: 'before_id', limit: ['limit', 20] } as const;
    const { page, first, last, hasMore } = selectPage(models, query, fields);
    return { data: page.map(describeModel), has_more: hasMore, first_id: first, last_id: last };
  },
  describeModel,
};

/** The offline models do not age: a fixed date keeps replies equal. */
const created = '2025-01-01T00:00:00Z';

function describeModel({ id, title }: LocalModel): JsonObject {
  return { type: 'model', id, display_name: title, created_at: created };
}

/** `POST /v1/messages`. */
export const messagesOperation: GatewayOperation = {
  serves: writes,
  modelOf: (_request, body) => textAt(body, 'model'),
  check: (body, mode) => messagesBody(body, [], mode),
  fallback: () => 'local-chat',
  read(checked, model, _request, { inBatch }) {
    const messages = listAt(checked, 'messages');
    const media = messages.map((message, index) =>
      readMedia(valueAt(message, 'content'), ['messages', index, 'content']),
    );
    const turns = joinTurns(messages);
    return {
      task: readTask(checked, turns, media, model),
      candidates: 1,
      stream: flagAt(checked, 'stream'),
      showThinking: textAt(objectAt(checked, 'thinking'), 'display') !== 'omitted',
      tier: inBatch ? 'batch' : undefined,
      image: { isAsked: false, promptPath: ['messages'], imagePath: ['messages'] },
    };
  },
  reply: messagesReply,
  contentType: 'application/json',
  stream: messagesStream,
};

/** `/v1/messages/count_tokens`: a request without its limit. */
export const messagesCount: OperationCount = {
  bodyOf: (body) => ({ ...body, max_tokens: Number.MAX_SAFE_INTEGER }),
  reply: (tokens) => ({ input_tokens: tokens }),
};

/** What the user or the assistant says until the other begins. */
interface JoinedTurn {
  role: string;
  content: JsonValue[];
  /** Its messages, by their place in the body. */
  places: number[];
}

/** Turns as the model sees them: messages of one role in a row are one turn. What `system` says between them is no turn. */
function joinTurns(messages: readonly JsonValue[]): JoinedTurn[] {
  const turns: JoinedTurn[] = [];
  for (const [place, message] of messages.entries()) {
    const role = textAt(message, 'role') ?? '';
    if (role === 'system') continue;
    if (turns.at(-1)?.role !== role) turns.push({ role, content: [], places: [] });
    turns.at(-1)?.places.push(place);
    for (const block of listBlocks(valueAt(message, 'content'))) turns.at(-1)?.content.push(block);
  }
  return turns;
}

function listBlocks(content: JsonValue | undefined): JsonValue[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return Array.isArray(content) ? content : [];
}

function readTask(
  body: JsonValue,
  turns: readonly JoinedTurn[],
  media: readonly DecodedMedia[][],
  model: string,
): TextTask {
  const last = turns.findLastIndex(({ role }) => role === 'user');
  const texts = turns.map(({ content }) => joinTexts(content));
  const between = listAt(body, 'messages').filter((message) => textAt(message, 'role') === 'system');
  const system = [valueAt(body, 'system'), ...between.map((message) => valueAt(message, 'content'))].map(joinTexts);
  const format = objectAt(objectAt(body, 'output_config'), 'format') ?? objectAt(body, 'output_format');
  return {
    model,
    prompt: texts[last] ?? '',
    system: system.filter((text) => text !== '').join('\n') || undefined,
    earlier: texts.filter((text, index) => index < last && turns[index]?.role === 'user' && text !== ''),
    media: (turns[last]?.places ?? []).flatMap((place) => media[place] ?? []),
    toolResults: toolResults(turns, last),
    tools: listAt(body, 'tools').flatMap(toolOffer),
    choice: readToolChoice(objectAt(body, 'tool_choice')),
    schema: valueAt(format, 'schema'),
    json: format !== undefined,
    thinking: ['enabled', 'adaptive'].includes(textAt(objectAt(body, 'thinking'), 'type') ?? ''),
    maxTokens: numberAt(body, 'max_tokens'),
    stop: textsAt(body, 'stop_sequences'),
  };
}

function joinTexts(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.flatMap((block) => (textAt(block, 'type') === 'text' ? (textAt(block, 'text') ?? []) : [])).join('\n');
}

function toolResults(turns: readonly JoinedTurn[], last: number): { name: string; text: string }[] {
  const calls = turns.flatMap(({ content }) => content);
  return (turns[last]?.content ?? []).flatMap((block) => {
    if (textAt(block, 'type') !== 'tool_result') return [];
    const call = calls.find((candidate) => textAt(candidate, 'id') === textAt(block, 'tool_use_id'));
    return [{ name: textAt(call, 'name') ?? '', text: joinTexts(valueAt(block, 'content')) }];
  });
}

function toolOffer(tool: JsonValue): ToolOffer[] {
  const schema = valueAt(tool, 'input_schema');
  const name = textAt(tool, 'name');
  return schema === undefined || name === undefined ? [] : [{ name, schema }];
}

function readToolChoice(choice: JsonObject | undefined): ToolChoice {
  const type = textAt(choice, 'type') ?? 'auto';
  const name = textAt(choice, 'name');
  if (type === 'tool' && name !== undefined) return { mode: 'any', names: [name] };
  return { mode: type === 'any' || type === 'none' ? type : 'auto' };
}

/** Every Base64 source, also inside tool results. Throws Violation if the bytes are not of the declared media type. */
function readMedia(content: JsonValue | undefined, path: Path): DecodedMedia[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((block, index) => {
    const at = [...path, index];
    const source = objectAt(block, 'source');
    if (textAt(block, 'type') === 'tool_result') return readMedia(valueAt(block, 'content'), [...at, 'content']);
    return source && textAt(source, 'type') === 'base64' ? [decodeSource(source, [...at, 'source'])] : [];
  });
}

function decodeSource(source: JsonObject, path: Path): DecodedMedia {
  const mimeType = textAt(source, 'media_type') ?? '';
  const bytes = decodeBase64(textAt(source, 'data') ?? '', [...path, 'base64', 'data']);
  const real = sniffMediaType(bytes);
  if (real !== undefined && real !== mimeType) {
    const text = `The image was specified using the ${mimeType} media type, but the image appears to be a ${real} image`;
    throw badValue([...path, 'base64'], text);
  }
  return { mimeType, bytes, path: [...path, 'base64', 'data'] };
}
