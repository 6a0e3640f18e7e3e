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
  read(checked, model, { version }, { inBatch }) {
    const messages = listAt(checked, 'messages');
    const media = messages.map((message, index) =>
      readMedia(valueAt(message, 'content'), ['messages', index, 'content']),
    );
    checkThread(checked);
    checkContents(messages);
    const turns = joinTurns(messages);
    checkCalls(turns);
    checkSettings(checked);
    checkVersionRules(checked, version);
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

/** No thread is kept: this error makes a client send the whole conversation. Throws Problem 404. */
function checkThread(body: JsonValue): void {
  if (textAt(objectAt(body, 'thread'), 'type') !== 'continue') return;
  const message = 'The local gateway keeps no threads: send all messages, without thread.';
  throw new Problem(404, message, { errorCode: 'thread_not_found' });
}

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

/** Every message says something, except an answer that is begun at the end. Throws Violation. */
function checkContents(messages: readonly JsonValue[]): void {
  for (const [index, message] of messages.entries()) {
    if (listBlocks(valueAt(message, 'content')).length > 0) continue;
    if (index === messages.length - 1 && textAt(message, 'role') === 'assistant') continue;
    const rule = 'all messages must have non-empty content except for the optional final assistant message';
    throw badValue(['messages', index], rule);
  }
}

/** Every call is answered in the next turn, which answers nothing else. Throws Violation. */
function checkCalls(turns: readonly JoinedTurn[]): void {
  for (const [index, turn] of turns.entries()) {
    const [before, next] = [turns[index - 1], turns[index + 1]];
    const answered = listIds(next, 'tool_result', 'tool_use_id');
    const unanswered = listIds(turn, 'tool_use', 'id').filter((id) => !answered.includes(id));
    if (unanswered.length > 0) {
      const found = '`tool_use` ids were found without `tool_result` blocks immediately after';
      throw badValue(['messages', turn.places.at(-1) ?? 0], `${found}: ${unanswered.join(', ')}`);
    }
    const called = listIds(before, 'tool_use', 'id');
    const lone = listIds(turn, 'tool_result', 'tool_use_id').find((id) => !called.includes(id));
    if (lone === undefined) continue;
    const found = `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${lone}`;
    throw badValue(['messages', turn.places[0] ?? 0, 'content'], found);
  }
}

function listIds(turn: JoinedTurn | undefined, type: string, field: string): string[] {
  const blocks = turn?.content ?? [];
  return blocks.flatMap((block) => (textAt(block, 'type') === type ? (textAt(block, field) ?? []) : []));
}

function checkSettings(body: JsonValue): void {
  const thinking = objectAt(body, 'thinking');
  const budget = numberAt(thinking, 'budget_tokens');
  if (textAt(thinking, 'type') === 'enabled') {
    if (budget === undefined) throw badValue(['thinking', 'budget_tokens'], 'Field required');
    if (budget >= (numberAt(body, 'max_tokens') ?? 0)) {
      throw badValue(['thinking', 'budget_tokens'], '`max_tokens` must be greater than `thinking.budget_tokens`');
    }
  }
  const choice = objectAt(body, 'tool_choice');
  const names = listAt(body, 'tools').map((tool) => textAt(tool, 'name'));
  const type = textAt(choice, 'type');
  if (type === 'tool' && !names.includes(textAt(choice, 'name'))) {
    throw badValue(['tool_choice', 'name'], `tool '${textAt(choice, 'name') ?? ''}' not found in provided tools`);
  }
  if (type !== undefined && type !== 'none' && names.length === 0) {
    throw badValue(['tool_choice'], 'tool_choice may only be specified while providing tools');
  }
}

/** The first version that refuses fields which newer models do not support. */
const firstStrictVersion = '2026-10-21';

/** Fields that take only their default value; undefined means that the field must be absent. */
const samplingDefaults = { temperature: 1, top_p: 1, top_k: undefined };

const prefill = 'This model does not support assistant message prefill. The conversation must end with a user message.';

/** Refuses what only older versions allow. Versions are dates. Throws Problem 400. */
function checkVersionRules(body: JsonObject, version = ''): void {
  if (version < firstStrictVersion) return;
  for (const [name, usual] of Object.entries(samplingDefaults)) {
    if ((body[name] ?? usual) !== usual) throw new Problem(400, `\`${name}\` is deprecated for this model.`);
  }
  const choice = textAt(objectAt(body, 'tool_choice'), 'type');
  if (choice === 'any' || choice === 'tool') {
    throw new Problem(400, `tool_choice.type: '${choice}' forces tool use, which this model does not support`);
  }
  if (textAt(listAt(body, 'messages').at(-1), 'role') === 'assistant') throw new Problem(400, prefill);
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
