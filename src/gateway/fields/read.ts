import { isObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';

/** Readers of checked bodies: a field of the wanted type, or nothing. */
export function textAt(from: JsonValue | undefined, name: string): string | undefined {
  const value = valueAt(from, name);
  return typeof value === 'string' ? value : undefined;
}

export function numberAt(from: JsonValue | undefined, name: string): number | undefined {
  const value = valueAt(from, name);
  return typeof value === 'number' ? value : undefined;
}

export function flagAt(from: JsonValue | undefined, name: string): boolean {
  return valueAt(from, name) === true;
}

export function objectAt(from: JsonValue | undefined, name: string): JsonObject | undefined {
  const value = valueAt(from, name);
  return isObject(value) ? value : undefined;
}

/** The list at a field, empty where there is none. */
export function listAt(from: JsonValue | undefined, name: string): JsonValue[] {
  const value = valueAt(from, name);
  return Array.isArray(value) ? value : [];
}

/** The strings of the list at a field. */
export function textsAt(from: JsonValue | undefined, name: string): string[] {
  return listAt(from, name).filter((item) => typeof item === 'string');
}

export function valueAt(from: JsonValue | undefined, name: string): JsonValue | undefined {
  return isObject(from) && Object.hasOwn(from, name) ? from[name] : undefined;
}
