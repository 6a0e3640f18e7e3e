import { isObject } from '../json.ts';
import type { JsonObject, JsonValue } from '../json.ts';

/** A key of a foreign object in camelCase or snake_case; null is absent (deviations 6 and 9). `name` is camelCase. */
export function field(object: JsonObject, name: string): JsonValue | undefined {
  return object[name] ?? object[snakeCase(name)] ?? undefined;
}

/** The same, when it is a string. */
export function textField(object: JsonObject, name: string): string | undefined {
  const value = field(object, name);
  return typeof value === 'string' ? value : undefined;
}

/** The same, when it is a number. */
export function numberField(object: JsonObject, name: string): number | undefined {
  const value = field(object, name);
  return typeof value === 'number' ? value : undefined;
}

/** The same, when it is an object. */
export function objectField(object: JsonObject, name: string): JsonObject | undefined {
  const value = field(object, name);
  return isObject(value) ? value : undefined;
}

/** The same, when it is an array. */
export function listField(object: JsonObject, name: string): JsonValue[] | undefined {
  const value = field(object, name);
  return Array.isArray(value) ? value : undefined;
}

/** A foreign key as the format's documents spell it: `inline_data` is `inlineData`. */
export function camelCase(key: string): string {
  return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Names are our own, few, and asked for with every reply. */
const snakeCased = new Map<string, string>();

function snakeCase(name: string): string {
  const known = snakeCased.get(name) ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  snakeCased.set(name, known);
  return known;
}
