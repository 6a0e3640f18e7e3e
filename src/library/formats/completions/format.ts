import { isObject, type JsonObject, type JsonValue, objectField, textField } from '../../json.ts';
import { type Body, type BodyValue, getBodyObject, setFields, unlessEmpty } from '../../body.ts';
import { type Format, requireLongerSide, turnsIn } from '../format.ts';
import { readLimits } from '../limits.ts';
import { encodeImages } from './images.ts';
import { createCompletionsDecoder } from './reply.ts';
import { settingError, usageError } from '../../errors.ts';
import { findField, plainNames } from '../request-fields.ts';
import { type PlainRequest, type EncodedRequest, type Turn, isPlainTool, plainTool } from '../plain-request.ts';
import { encodeAnswerType, encodeToolChoice, isSystemMessage, withoutForcedCall } from '../openai-fields.ts';
import { encodePrompt } from '../openai-parts.ts';
import { chatParts, completeThinking, turnMessages } from './turns.ts';
import { withSearch } from '../search-tool.ts';
import { searchTools } from '../../vendors/search.ts';
import { withSchemaInWords } from '../schema-form.ts';
import { withProperties } from '../strict-schema.ts';
import type { Quirks } from '../types.ts';

/** The format of OpenAI's chat completions, and of its operations for images (formats 7). */
export const completions: Format = {
  name: 'completions',
  encode: (request, quirks) => {
    const isImage = request.use === 'image' || request.use === 'edit';
    if (isImage && quirks.imagesOperation) return encodeImages(request, quirks.imagesOperation);
    return encodeChat(request, quirks);
  },
  append: appendTurns,
  createDecoder: createCompletionsDecoder,
  missingEnd: 'the stream ended without a finish reason',
  models: () => ({ path: '/v1/models', query: '' }),
  toolNames: ({ tools }) => (Array.isArray(tools) ? tools.flatMap(readToolName) : []),
  limits: (body) => readLimits([body], { maxTokens: ['max_tokens', 'max_completion_tokens'], candidates: ['n'] }),
};

function readToolName(tool: BodyValue): string[] {
  if (!isObject(tool)) return [];
  const definition: JsonObject = objectField(tool, 'function') ?? objectField(tool, 'custom') ?? tool;
  const name = textField(definition, 'name');
  return name === undefined ? [] : [name];
}

/** A chat completion (formats 7): `request.body` first, the other fields over it. Throws usage for a field that the format lacks. */
function encodeChat(request: PlainRequest, quirks: Quirks): EncodedRequest {
  const body = request.body ?? {};
  const encoded = setFields(body, {
    model: request.model,
    messages: encodeChatMessages(request, body, quirks),
    [quirks.maxTokensField ?? 'max_tokens']: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    ...effortField(request, body, quirks),
    stop: request.stop?.length ? [...request.stop] : undefined,
    [quirks.seedField ?? 'seed']: request.seed,
    n: request.candidates,
    ...encodeSearch(request, quirks),
    tool_choice: encodeToolChoice(request.toolChoice, (name) => ({ type: 'function', function: { name } })),
    response_format: encodeAnswerType(request, 'completions', (schema) => ({ json_schema: schema })),
    metadata: request.metadata,
    service_tier: request.tier,
    ...imageRequestFields(request, body),
  });
  return withStream(quirks.schema === 'words' ? withSchemaInWords(encoded) : encoded, request, quirks);
}

function effortField(
  { effort }: PlainRequest,
  body: Body,
  { effort: form }: Quirks,
): Record<string, BodyValue | undefined> {
  if (effort === undefined || form !== 'object') return { reasoning_effort: effort };
  return { reasoning: { ...getBodyObject(body, 'reasoning'), effort } };
}

/** The tools, with the tool for a search. Throws GatewayError usage if it is not known how to ask the service for one. */
function encodeSearch(request: PlainRequest, { search: hasSearch }: Quirks): Record<string, BodyValue | undefined> {
  const tools = request.tools?.map(encodeChatTool);
  if (!request.search) return { tools };
  if (hasSearch) return { tools: withSearch(tools, request, searchTools.openrouter) };
  throw settingError('the completions format has no search tool', { reason: 'no-search' });
}

/** Adds further turns after those of a body. */
function appendTurns(body: Body, turns: readonly Turn[], { service }: Quirks): Body {
  const messages = completeThinking([
    ...turnsIn(body, 'messages'),
    ...turns.flatMap((turn) => turnMessages(turn, service)),
  ]);
  return { ...withoutForcedCall(body), messages };
}

function encodeChatMessages(request: PlainRequest, body: Body, { service }: Quirks): BodyValue | undefined {
  const { system, turns, ownTurns, results = [] } = request;
  const given = ownTurns ?? turns?.flatMap((turn) => turnMessages(turn, service));
  const added = [...turnMessages({ role: 'user', content: results }, service), ...encodePrompt(request, chatParts)];
  if (given === undefined && system === undefined && added.length === 0) return undefined;
  const earlier = completeThinking(given ?? turnsIn(body, 'messages'));
  if (system === undefined) return [...earlier, ...added];
  return [{ role: 'system', content: system }, ...earlier.filter((message) => !isSystemMessage(message)), ...added];
}

/**
 * A tool in this format's form, from a plain tool or a tool in the form of the messages format; a tool of this format stays as it
 * is.
 */
function encodeChatTool(tool: JsonValue): BodyValue {
  if (!isObject(tool) || !(isPlainTool(tool) || 'input_schema' in tool)) return tool;
  const { name, description, schema, own } = plainTool(tool);
  const described = { description, parameters: schema && withProperties(schema), strict: own['strict'] };
  return { type: 'function', function: setFields(name === '' ? {} : { name }, described) };
}

/** Fields that only operations for images have. */
const fieldsOfPictures = plainNames.filter((name) => findField(name)?.isOfImages);

/** Models that answer in words too draw only where they are asked to. */
function imageRequestFields(request: PlainRequest, body: Body): Record<string, BodyValue | undefined> {
  const { use, aspect, size, mask } = request;
  const lacking = fieldsOfPictures.find((field) => request[field] !== undefined);
  if (lacking !== undefined)
    throw settingError(`pictures by chat have no ${lacking}`, { reason: 'no-place', value: lacking });
  if (use !== 'image' && use !== 'edit') return {};
  if (mask !== undefined)
    throw usageError(
      'pictures by chat have no mask',
      "leave it out and say in the prompt what changes; OpenAI's edits have it",
    );
  const config = setFields(getBodyObject(body, 'image_config'), {
    aspect_ratio: aspect,
    image_size: requireLongerSide(size),
  });
  return { modalities: body['modalities'] ?? ['image', 'text'], image_config: unlessEmpty(config) };
}

function withStream(body: Body, { stream }: PlainRequest, { includeUsage }: Quirks): EncodedRequest {
  const path = '/v1/chat/completions';
  const { stream: isStreamed, stream_options: options, ...rest } = body;
  if (!(stream ?? isStreamed === true)) return { path, body: stream === undefined ? body : rest };
  const usage = includeUsage ? { include_usage: true, ...getBodyObject(body, 'stream_options') } : options;
  return { path, body: setFields(rest, { stream: true, stream_options: usage }), accept: 'text/event-stream' };
}
