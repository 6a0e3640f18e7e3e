import { type Body, type BodyValue, getBodyObject, setFields, unlessEmpty } from '../body.ts';
import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import { closedForm, type KeptWords } from '../vendors/schema-forms.ts';
import type { AnyApiRequest } from './format.ts';
import type { FormatName } from './types.ts';
import { findOwn } from '../find-own.ts';

/*
 * A service can take a part of JSON Schema, or none. The rest of the schema is told to the model in words; the answer is checked
 * against the user's own schema in any case.
 */

/** A schema in a closed form: objects allow no other properties, and the keywords that it lacks stand in the description. */
export function closeSchema(schema: JsonValue, form: KeptWords = closedForm): JsonValue {
  if (!isObject(schema)) return schema;
  // `$schema` says nothing about a value.
  const { $schema: _, oneOf, ...own } = schema;
  const given: JsonObject = oneOf !== undefined && own['anyOf'] === undefined ? { ...own, anyOf: oneOf } : own;
  const isAnObject = [given['type']].flat().includes('object') || isObject(given['properties']);
  const kept = Object.entries(given).filter(([name, value]) => isTaken(name, value, form));
  const said = Object.entries(given).filter(
    ([name, value]) => !isTaken(name, value, form) && !(name === 'additionalProperties' && typeof value === 'boolean'),
  );
  const closed = Object.fromEntries(kept.map(([name, value]) => [name, closeInside(name, value, form)]));
  return {
    ...(isAnObject && { type: 'object', properties: {} }),
    ...closed,
    ...(isAnObject && { additionalProperties: false }),
    ...(said.length > 0 && { description: describeKeywords(given['description'], said) }),
  };
}

function isTaken(name: string, value: JsonValue, { keywords, formats, minItems }: KeptWords): boolean {
  if (name === 'format') return formats.has(value);
  if (name === 'minItems') return typeof value === 'number' && value <= minItems;
  return keywords.has(name);
}

/** The schemas that a keyword holds, in the closed form; any other value as it is. */
function closeInside(name: string, value: JsonValue, form: KeptWords): JsonValue {
  const close = (inner: JsonValue): JsonValue => closeSchema(inner, form);
  if (name === 'items') return close(value);
  if (name === 'anyOf' || name === 'allOf') return Array.isArray(value) ? value.map(close) : value;
  if (!['properties', '$defs', 'definitions'].includes(name) || !isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, close(inner)]));
}

function describeKeywords(description: JsonValue | undefined, said: readonly [string, JsonValue][]): string {
  const words = `{${said.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(', ')}}`;
  return typeof description === 'string' ? `${description}\n\n${words}` : words;
}

/**
 * Whether a closed schema means the same as the schema: for an object with any names, the closed one would allow `{}` alone, and
 * a schema that contains itself is refused.
 */
function canClose(
  schema: JsonValue,
  root = schema,
  way: readonly JsonValue[] = [],
  known = new Set<JsonValue>(),
): boolean {
  if (!isObject(schema) || known.has(schema)) return schema !== true;
  const { $ref, type, properties, additionalProperties = true, items = [] } = schema;
  if (way.includes(schema) || 'patternProperties' in schema || isObject(additionalProperties)) return false;
  const isOpen = [type].flat().includes('object') && !isObject(properties) && additionalProperties !== false;
  if (isOpen && ![...lists, '$ref'].some((name) => name in schema)) return false;
  const target = typeof $ref === 'string' ? findInside(root, $ref) : undefined;
  const listed = lists.flatMap((name) => schema[name] ?? []);
  const inner = [...(isObject(properties) ? Object.values(properties) : []), ...listed, target ?? [], items].flat();
  const isClosable = inner.every((each) => canClose(each, root, [...way, schema], known));
  if (isClosable) known.add(schema);
  return isClosable;
}

const lists = ['anyOf', 'oneOf', 'allOf'];

/** The schema that a reference names within a document. */
function findInside(root: JsonValue, reference: string): JsonValue | undefined {
  let found: JsonValue | undefined = root;
  for (const step of reference.split('/').slice(1)) found = isObject(found) ? findOwn(found, step) : undefined;
  return found;
}

function describeSchema(schema: BodyValue): string {
  return `Answer with one JSON value and nothing else. It has to fit this JSON Schema:\n${JSON.stringify(schema)}`;
}

/** A request of the messages format with its schema in the form that Anthropic takes, in words if no closed schema can say the same. */
export function withClosedSchema(body: Body): Body {
  const config = getBodyObject(body, 'output_config');
  const { format: _, ...others } = config;
  const format = getBodyObject(config, 'format');
  const given = format['schema'] as JsonValue | undefined;
  if (given === undefined) return body;
  if (canClose(given)) {
    const schema = closeSchema(given);
    if (JSON.stringify(schema) === JSON.stringify(given)) return body;
    return { ...body, output_config: { ...config, format: { ...format, schema } } };
  }
  const { output_config: __, system, ...rest } = body;
  const words = describeSchema(given);
  const told = Array.isArray(system)
    ? [...system, { type: 'text', text: words }]
    : [system, words].filter(Boolean).join('\n\n');
  return setFields(rest, { system: told, output_config: unlessEmpty(others) });
}

/** A request of the completions format that asks for JSON, with its schema in the words of the system text. */
export function withSchemaInWords(body: Body): Body {
  const format = getBodyObject(getBodyObject(body, 'response_format'), 'json_schema');
  if (format['schema'] === undefined) return body;
  const words = describeSchema(format['schema']);
  const messages = Array.isArray(body['messages']) ? body['messages'] : [];
  const [first, ...rest] = messages;
  const system = isObject(first) && first['role'] === 'system' ? first['content'] : undefined;
  const turns = typeof system === 'string' ? rest : messages;
  const content = typeof system === 'string' ? `${system}\n\n${words}` : words;
  return { ...body, messages: [{ role: 'system', content }, ...turns], response_format: { type: 'json_object' } };
}

const plainerForms: Readonly<Partial<Record<FormatName, (body: Body) => Body>>> = {
  messages: withClosedSchema,
  completions: withSchemaInWords,
};

/** The request with its schema in the form that every service of its format takes; the same request if there is nothing to change. */
export function withPlainerSchema<Request extends AnyApiRequest>(request: Request): Request {
  const { format, body = {} } = request;
  const changed = plainerForms[format]?.(body) ?? body;
  return changed === body ? request : { ...request, body: changed };
}
