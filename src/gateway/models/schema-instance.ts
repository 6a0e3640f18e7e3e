import { findOwn, isObject, type JsonObject, type JsonValue } from '../../library/index.ts';
import { listAt, numberAt, textAt, textsAt, valueAt } from '../fields/read.ts';

interface Walk {
  /** Whether properties that the schema does not require are made too. */
  optional: boolean;
  root: JsonValue;
  /** Name of the property the value is for. */
  name: string;
  /** The schemas around this one. */
  around: readonly JsonObject[];
}

/**
 * A value that fits a JSON Schema, or the OpenAPI form with types in capitals. Read are types, properties, const, default,
 * examples, enum, bounds, lengths, usual formats, local references, and the first choice of anyOf and oneOf. Patterns and
 * conditions are not looked at. Strings say what they are for, and booleans are false, for a program may act on them.
 */
export function createInstance(schema: JsonValue, { optional }: Pick<Walk, 'optional'>): JsonValue {
  return buildValue(schema, { optional, root: schema, name: 'value', around: [] }) ?? null;
}

/** Undefined for a schema that is inside itself: its value would have no end. */
function buildValue(raw: JsonValue, walk: Walk): JsonValue | undefined {
  if (!isObject(raw)) return `example ${walk.name}`;
  const parts = listParts(raw, walk);
  if (parts === undefined) return undefined;
  const schema = joinParts(parts);
  const inner = { ...walk, around: [...walk.around, ...parts] };
  const [example] = [...listAt(schema, 'examples'), valueAt(schema, 'example')];
  const given = valueAt(schema, 'const') ?? valueAt(schema, 'default') ?? example ?? listAt(schema, 'enum')[0];
  if (given !== undefined) return given;
  const choices = parts.flatMap((part) => [...listAt(part, 'anyOf'), ...listAt(part, 'oneOf')]);
  if (choices.length > 0) return buildChoice(choices, schema, inner);
  switch (chooseType(schema)) {
    case 'object':
      return buildObject(schema, inner);
    case 'array':
      return buildList(schema, inner);
    case 'string':
      return buildText(schema, walk.name);
    case 'integer':
      return buildNumber(schema, 1);
    case 'number':
      return buildNumber(schema, 0.5);
    case 'boolean':
      return false;
    default:
      return null;
  }
}

/** A value of the first choice that has one beside null. */
function buildChoice(choices: readonly JsonValue[], schema: JsonObject, walk: Walk): JsonValue {
  for (const choice of choices) {
    const value = buildValue({ ...schema, allOf: [choice] }, walk) ?? null;
    if (value !== null) return value;
  }
  return null;
}

function buildObject(schema: JsonObject, walk: Walk): JsonObject {
  const properties = valueAt(schema, 'properties');
  const required = textsAt(schema, 'required');
  const names = walk.optional && isObject(properties) ? [...Object.keys(properties), ...required] : required;
  const values = [...new Set(names)].map((name): [string, JsonValue | undefined] => {
    const value = buildValue(valueAt(properties, name) ?? {}, { ...walk, name });
    return [name, value ?? (required.includes(name) ? null : undefined)];
  });
  return Object.fromEntries(values.filter((entry): entry is [string, JsonValue] => entry[1] !== undefined));
}

function buildList(schema: JsonObject, walk: Walk): JsonValue[] {
  const prefix = listAt(schema, 'prefixItems');
  const items = valueAt(schema, 'items') ?? {};
  const item = items === false ? undefined : buildValue(items, walk);
  const { least, most } = readLengths(schema, 'Items');
  const length = Math.min(Math.max(prefix.length, item === undefined ? 0 : 2, least), most, 1000);
  return Array.from({ length }, (_, index) => {
    const own = prefix[index];
    return (own === undefined ? item : buildValue(own, walk)) ?? null;
  });
}

/** The number within the bounds that is nearest to 1. */
function buildNumber(schema: JsonObject, step: number): number {
  const above = numberAt(schema, 'exclusiveMinimum') ?? -Infinity;
  const below = numberAt(schema, 'exclusiveMaximum') ?? Infinity;
  const low = numberAt(schema, 'minimum') ?? above + step;
  const high = numberAt(schema, 'maximum') ?? below - step;
  return Math.min(Math.max(1, step === 1 ? Math.ceil(low) : low), high);
}

const formats: Readonly<Record<string, string>> = {
  date: '2024-05-15',
  'date-time': '2024-05-15T12:00:00Z',
  time: '12:00:00Z',
  email: 'offline@example.com',
  uri: 'https://example.com/offline',
  uuid: '00000000-0000-4000-8000-000000000000',
};

/** A text of the schema's format or length. */
function buildText(schema: JsonObject, name: string): string {
  const { least, most } = readLengths(schema, 'Length');
  const text = `example ${name}`.slice(0, most).padEnd(Math.min(least, 10_000), ' example');
  return findOwn(formats, textAt(schema, 'format') ?? '') ?? text;
}

/** The OpenAPI form may write its bounds as strings (int64). */
function readLengths(schema: JsonObject, of: 'Items' | 'Length'): { least: number; most: number } {
  return {
    least: Number(valueAt(schema, `min${of}`) ?? 0) || 0,
    most: Number(valueAt(schema, `max${of}`) ?? Infinity),
  };
}

/** A schema and what holds beside it: the schema that it refers to, and its `allOf`. Undefined if it is inside itself. */
function listParts(schema: JsonObject, { root, around }: Pick<Walk, 'root' | 'around'>): JsonObject[] | undefined {
  if (around.includes(schema)) return undefined;
  const reference = textAt(schema, '$ref');
  const beside = [...(reference === undefined ? [] : [lookUp(root, reference)]), ...listAt(schema, 'allOf')];
  const parts = beside.filter(isObject).map((part) => listParts(part, { root, around: [...around, schema] }));
  return parts.some((part) => part === undefined) ? undefined : [schema, ...parts.flatMap((part) => part ?? [])];
}

const combining = new Set(['$ref', 'allOf', 'anyOf', 'oneOf']);

/** Schemas that all hold, as one without references and choices: properties and required names add up, the first keyword wins. */
function joinParts(parts: readonly JsonObject[]): JsonObject {
  const entries = parts.toReversed().flatMap(Object.entries<JsonValue>);
  const properties = parts.map((part) => valueAt(part, 'properties')).filter(isObject);
  const required = parts.flatMap((part) => textsAt(part, 'required'));
  return {
    ...Object.fromEntries(entries.filter(([keyword]) => !combining.has(keyword))),
    ...(properties.length > 0 && { properties: Object.fromEntries(properties.flatMap(Object.entries<JsonValue>)) }),
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

/** The type in a schema, in small letters: of several the first that is not null. Without a type it is guessed from the keywords. */
function chooseType(schema: JsonObject): string {
  const types = [valueAt(schema, 'type')].flat().filter((type) => typeof type === 'string');
  const type = types.find((candidate) => candidate.toLowerCase() !== 'null') ?? types[0];
  if (type !== undefined) return type.toLowerCase();
  if (isObject(schema['properties']) || Array.isArray(schema['required'])) return 'object';
  if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return 'array';
  if (schema['minimum'] !== undefined || schema['maximum'] !== undefined) return 'number';
  return 'string';
}
