import { isObject, type JsonValue, objectField } from '../../json.ts';
import { type Body, type BodyValue, getBodyObject, setFields } from '../../body.ts';
import { usageError } from '../../errors.ts';
import type { Format } from '../format.ts';
import { readLimits } from '../limits.ts';
import { isPlainTool, type PlainRequest, plainTool, type Turn } from '../plain-request.ts';
import { withProperties } from '../strict-schema.ts';
import { withSearch } from '../search-tool.ts';
import { searchedPages, searchTools } from '../../vendors/search.ts';
import type { Quirks } from '../types.ts';
import { encodeAnswerType, encodeToolChoice, withoutForcedCall } from '../openai-fields.ts';
import { encodePrompt } from '../openai-parts.ts';
import { inputParts, nameResults, turnItems } from './items.ts';
import { encryptedThinking } from './thinking.ts';
import { listToolNames } from './output.ts';
import { createResponsesDecoder } from './reply.ts';

/** OpenAI's responses format: `POST /v1/responses` (formats 8). The service keeps nothing: each request has all turns. */
export const responses: Format = {
  name: 'responses',
  encode(request, quirks) {
    const body = encodeResponsesBody(request, quirks);
    if (request.stream === false) delete body['stream'];
    return { path: '/v1/responses', body, ...(body['stream'] === true && { accept: 'text/event-stream' }) };
  },
  append: appendTurns,
  createDecoder: createResponsesDecoder,
  missingEnd: 'the stream ended without response.completed',
  models: () => ({ path: '/v1/models', query: '' }),
  toolNames: listToolNames,
  counting: {
    tokens: (body) => ({
      path: '/v1/responses/input_tokens',
      body: Object.fromEntries(countedFields.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]]))),
    }),
    model: (model) => ({ path: `/v1/models/${encodeURIComponent(model)}` }),
  },
  limits: (body) => readLimits([body], { maxTokens: ['max_output_tokens'], candidates: [] }),
};

/** The fields that count; the operation refuses all others. */
const countedFields = [
  'model',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'text',
  'reasoning',
  'truncation',
];

function encodeResponsesBody(request: PlainRequest, quirks: Quirks): Body {
  const body = request.body ?? {};
  return setFields(body, {
    model: request.model,
    instructions: request.system,
    input: encodeInput(request, body, quirks),
    max_output_tokens: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    tools: withSearch(request.tools?.map(encodeTool), request, searchTools.responses),
    tool_choice: encodeToolChoice(request.toolChoice, (name) => ({ type: 'function', name })),
    text: encodeText(request, body),
    reasoning: encodeReasoning(request, body),
    metadata: request.metadata,
    service_tier: request.tier,
    // The service would keep the text for 30 days.
    store: request.store ? undefined : (body['store'] ?? false),
    include: encodeInclude(request, body),
    stream: request.stream ? true : undefined,
  });
}

/** A request with an effort also asks for the service's summary of the thinking. */
function encodeReasoning({ effort }: PlainRequest, body: Body): BodyValue | undefined {
  if (effort === undefined) return undefined;
  const given = getBodyObject(body, 'reasoning');
  return setFields(effort === 'none' ? {} : { summary: 'auto' }, { ...given, effort });
}

/**
 * The values of `include`. In a conversation the thinking goes back; a single text has no use for it. A search should name the
 * pages that it read.
 */
function encodeInclude({ use, search }: PlainRequest, { include }: Body): BodyValue | undefined {
  const given = Array.isArray(include) ? include : [];
  const wanted = [...(use === 'chat' ? [encryptedThinking] : []), ...(search ? [searchedPages] : [])];
  const lacking = wanted.filter((word) => !given.includes(word));
  return lacking.length === 0 ? undefined : [...given, ...lacking];
}

function encodeInput(request: PlainRequest, body: Body, { service }: Quirks): BodyValue | undefined {
  const { turns, ownTurns, results = [] } = request;
  const given = ownTurns?.flatMap(ownItems) ?? turns?.flatMap((turn) => turnItems(turn, service));
  const added = [...turnItems({ role: 'user', content: results }, service), ...encodePrompt(request, inputParts)];
  if (given === undefined && added.length === 0) return undefined;
  return nameResults([...(given ?? inputItems(body)), ...added]);
}

/** An item of the user's own; an item whose content is in the words of plain turns is a turn. */
function ownItems(item: JsonValue): readonly BodyValue[] {
  const blocks = isObject(item) && Array.isArray(item['content']) ? item['content'].filter(isObject) : [];
  const isTurn = blocks.some(({ type }) => typeof type === 'string' && plainBlocks.has(type));
  return isTurn ? turnItems(item as unknown as Turn, '') : [item];
}

/** Kinds of blocks that this format does not have. */
const plainBlocks = new Set(['text', 'image', 'document', 'tool_use', 'tool_result', 'thinking']);

/** The items of a body, whose input may be one text. Throws GatewayError usage for anything else. */
function inputItems({ input = [] }: Body): readonly BodyValue[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  if (Array.isArray(input)) return input;
  throw usageError("'input' in the body is neither a text nor an array, so the prompt cannot follow it");
}

/** Adds further turns after those of a body. */
function appendTurns(body: Body, turns: readonly Turn[], { service }: Quirks): Body {
  return {
    ...withoutForcedCall(body),
    input: nameResults([...inputItems(body), ...turns.flatMap((turn) => turnItems(turn, service))]),
  };
}

/**
 * A tool in this format's form, from a plain tool or a tool of another format; a tool of this format stays as it is. Without
 * `strict: false` the service would make a strict schema of the tool's where it can: then the model fills every field.
 */
function encodeTool(tool: JsonValue): BodyValue {
  if (!isObject(tool)) return tool;
  const nested = tool['type'] === 'function' ? objectField(tool, 'function') : undefined;
  if (nested === undefined && !isPlainTool(tool) && !('input_schema' in tool)) return tool;
  const { name, description, schema = { type: 'object', properties: {} }, own } = plainTool(nested ?? tool);
  const described = setFields({ type: 'function', name }, { description, parameters: withProperties(schema) });
  return { ...described, strict: own['strict'] ?? false };
}

function encodeText(request: PlainRequest, body: Body): BodyValue | undefined {
  const format = encodeAnswerType(request, 'responses', (schema) => schema);
  return format && setFields(getBodyObject(body, 'text'), { format });
}
