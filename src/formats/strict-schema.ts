import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import { strictForm } from '../vendors/schema-forms.ts';
import { closeSchema } from './schema-form.ts';

/** Keywords that no strict schema has. */
const refused =
  'allOf oneOf not if then else dependentRequired dependentSchemas patternProperties prefixItems contains'.split(' ');

/** A schema must have one of these keywords to say what a value is. */
const kinds = ['type', 'anyOf', '$ref', 'enum', 'const'];

/**
 * The schema of an answer as OpenAI takes it. `strict` makes it hold to a schema, and it refuses every schema that leaves its subset of
 * JSON Schema: so it is set where the schema has only objects whose properties are all required and no others allowed. Keywords outside
 * of the subset stand in descriptions then.
 */
export function toSchemaFields(schema: JsonValue): { schema: JsonValue; strict?: true } {
  return isStrictSchema(schema) ? { schema: closeSchema(schema, strictForm), strict: true } : { schema };
}

function isStrictSchema(schema: JsonValue): boolean {
  return isObject(schema) && schema['type'] === 'object' && keepsToSubset(schema);
}

function keepsToSubset(schema: JsonValue): boolean {
  if (!isObject(schema) || refused.some((word) => word in schema) || !kinds.some((word) => word in schema))
    return false;
  const { items = [], anyOf = [], properties, $defs, definitions } = schema;
  const named = [properties, $defs, definitions].flatMap((held) => (isObject(held) ? Object.values(held) : []));
  return isClosed(schema) && [items, anyOf, named].flat().every(keepsToSubset);
}

function isClosed({ type, properties, required, additionalProperties }: JsonObject): boolean {
  if (properties === undefined && ![type].flat().includes('object')) return true;
  const names = isObject(properties) ? Object.keys(properties) : [];
  return additionalProperties === false && names.every((name) => Array.isArray(required) && required.includes(name));
}

/** The schema of a tool as OpenAI takes it: an object says its properties, even if it has none. */
export function withProperties(schema: JsonValue): JsonValue {
  return isObject(schema) && schema['type'] === 'object' && schema['properties'] === undefined
    ? { ...schema, properties: {} }
    : schema;
}
