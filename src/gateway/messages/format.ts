import type { JsonObject, JsonValue } from '../../library/index.ts';
import { decodeBase64, flagAt, listAt, objectAt, sniffMediaType, textAt, valueAt } from '../fields/read.ts';
import { decodeMessagesRequest } from '../../library/formats/messages/decode.ts';
import { readTask } from '../models/read-task.ts';
import type { GatewayFormat, GatewayOperation, OperationCount, Path } from '../types.ts';
import { listPage } from '../http/reply.ts';
import { findLocalModel, type LocalModel, modelDate } from '../models/local.ts';
import { Problem } from '../problem.ts';
import { messagesError, messagesReply, messagesStream, messagesViolation } from './reply.ts';
import { messagesBody } from './fields.ts';
import { badValue } from '../fields/rule.ts';
import type { DecodedMedia, TextTask, ToolChoice, ToolOffer } from '../models/task.ts';

const writes = ({ draws }: LocalModel): boolean => !draws;

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
  listModels: (models) => listPage(models.map(encodeModel)),
  encodeModel,
};

function encodeModel({ id, title }: LocalModel): JsonObject {
  return { type: 'model', id, display_name: title, created_at: modelDate };
}

/** `POST /v1/messages`. */
export const messagesOperation: GatewayOperation = {
  serves: writes,
  modelOf: (_request, body) => textAt(body, 'model'),
  check: (body, mode) => messagesBody(body, [], mode),
  fallback: () => 'local-chat',
  read(checked, model, _request, { inBatch }) {
    return {
      task: toTask(checked, model),
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

function toTask(body: JsonObject, model: string): TextTask {
  const messages = listAt(body, 'messages');
  const media = messages.map((message, index) =>
    readMedia(valueAt(message, 'content'), ['messages', index, 'content']),
  );
  // The user's last turn can be of several messages, with words of the system between them.
  const last = messages.findLastIndex((message) => textAt(message, 'role') === 'user');
  const begin = messages.findLastIndex((message, index) => index < last && textAt(message, 'role') === 'assistant') + 1;
  return readTask(decodeMessagesRequest(body), {
    model,
    media: media.slice(begin, last + 1).flat(),
    tools: listAt(body, 'tools').flatMap(toolOffer),
    choice: readToolChoice(objectAt(body, 'tool_choice')),
    json: (objectAt(objectAt(body, 'output_config'), 'format') ?? objectAt(body, 'output_format')) !== undefined,
    thinking: ['enabled', 'adaptive'].includes(textAt(objectAt(body, 'thinking'), 'type') ?? ''),
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

/** Reads every Base64 source, also inside tool results. Throws Violation if the bytes are not of the declared media type. */
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
