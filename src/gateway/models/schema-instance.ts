import { findOwn, isObject, type JsonObject, type JsonValue } from '../../library/index.ts';
import { listAt, numberAt, textAt, textsAt, valueAt } from '../fields/read.ts';
import { makePatternText } from './pattern-text.ts';
import { hashText } from './random.ts';

/** The source of the values. */
interface InstanceSource {
  /** The seed of the numbers. */
  seed: string;
  /** Whether properties that the schema does not require are made too. */
  optional: boolean;
}

interface Walk {
  optional: boolean;
  root: JsonValue;
  /** Name of the property the value is for. */
  name: string;
  depth: number;
  /** The hash of the seed and of all names down to the value. */
  hash: number;
  /** The rest of the budget in characters and steps; the whole walk shares it. */
  left: { size: number };
}

/** Below this depth only required parts of the schema are made, as short as the schema allows, so that a schema may refer to itself. */
const generousDepth = 4;
const deepest = 32;
/** The largest value; a small schema can ask for any number of items, and of branches that branch again. */
const maxSize = 300_000;

/**
 * A value that fits a JSON Schema, or the OpenAPI form with types in capitals. Read are types, properties, const, default,
 * examples, enum, bounds, lengths, usual formats, plain patterns, local references, and the first choice of anyOf and oneOf.
 * Conditions are not looked at. Strings say what they are for, and booleans are false, for a program may act on them.
 * A schema that asks for more than `maxSize` gets nulls in place of the rest.
 */
export function createInstance(schema: JsonValue, { seed, optional }: InstanceSource): JsonValue {
  const left = { size: maxSize };
  return buildValue(schema, { optional, root: schema, name: 'value', depth: 0, hash: hashText(seed), left });
}

/** Whether there is room for so much more. */
function takeRoom(size: number, { left }: Walk): boolean {
  left.size -= size;
  return left.size >= 0;
}

function buildValue(raw: JsonValue, walk: Walk): JsonValue {
  if (walk.depth > deepest || !takeRoom(walk.name.length, walk)) return null;
  const schema = resolve(raw, walk);
  if (!isObject(schema)) return `example ${walk.name}`;
  // A value that the schema itself contains.
  const [example] = [...listAt(schema, 'examples'), valueAt(schema, 'example')];
  const given = valueAt(schema, 'const') ?? valueAt(schema, 'default') ?? example ?? listAt(schema, 'enum')[0];
  if (given !== undefined) return takeRoom(JSON.stringify(given).length, walk) ? given : null;
  switch (chooseType(schema, isDeep(walk))) {
    case 'object':
      return buildObject(schema, walk);
    case 'array':
      return buildList(schema, walk);
    case 'string':
      return buildText(schema, walk);
    case 'integer':
      return buildNumber(schema, walk, 1);
    case 'number':
      return buildNumber(schema, walk, 0.5);
    case 'boolean':
      return false;
    default:
      return null;
  }
}

function isDeep({ depth }: Walk): boolean {
  return depth >= generousDepth;
}

function buildObject(schema: JsonObject, walk: Walk): JsonObject {
  const properties = valueAt(schema, 'properties');
  const required = textsAt(schema, 'required');
  const declared = isObject(properties) ? Object.keys(properties) : [];
  const names = walk.optional && !isDeep(walk) ? [...new Set([...declared, ...required])] : required;
  return Object.fromEntries(
    names.map((name) => [name, buildValue(valueAt(properties, name) ?? {}, enterField(walk, name))]),
  );
}

function buildList(schema: JsonObject, walk: Walk): JsonValue[] {
  const prefix = listAt(schema, 'prefixItems');
  const items = valueAt(schema, 'items') ?? {};
  const usual = !isDeep(walk) && items !== false ? Math.max(prefix.length, 2) : prefix.length;
  const { least, most } = readLengths(schema, 'Items');
  const length = Math.min(Math.max(usual, least), most, 1000);
  return Array.from({ length }, (_, index) => buildValue(prefix[index] ?? items, enterField(walk, walk.name, index)));
}

function enterField(walk: Walk, name: string, index = 0): Walk {
  return { ...walk, name, depth: walk.depth + 1, hash: hashText(`\n${name}${index}`, walk.hash) };
}

/** A small number that the seed chooses, or one within the bounds. */
function buildNumber(schema: JsonObject, walk: Walk, step: number): number {
  const above = numberAt(schema, 'exclusiveMinimum');
  const below = numberAt(schema, 'exclusiveMaximum');
  const low = numberAt(schema, 'minimum') ?? (above === undefined ? undefined : above + step);
  const high = numberAt(schema, 'maximum') ?? (below === undefined ? undefined : below - step);
  if (low === undefined) return Math.min(1 + (walk.hash % 9), high ?? Infinity);
  return Math.min(step === 1 ? Math.ceil(low) : low, high ?? Infinity);
}

const formats: Readonly<Record<string, string>> = {
  date: '2024-05-15',
  'date-time': '2024-05-15T12:00:00Z',
  time: '12:00:00Z',
  email: 'offline@example.com',
  uri: 'https://example.com/offline',
  uuid: '00000000-0000-4000-8000-000000000000',
};

/** A text of the schema's format, pattern or length. */
function buildText(schema: JsonObject, walk: Walk): string {
  const fitting = findOwn(formats, textAt(schema, 'format') ?? '') ?? makePatternText(textAt(schema, 'pattern'));
  const { least, most } = readLengths(schema, 'Length');
  const text = fitting ?? `example ${walk.name}`.slice(0, most).padEnd(Math.min(least, 100_000), ' example');
  return takeRoom(text.length, walk) ? text : '';
}

/** The OpenAPI form may write its bounds as strings (int64). */
function readLengths(schema: JsonObject, of: 'Items' | 'Length'): { least: number; most: number } {
  return {
    least: Number(valueAt(schema, `min${of}`) ?? 0) || 0,
    most: Number(valueAt(schema, `max${of}`) ?? Infinity),
  };
}

/**
 * Follows `$ref`, joins `allOf` and takes the first of `anyOf` and `oneOf` that is not null; at a large depth the first that can
 * be short, for the others may refer to a schema around them.
 */
function resolve(raw: JsonValue, walk: Walk, steps = 0): JsonValue {
  if (!isObject(raw) || steps > deepest) return raw;
  const reference = textAt(raw, '$ref');
  if (!takeRoom(1 + (reference?.length ?? 0), walk)) return {};
  if (reference !== undefined) return resolve(lookUp(walk.root, reference), walk, steps + 1);
  const choices = [...listAt(raw, 'anyOf'), ...listAt(raw, 'oneOf')].map((part) => resolve(part, walk, steps + 1));
  const all = listAt(raw, 'allOf').map((part) => resolve(part, walk, steps + 1));
  let joined = raw;
  for (const part of [...all, chooseOne(choices, isDeep(walk))].filter(isObject)) {
    joined = join(joined, part);
    if (!takeRoom(countNames(joined), walk)) break;
  }
  return joined;
}

function countNames(schema: JsonObject): number {
  return [schema, valueAt(schema, 'properties')].filter(isObject).flatMap(Object.keys).length;
}

/** The order in which the types of a value at a large depth are preferred; a type that is not in the list is a plain value. */
const lengthOrder = ['null', 'array', 'object'];

function rankType(type: string): number {
  return lengthOrder.indexOf(type);
}

function chooseOne(choices: readonly JsonValue[], deep: boolean): JsonValue {
  const typeAt = (choice: JsonValue): string => (isObject(choice) ? chooseType(choice, deep) : 'null');
  if (!deep) return choices.find((choice) => typeAt(choice) !== 'null') ?? choices[0] ?? {};
  return choices.toSorted((one, other) => rankType(typeAt(one)) - rankType(typeAt(other)))[0] ?? {};
}

/** Two schemas that both hold: properties and required names add up, the later keywords win. */
function join(one: JsonObject, other: JsonObject): JsonObject {
  const properties = [valueAt(one, 'properties'), valueAt(other, 'properties')]
    .filter(isObject)
    .flatMap(Object.entries);
  const required = [...textsAt(one, 'required'), ...textsAt(other, 'required')];
  return {
    ...one,
    ...other,
    ...(properties.length > 0 && { properties: Object.fromEntries(properties) as JsonObject }),
    ...(required.length > 0 && { required }),
  };
}

function lookUp(root: JsonValue, reference: string): JsonValue {
  if (!reference.startsWith('#')) return {};
  const steps = reference.slice(1).split('/').slice(1);
  let at: JsonValue = root;
  for (const step of steps) at = valueAt(at, step.replaceAll('~1', '/').replaceAll('~0', '~')) ?? {};
  return at;
}

/**
 * The type in a schema, in small letters: of several the first that is not null, at a large depth the shortest. For a schema
 * without a type it is guessed from the keywords.
 */
function chooseType(schema: JsonObject, deep: boolean): string {
  const named = valueAt(schema, 'type');
  const types = [named].flat().flatMap((type) => (typeof type === 'string' ? [type.toLowerCase()] : []));
  const shortest = types.toSorted((one, other) => rankType(one) - rankType(other))[0];
  const type = deep ? shortest : (types.find((candidate) => candidate !== 'null') ?? types[0]);
  if (type !== undefined) return type;
  if (isObject(schema['properties']) || Array.isArray(schema['required'])) return 'object';
  if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return 'array';
  if (schema['minimum'] !== undefined || schema['maximum'] !== undefined) return 'number';
  return 'string';
}
