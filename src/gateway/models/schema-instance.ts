import { isObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { listAt, numberAt, textAt, textsAt, valueAt } from '../fields/read.ts';
import { textInstance } from './text-instance.ts';
import { numberInstance } from './number-instance.ts';

/** What makes the values: the seed text, and the prompt that strings are taken from. */
export interface InstanceSource {
  seed: string;
  hint: string;
}

interface Walk extends InstanceSource {
  root: JsonValue;
  /** Name of the property the value is for. */
  name: string;
  depth: number;
}

/** Below this depth only what the schema requires is made, so that a schema may refer to itself. */
const generousDepth = 4;
const deepest = 32;

/**
 * A value that fits a JSON Schema (or the OpenAPI form of wire.md 1, types in capitals): first choices, all properties,
 * bounds kept, local references followed. `not`, `if` and conditions between fields are not looked at.
 */
export function instanceOf(schema: JsonValue, source: InstanceSource): JsonValue {
  return build(schema, { ...source, root: schema, name: 'value', depth: 0 });
}

function build(raw: JsonValue, walk: Walk): JsonValue {
  const schema = resolve(raw, walk);
  if (!isObject(schema) || walk.depth > deepest) return walk.depth > deepest ? null : 'offline';
  const fixed = fixedValue(schema);
  if (fixed !== undefined) return fixed;
  switch (typeOf(schema)) {
    case 'object':
      return buildObject(schema, walk);
    case 'array':
      return buildList(schema, walk);
    case 'string':
      return textInstance(schema, walk);
    case 'integer':
    case 'number':
      return numberInstance(schema, walk.seed + walk.name);
    case 'boolean':
      return true;
    default:
      return null;
  }
}

function fixedValue(schema: JsonObject): JsonValue | undefined {
  const constant = valueAt(schema, 'const');
  if (constant !== undefined) return constant;
  return listAt(schema, 'enum')[0];
}

function buildObject(schema: JsonObject, walk: Walk): JsonObject {
  const properties = valueAt(schema, 'properties');
  const required = textsAt(schema, 'required');
  const declared = isObject(properties) ? Object.keys(properties) : [];
  const names = walk.depth < generousDepth ? [...new Set([...declared, ...required])] : required;
  const extra = valueAt(schema, 'additionalProperties') ?? {};
  const entries = names.map((name) => [name, build(valueAt(properties, name) ?? extra, inside(walk, name))] as const);
  const missing = (numberAt(schema, 'minProperties') ?? 0) - entries.length;
  const more = Array.from({ length: Math.min(Math.max(missing, 0), 100) }, (_, index) => {
    return [`offline${index + 1}`, build(extra, inside(walk, 'value'))] as const;
  });
  return Object.fromEntries([...entries, ...more]);
}

function buildList(schema: JsonObject, walk: Walk): JsonValue[] {
  const prefix = listAt(schema, 'prefixItems');
  const items = valueAt(schema, 'items') ?? {};
  const least = Number(valueAt(schema, 'minItems') ?? 0);
  const most = Number(valueAt(schema, 'maxItems') ?? Infinity);
  const usual =
    walk.depth < generousDepth ? (items === false ? prefix.length : Math.max(prefix.length, 2)) : prefix.length;
  const length = Math.min(Math.max(usual, least), most, 1000);
  const values = Array.from({ length }, (_, index) => build(prefix[index] ?? items, inside(walk, walk.name, index)));
  if (valueAt(schema, 'uniqueItems') !== true) return values;
  const unique = [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
  return unique.length >= least ? unique : values;
}

function inside(walk: Walk, name: string, index = 0): Walk {
  return { ...walk, name, depth: walk.depth + 1, seed: `${walk.seed}\n${name}${index}` };
}

/** Follows `$ref`, joins `allOf` and takes the first of `anyOf` and `oneOf` that is not null. */
function resolve(raw: JsonValue, walk: Walk, steps = 0): JsonValue {
  if (!isObject(raw) || steps > deepest) return raw;
  const reference = textAt(raw, '$ref');
  if (reference !== undefined) return resolve(lookUp(walk.root, reference), walk, steps + 1);
  const all = listAt(raw, 'allOf').map((part) => resolve(part, walk, steps + 1));
  const choices = [...listAt(raw, 'anyOf'), ...listAt(raw, 'oneOf')].map((part) => resolve(part, walk, steps + 1));
  const chosen = choices.find((part) => !isObject(part) || typeOf(part) !== 'null') ?? choices[0];
  return [...all, ...(chosen === undefined ? [] : [chosen])].filter(isObject).reduce(join, raw);
}

/** Two schemas that both hold: properties and required names add up, the later keywords win. */
function join(one: JsonObject, other: JsonObject): JsonObject {
  const properties = [valueAt(one, 'properties'), valueAt(other, 'properties')].filter(isObject);
  const required = [...textsAt(one, 'required'), ...textsAt(other, 'required')];
  return {
    ...one,
    ...other,
    ...(properties.length > 0 && {
      properties: Object.fromEntries(properties.flatMap((part) => Object.entries(part))),
    }),
    ...(required.length > 0 && { required: [...new Set(required)] }),
  };
}

function lookUp(root: JsonValue, reference: string): JsonValue {
  if (!reference.startsWith('#')) return {};
  const steps = reference.slice(1).split('/').slice(1);
  let at: JsonValue = root;
  for (const step of steps) at = valueAt(at, decodePointer(step)) ?? {};
  return at;
}

function decodePointer(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The type a schema asks for, in small letters; guessed from its keywords where it names none. */
function typeOf(schema: JsonObject): string {
  const named = valueAt(schema, 'type');
  const types = (Array.isArray(named) ? named : [named]).filter((type) => typeof type === 'string');
  const type = types.find((candidate) => candidate.toLowerCase() !== 'null') ?? types[0];
  if (type !== undefined) return type.toLowerCase();
  if (isObject(schema['properties']) || Array.isArray(schema['required'])) return 'object';
  if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return 'array';
  if (schema['minimum'] !== undefined || schema['maximum'] !== undefined) return 'number';
  return 'string';
}
