import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import { strictForm } from '../vendors/schema-forms.ts';
import { closeSchema } from './schema-form.ts';

/** Keywords that no strict schema has. */
const refused =
  'allOf oneOf not if then else dependentRequired dependentSchemas patternProperties prefixItems contains'.split(' ');

/** A schema must have one of these keywords to say what a value is. */
const kinds = ['type', 'anyOf', '$ref', 'enum', 'const'];

/**
 * The schema of an answer in the form that OpenAI takes. `strict` makes the answer fit a schema, but OpenAI then refuses every
 * schema outside its subset of JSON Schema: so `strict` is set only if all objects in the schema require all of their properties
 * and allow no others. Keywords outside of the subset are put into descriptions.
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
  const named = [properties, $defs, definitions].flatMap((group) => (isObject(group) ? Object.values(group) : []));
  return isClosed(schema) && [items, anyOf, named].flat().every(keepsToSubset);
}

function isClosed({ type, properties, required, additionalProperties }: JsonObject): boolean {
  if (properties === undefined && ![type].flat().includes('object')) return true;
  const names = isObject(properties) ? Object.keys(properties) : [];
  return additionalProperties === false && names.every((name) => Array.isArray(required) && required.includes(name));
}

/** The schema of a tool in the form that OpenAI takes: an object lists its properties, even if it has none. */
export function withProperties(schema: JsonValue): JsonValue {
  return isObject(schema) && schema['type'] === 'object' && schema['properties'] === undefined
    ? { ...schema, properties: {} }
    : schema;
}
