import { type Body, getBodyObject, setFields } from '../body.ts';
import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import { closedFormats, closedKeywords, closedMinItems } from '../vendors/schema-forms.ts';
import type { AnyApiRequest } from './format.ts';

/*
 * A service can take a part of JSON Schema, or none. What it does not take is said to the model in words; the answer is checked
 * against the user's own schema in any case.
 */

/** A schema in the closed form: objects allow no other properties, and the keywords that it lacks stand in the description. */
export function closeSchema(schema: JsonValue): JsonValue {
  if (!isObject(schema)) return schema;
  // It says nothing about a value.
  const { $schema: _, oneOf, ...own } = schema;
  const given: JsonObject = oneOf !== undefined && own['anyOf'] === undefined ? { ...own, anyOf: oneOf } : own;
  const isAnObject = [given['type']].flat().includes('object') || isObject(given['properties']);
  const kept = Object.entries(given).filter(([name, value]) => isTaken(name, value));
  const said = Object.entries(given).filter(
    ([name, value]) => !isTaken(name, value) && !(name === 'additionalProperties' && typeof value === 'boolean'),
  );
  const closed = Object.fromEntries(kept.map(([name, value]) => [name, closeInside(name, value)]));
  return {
    ...(isAnObject && { type: 'object', properties: {} }),
    ...closed,
    ...(isAnObject && { additionalProperties: false }),
    ...(said.length > 0 && { description: describeKeywords(given['description'], said) }),
  };
}

function isTaken(name: string, value: JsonValue): boolean {
  if (name === 'format') return closedFormats.has(value);
  if (name === 'minItems') return closedMinItems.has(value);
  return closedKeywords.has(name);
}

/** The schemas that a keyword holds, in the closed form; any other value as it is. */
function closeInside(name: string, value: JsonValue): JsonValue {
  if (name === 'items') return closeSchema(value);
  if (name === 'anyOf' || name === 'allOf') return Array.isArray(value) ? value.map(closeSchema) : value;
  if (!['properties', '$defs', 'definitions'].includes(name) || !isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closeSchema(inner)]));
}

function describeKeywords(description: JsonValue | undefined, said: readonly [string, JsonValue][]): string {
  const words = `{${said.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(', ')}}`;
  return typeof description === 'string' ? `${description}\n\n${words}` : words;
}

/** A request of the completions format that asks for JSON, with its schema in the words of the system text. */
export function withSchemaInWords(body: Body): Body {
  const format = getBodyObject(getBodyObject(body, 'response_format'), 'json_schema');
  if (format['schema'] === undefined) return body;
  const words = `Answer with one JSON value and nothing else. It has to fit this JSON Schema:\n${JSON.stringify(format['schema'])}`;
  const messages = Array.isArray(body['messages']) ? body['messages'] : [];
  const [first, ...rest] = messages;
  const system = isObject(first) && first['role'] === 'system' ? first['content'] : undefined;
  const turns = typeof system === 'string' ? rest : messages;
  const content = typeof system === 'string' ? `${system}\n\n${words}` : words;
  return { ...body, messages: [{ role: 'system', content }, ...turns], response_format: { type: 'json_object' } };
}

/** What refuses a schema, in the words of Anthropic; and the form of an answer, in those of DeepSeek, Groq and servers of their kind. */
const refusals = {
  messages: /'?additionalProperties'? must be|propert(?:y|ies) '.+' (?:is|are) not supported|output_config\.format/i,
  completions: /response_format|response format|json_schema/i,
} as const;

/** Whether a refusal is about the schema of a request that has one. */
export function refusesSchema(request: AnyApiRequest, message: string): boolean {
  const pattern =
    request.format === 'messages' || request.format === 'completions' ? refusals[request.format] : undefined;
  return pattern?.test(message) === true && withPlainerSchema(request) !== request;
}

/** The request with its schema in the form that every service of its format takes; the same one if there is nothing to change. */
export function withPlainerSchema<Request extends AnyApiRequest>(request: Request): Request {
  const { format, body = {} } = request;
  const changed =
    format === 'messages' ? withClosedSchema(body) : format === 'completions' ? withSchemaInWords(body) : body;
  return changed === body ? request : { ...request, body: changed };
}

function withClosedSchema(body: Body): Body {
  const config = getBodyObject(body, 'output_config');
  const format = getBodyObject(config, 'format');
  if (format['schema'] === undefined) return body;
  const schema = closeSchema(format['schema'] as JsonValue);
  if (JSON.stringify(schema) === JSON.stringify(format['schema'])) return body;
  return setFields(body, { output_config: { ...config, format: { ...format, schema } } });
}
