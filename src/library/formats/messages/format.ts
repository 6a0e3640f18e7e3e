import { isObject, type JsonObject, type JsonValue, textField } from '../../json.ts';
import { type Body, type BodyValue, getBodyObject, setFields } from '../../body.ts';
import { type Format, turnsIn } from '../format.ts';
import { readLimits } from '../limits.ts';
import { createMessagesDecoder } from './reply.ts';
import { type PlainRequest, lastTurn, type Turn, isPlainTool, plainTool } from '../plain-request.ts';
import { withSearch } from '../search-tool.ts';
import { searchTools } from '../../vendors/search.ts';
import type { Quirks } from '../types.ts';
import { withClosedSchema } from '../schema-form.ts';
import { findEffortRule } from '../../vendors/effort.ts';

/** The messages format: `POST /v1/messages` (formats 3 and 4). */
export const messages: Format = {
  name: 'messages',
  encode(request, quirks) {
    const body = encodeMessagesBody(request, quirks);
    if (request.stream === false) delete body['stream'];
    return { path: '/v1/messages', body, ...(body['stream'] === true && { accept: 'text/event-stream' }) };
  },
  append(body, turns, { service }) {
    const { tool_choice: choice, messages: earlier } = body;
    const all = [...(Array.isArray(earlier) ? earlier : []), ...messagesTurns(turns, service)];
    const longer: Body = { ...body, messages: all };
    // A choice that forces a call would force one after each result, for ever.
    if (isObject(choice) && (choice['type'] === 'any' || choice['type'] === 'tool')) delete longer['tool_choice'];
    return longer;
  },
  // All blocks so far become one turn of the assistant, and no user turn follows it.
  goOn(body, { content }) {
    if (content.length === 0) return undefined;
    return { ...body, messages: [...turnsIn(body, 'messages'), { role: 'assistant', content: [...content] }] };
  },
  createDecoder: createMessagesDecoder,
  missingEnd: 'the stream ended without its end marker',
  models(token) {
    const query = new URLSearchParams({ limit: '1000', ...(token !== undefined && { after_id: token }) });
    return { path: '/v1/models', query: query.toString() };
  },
  toolNames({ tools }) {
    if (!Array.isArray(tools)) return [];
    return tools.flatMap((tool) => (isObject(tool) && typeof tool['name'] === 'string' ? tool['name'] : []));
  },
  counting: {
    tokens: (body) => ({
      path: '/v1/messages/count_tokens',
      body: Object.fromEntries(countedFields.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]]))),
    }),
    model: (model) => ({ path: `/v1/models/${encodeURIComponent(model)}` }),
  },
  limits: (body) => ({ ...readLimits([body], { maxTokens: ['max_tokens'], candidates: [] }), images: 0 }),
};

/** The fields that count; the operation refuses all others. */
const countedFields = [
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'mcp_servers',
];

/** The format demands `max_tokens`. */
const defaultMaxTokens = 4096;

/**
 * The body of a messages-format request (formats 3): `body` of the plain request first, the other fields over it. Nothing is sent that
 * is not set, but for the limit that the format demands. Throws usage if the body's `messages` is not an array.
 */
function encodeMessagesBody(request: PlainRequest, quirks: Quirks): Body {
  const body = request.body ?? {};
  const given = body['max_tokens'];
  const encoded = setFields(body, {
    model: request.model,
    max_tokens: request.maxTokens ?? (typeof given === 'number' ? given : defaultMaxTokens),
    system: request.system,
    messages: encodeThread(request, body, quirks),
    stream: request.stream ? true : undefined,
    temperature: request.temperature,
    top_p: request.topP,
    top_k: request.topK,
    stop_sequences: request.stop?.length ? [...request.stop] : undefined,
    tools: withSearch(request.tools?.map(messagesTool), request, searchTools.messages),
    tool_choice: encodeToolChoice(request.toolChoice),
    metadata: request.metadata,
    thinking: encodeThinking(request, body),
    output_config: encodeOutputConfig(request, body),
  });
  return quirks.schema === 'closed' ? withClosedSchema(encoded) : encoded;
}

function encodeThread(request: PlainRequest, body: Body, { service }: Quirks): BodyValue | undefined {
  const { ownTurns, turns } = request;
  const given: BodyValue[] | undefined = ownTurns ? [...ownTurns] : turns && messagesTurns(turns, service);
  const last = lastTurn(request);
  const content: BodyValue | undefined = typeof last === 'string' ? last : last && [...last];
  if (content === undefined) return given;
  return [...(given ?? turnsIn(body, 'messages')), { role: 'user', content }];
}

/**
 * Turns in the form of the wire: without signatures of other services, blocks that only one format knows, and blank texts, which
 * the service refuses.
 */
function messagesTurns(turns: readonly Turn[], service: string): BodyValue[] {
  return turns.flatMap(({ role, content, service: by = service }): BodyValue[] => {
    if (typeof content === 'string') return content.trim() === '' ? [] : [{ role, content }];
    const own: BodyValue[] = by === service ? [...content] : content.flatMap(unsigned);
    const blocks = own.filter((block) => !isBlankText(block));
    return blocks.length === 0 && content.length > 0 ? [] : [{ role, content: blocks }];
  });
}

function isBlankText(block: BodyValue): boolean {
  return isObject(block) && block['type'] === 'text' && (textField(block as JsonObject, 'text') ?? '').trim() === '';
}

function unsigned(block: BodyValue): BodyValue[] {
  if (!isObject(block)) return [];
  const { signature: _, ...rest } = block as JsonObject;
  // The sources of a text, and other fields of another service, are left out: only that service knows them.
  if (rest['type'] === 'text') return [{ type: 'text', text: rest['text'] ?? '' }];
  return typeof rest['type'] === 'string' && portable.has(rest['type']) ? [rest] : [];
}

/** Blocks that every service understands alike. */
const portable = new Set(['text', 'image', 'document', 'tool_use', 'tool_result']);

/** A tool of the format stays unchanged; the plain form has another name for the schema. */
function messagesTool(tool: JsonValue): JsonValue {
  if (!isObject(tool) || !isPlainTool(tool) || 'input_schema' in tool) return tool;
  const { name, description, schema = { type: 'object' }, own } = plainTool(tool);
  return { name, ...(description !== undefined && { description }), ...own, input_schema: schema };
}

function encodeToolChoice(choice: PlainRequest['toolChoice']): JsonObject | undefined {
  if (choice === undefined || typeof choice !== 'string') return choice;
  return choice.startsWith('tool:') ? { type: 'tool', name: choice.slice('tool:'.length) } : { type: choice };
}

function encodeOutputConfig({ schema, effort = 'none' }: PlainRequest, body: Body): Body | undefined {
  if (schema === undefined && effort === 'none') return undefined;
  return setFields(getBodyObject(body, 'output_config'), {
    effort: effort === 'none' ? undefined : effort,
    format: schema === undefined ? undefined : { type: 'json_schema', schema },
  });
}

/** The format has no effort for no thinking: thinking is turned off. */
function encodeThinking({ effort, efforts, model }: PlainRequest, body: Body): Body | undefined {
  if (effort !== 'none') return undefined;
  return { ...getBodyObject(body, 'thinking'), type: (efforts ?? findEffortRule(model))?.off ?? 'disabled' };
}
