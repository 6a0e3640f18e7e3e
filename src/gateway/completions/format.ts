import type { IncomingHttpHeaders } from 'node:http';
import { findOwn, isObject, type JsonObject, type JsonValue } from '../../library/index.ts';
import {
  decodeBase64,
  flagAt,
  listAt,
  numberAt,
  objectAt,
  plainMediaType,
  sniffMediaType,
  textAt,
  textsAt,
  valueAt,
} from '../fields/read.ts';
import { decodeCompletionsRequest } from '../../library/formats/completions/decode.ts';
import { readTask } from '../models/read-task.ts';
import type { GatewayFormat, GatewayOperation, Path } from '../types.ts';
import { drawsByName, type LocalModel, modelSeconds } from '../models/local.ts';
import { completionsError, completionsReply, completionsStream, completionsViolation, unknownModel } from './reply.ts';
import { completionsBody } from './fields.ts';
import { badValue } from '../fields/rule.ts';
import { customTool, type DecodedMedia, type TextTask, type ToolChoice, type ToolOffer } from '../models/task.ts';

/** The completions format: OpenAI's chat completions and images. */
export const completionsFormat: GatewayFormat = {
  name: 'completions',
  claims: (path, headers) =>
    /^\/v1\/(?:chat|images|responses|embeddings|audio|moderations)(?:\/|$)/.test(path) ||
    (/^\/v1\/(?:models(?:\/[^:]*)?|(?:files|batches)(?:\/.*)?)$/.test(path) && hasBearerAlone(headers)),
  idHeader: 'x-request-id',
  keyForms: ['bearer'],
  wrongKey: 'Incorrect API key provided.',
  error: completionsError,
  violation: completionsViolation,
  unknownModel: (model, served) => unknownModel(model, ` The local gateway has ${served}.`),
  offers: () => true,
  listModels: (models) => ({ object: 'list', data: models.map(encodeModel) }),
  encodeModel,
};

/** Clients of the messages format name a version beside their token. */
function hasBearerAlone({ authorization, ...headers }: IncomingHttpHeaders): boolean {
  const others = ['anthropic-version', 'vendor-b-version', 'x-api-key', 'x-goog-api-key', 'x-vendor-a-api-key'];
  return authorization !== undefined && others.every((name) => headers[name] === undefined);
}

function encodeModel({ id }: LocalModel): JsonObject {
  return { id, object: 'model', created: modelSeconds, owned_by: 'gateway-cli' };
}

/** `/v1/chat/completions`. */
export const completionsOperation: GatewayOperation = {
  serves: () => true,
  modelOf: (_request, body) => textAt(body, 'model'),
  check: (body, mode) => completionsBody(body, [], mode),
  fallback(requested, checked) {
    if (!drawsByName(requested) && !asksForImage(checked)) return 'local-chat';
    return holdsImage(checked) ? 'local-edit' : 'local-image';
  },
  read(checked, model) {
    const messages = listAt(checked, 'messages');
    const last = messages.findLastIndex(isUser);
    const modalities = textsAt(checked, 'modalities');
    const image = objectAt(checked, 'image_config');
    const place = ['messages', Math.max(0, last), 'content'];
    return {
      task: toTask(checked, messages, last, model),
      candidates: numberAt(checked, 'n') ?? 1,
      stream: flagAt(checked, 'stream'),
      functionCalls: checked['functions'] !== undefined,
      streamUsage: flagAt(objectAt(checked, 'stream_options'), 'include_usage'),
      showThinking: true,
      tier: textAt(checked, 'service_tier')?.replace('auto', 'default'),
      image: {
        isAsked: asksForImage(checked),
        aspectRatio: textAt(image, 'aspect_ratio'),
        imageSize: textAt(image, 'image_size'),
        withoutText: modalities.length > 0 && !modalities.includes('text'),
        promptPath: place,
        imagePath: place,
      },
    };
  },
  wantsImage: ({ image }) => image.isAsked,
  reply: completionsReply,
  contentType: 'application/json',
  stream: completionsStream,
};

/** Whether a checked body names an image as the answer. */
function asksForImage(checked: JsonObject): boolean {
  return objectAt(checked, 'image_config') !== undefined || textsAt(checked, 'modalities').includes('image');
}

/** Whether the last user message of a checked body holds an image. */
function holdsImage(checked: JsonObject): boolean {
  const turn = listAt(checked, 'messages').findLast(isUser);
  return listAt(turn, 'content').some((part) => textAt(part, 'type') === 'image_url');
}

function isUser(message: JsonValue): boolean {
  return textAt(message, 'role') === 'user';
}

function toTask(body: JsonObject, messages: readonly JsonValue[], last: number, model: string): TextTask {
  const kind = textAt(objectAt(body, 'response_format'), 'type');
  return readTask(decodeCompletionsRequest(body), {
    model,
    media: readMedia(valueAt(messages[last], 'content'), ['messages', last, 'content']),
    tools: [...listAt(body, 'tools').flatMap(readTool), ...listAt(body, 'functions').flatMap(toolOffer)],
    choice: readToolChoice(valueAt(body, 'tool_choice') ?? toToolChoice(valueAt(body, 'function_call'))),
    json: kind === 'json_schema' || kind === 'json_object',
    thinking: (textAt(body, 'reasoning_effort') ?? 'none') !== 'none' || objectAt(body, 'reasoning') !== undefined,
  });
}

function toToolChoice(choice: JsonValue | undefined): JsonValue | undefined {
  return isObject(choice) ? { type: 'function', function: choice } : choice;
}

/** The name of a tool in a call, in a choice or in a list of allowed tools. */
function calledName(tool: JsonValue | undefined): string | undefined {
  return textAt(objectAt(tool, 'function') ?? objectAt(tool, 'custom'), 'name');
}

function readTool(tool: JsonValue): ToolOffer[] {
  const name = textAt(valueAt(tool, 'custom'), 'name');
  if (name !== undefined) return [customTool(name)];
  return toolOffer(valueAt(tool, 'function'));
}

function toolOffer(offer: JsonValue | undefined): ToolOffer[] {
  const name = textAt(offer, 'name');
  return name === undefined ? [] : [{ name, schema: valueAt(offer, 'parameters') }];
}

function readToolChoice(choice: JsonValue | undefined): ToolChoice {
  const allowed = objectAt(choice, 'allowed_tools');
  const mode = typeof choice === 'string' ? choice : (textAt(allowed, 'mode') ?? (choice ? 'required' : 'auto'));
  const named = allowed ? listAt(allowed, 'tools') : [choice ?? null];
  const names = named.flatMap((tool) => calledName(tool) ?? []);
  const modes: Record<string, ToolChoice['mode']> = { required: 'any', none: 'none' };
  return { mode: findOwn(modes, mode) ?? 'auto', names: names.length > 0 ? names : undefined };
}

/** The images and files of a message that it holds itself; addresses are not fetched. Throws Violation. */
function readMedia(content: JsonValue | undefined, path: Path): DecodedMedia[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((part, index) => {
    const image = valueAt(part, 'image_url');
    const at = [...path, index];
    if (typeof image === 'string') return readDataUrl(image, [...at, 'image_url']);
    const url = textAt(image, 'url');
    if (url !== undefined) return readDataUrl(url, [...at, 'image_url', 'url']);
    const file = textAt(objectAt(part, 'file'), 'file_data');
    return file === undefined ? [] : readDataUrl(file, [...at, 'file', 'file_data']);
  });
}

/** The file in a data URL; undefined for another URL. Throws Violation. */
export function readDataUrl(url: string, path: Path): DecodedMedia[] {
  if (/^https?:/i.test(url)) return [];
  const [, declared, data = ''] = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w.=-]+)*;base64,(.*)$/is.exec(url) ?? [];
  if (declared === undefined) throw badValue(path, 'Expected an http(s) URL or a base64-encoded data URL.');
  const bytes = decodeBase64(data, path);
  return [{ mimeType: sniffMediaType(bytes) ?? plainMediaType(declared), bytes, path }];
}
