import { isObject, type JsonObject, type JsonValue, objectField, textField } from '../../json.ts';
import { type Body, type BodyValue, objectAt, setFields, unlessEmpty } from '../../body.ts';
import { type Format, sideOf, turnsIn } from '../format.ts';
import { limitsOf } from '../limits.ts';
import { encodeImages } from './images.ts';
import { createCompletionsDecoder } from './reply.ts';
import { usageError } from '../../errors.ts';
import { type Ask, type Encoded, type Turn, isPlainTool, plainTool } from '../ask.ts';
import { mediaPart, turnMessages } from './turns.ts';
import type { Quirks } from '../types.ts';

/** The format of OpenAI's chat completions, and of its operations for images (formats 7). */
export const completions: Format = {
  name: 'completions',
  encode: (ask, quirks) => {
    const isPicture = ask.use === 'image' || ask.use === 'edit';
    return isPicture && quirks.imagesOperation ? encodeImages(ask) : encodeChat(ask, quirks);
  },
  append: appendTurns,
  createDecoder: createCompletionsDecoder,
  patience: { stopped: 5000, ended: 200 },
  missingEnd: 'the stream ended without a finish reason',
  models: () => ({ path: '/v1/models', query: '' }),
  toolNames: ({ tools }) => (Array.isArray(tools) ? tools.flatMap(nameOf) : []),
  limits: (body) => limitsOf([body], { maxTokens: ['max_tokens', 'max_completion_tokens'], candidates: ['n'] }),
};

function nameOf(tool: BodyValue): string[] {
  if (!isObject(tool)) return [];
  const held: JsonObject = objectField(tool, 'function') ?? objectField(tool, 'custom') ?? tool;
  const name = textField(held, 'name');
  return name === undefined ? [] : [name];
}

/** A chat completion (formats 7): `ask.body` first, the other fields over it. Throws usage for what the format cannot say. */
function encodeChat(ask: Ask, quirks: Quirks): Encoded {
  const body = ask.body ?? {};
  const encoded = setFields(body, {
    model: ask.model,
    messages: messagesOf(ask, body, quirks),
    [quirks.maxTokensField ?? 'max_tokens']: ask.maxTokens,
    temperature: ask.temperature,
    top_p: ask.topP,
    stop: ask.stop?.length ? [...ask.stop] : undefined,
    seed: ask.seed,
    n: ask.candidates,
    tools: ask.tools?.map(toolOf),
    tool_choice: toolChoiceOf(ask.toolChoice),
    response_format: responseFormatOf(ask),
    metadata: ask.metadata,
    service_tier: ask.tier,
    ...pictureFields(ask, body),
  });
  return withStream(encoded, ask, quirks);
}

/** Further turns after those of a body. A choice that forces a call would force one after each result, for ever. */
function appendTurns(body: Body, turns: readonly Turn[], { service }: Quirks): Body {
  const { tool_choice: choice, ...rest } = body;
  const kept = choice === 'auto' || choice === 'none' ? { tool_choice: choice } : {};
  const messages = [...turnsIn(body, 'messages'), ...turns.flatMap((turn) => turnMessages(turn, service))];
  return { ...rest, ...kept, messages };
}

function messagesOf(ask: Ask, body: Body, { service }: Quirks): BodyValue | undefined {
  const { system, turns, ownTurns, results = [] } = ask;
  const given = ownTurns ?? turns?.flatMap((turn) => turnMessages(turn, service));
  const added = [...turnMessages({ role: 'user', content: results }, service), ...promptMessages(ask)];
  if (given === undefined && system === undefined && added.length === 0) return undefined;
  const earlier = given ?? turnsIn(body, 'messages');
  if (system === undefined) return [...earlier, ...added];
  return [{ role: 'system', content: system }, ...earlier.filter((message) => !isSystem(message)), ...added];
}

/** The prompt comes before the inputs that it is about, as in the format's own documents. */
function promptMessages({ prompt, media = [] }: Ask): Body[] {
  if (media.length === 0) return prompt === undefined ? [] : [{ role: 'user', content: prompt }];
  const text = prompt === undefined ? [] : [{ type: 'text', text: prompt }];
  return [{ role: 'user', content: [...text, ...media.map(mediaPart)] }];
}

function isSystem(message: BodyValue): boolean {
  return isObject(message) && (message['role'] === 'system' || message['role'] === 'developer');
}

/** A plain tool, or one as the messages format writes it, in this format's form; one of this format stays as it is. */
function toolOf(tool: JsonValue): BodyValue {
  if (!isObject(tool) || !(isPlainTool(tool) || 'input_schema' in tool)) return tool;
  const { name, description, schema, own } = plainTool(tool);
  const described = { description, parameters: schema, strict: own['strict'] };
  return { type: 'function', function: setFields(name === '' ? {} : { name }, described) };
}

function toolChoiceOf(choice: string | JsonObject | undefined): BodyValue | undefined {
  if (typeof choice !== 'string') return choice;
  if (choice.startsWith('tool:')) return { type: 'function', function: { name: choice.slice('tool:'.length) } };
  return choice === 'any' ? 'required' : choice;
}

/**
 * `strict` is what makes OpenAI hold to a schema, and it refuses every schema that leaves its subset of JSON Schema: so it is
 * set where the schema keeps to it, and otherwise left to the service.
 */
function responseFormatOf({ schema, responseMime }: Ask): BodyValue | undefined {
  if (schema !== undefined) {
    const strict = strictFits(schema) ? true : undefined;
    return { type: 'json_schema', json_schema: setFields({ name: 'reply', schema }, { strict }) };
  }
  if (responseMime === undefined) return undefined;
  if (responseMime === 'application/json') return { type: 'json_object' };
  if (responseMime === 'text/plain') return { type: 'text' };
  throw usageError(
    `the completions format has no answer of type '${responseMime}'`,
    'it has application/json and text/plain',
  );
}

/** Models that answer in words too draw only where they are asked to. */
function pictureFields({ use, aspect, size, mask }: Ask, body: Body): Record<string, BodyValue | undefined> {
  if (use !== 'image' && use !== 'edit') return {};
  if (mask !== undefined)
    throw usageError(
      'pictures by chat have no mask',
      "leave it out and say in the prompt what changes; OpenAI's edits have it",
    );
  const config = setFields(objectAt(body, 'image_config'), { aspect_ratio: aspect, image_size: sideOf(size) });
  return { modalities: body['modalities'] ?? ['image', 'text'], image_config: unlessEmpty(config) };
}

function withStream(body: Body, { stream }: Ask, { includeUsage }: Quirks): Encoded {
  const path = '/v1/chat/completions';
  const { stream: isStreamed, stream_options: options, ...rest } = body;
  if (!(stream ?? isStreamed === true)) return { path, body: stream === undefined ? body : rest };
  const usage = includeUsage ? { include_usage: true, ...objectAt(body, 'stream_options') } : options;
  return { path, body: setFields(rest, { stream: true, stream_options: usage }), accept: 'text/event-stream' };
}

/** Keywords that no strict schema has. */
const refused =
  'allOf oneOf not if then else dependentRequired dependentSchemas patternProperties prefixItems contains'.split(' ');

/** One of these has to say what a value is. */
const kinds = ['type', 'anyOf', '$ref', 'enum', 'const'];

/**
 * Whether a schema keeps to what OpenAI takes with `strict`: an object whose properties are all required, at every level, and
 * no others allowed.
 */
export function strictFits(schema: JsonValue): boolean {
  return isObject(schema) && schema['type'] === 'object' && fits(schema);
}

function fits(schema: JsonValue): boolean {
  if (!isObject(schema) || refused.some((word) => word in schema) || !kinds.some((word) => word in schema))
    return false;
  const { items = [], anyOf = [], properties, $defs, definitions } = schema;
  const named = [properties, $defs, definitions].flatMap((held) => (isObject(held) ? Object.values(held) : []));
  return isClosed(schema) && [items, anyOf, named].flat().every(fits);
}

function isClosed({ type, properties, required, additionalProperties }: JsonObject): boolean {
  if (properties === undefined && ![type].flat().includes('object')) return true;
  const names = isObject(properties) ? Object.keys(properties) : [];
  return additionalProperties === false && names.every((name) => Array.isArray(required) && required.includes(name));
}
