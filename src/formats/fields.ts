import { usageError } from '../errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import { isUpload, type Body, type BodyValue } from '../upload.ts';

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

/** Names are our own, few, and asked for with every reply. */
const snakeCased = new Map<string, string>();

function snakeCase(name: string): string {
  const known = snakeCased.get(name);
  if (known !== undefined) return known;
  const made = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  snakeCased.set(name, made);
  return made;
}

/** Lays fields over a body; a field that is undefined is not set and leaves the body as it is. */
export function setFields(body: Body, fields: Record<string, BodyValue | undefined>): Body {
  const set = { ...body };
  for (const key of Object.keys(fields)) if (fields[key] !== undefined) set[key] = fields[key];
  return set;
}

/** The object at a key of a body, to lay fields over; empty where there is none. */
export function objectAt(body: Body, key: string): Body {
  const value = body[key];
  return isBody(value) ? value : {};
}

/** A body, or undefined when nothing is in it: an empty object that nobody asked for is not sent. */
export function unlessEmpty(body: Body): Body | undefined {
  return Object.keys(body).length === 0 ? undefined : body;
}

function isBody(value: BodyValue | undefined): value is Body & JsonObject {
  return isObject(value) && !isUpload(value);
}

/** A count that a body sets: a whole number from 0. */
export function countField(body: Body, key: string): number | undefined {
  const value = body[key];
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The size of a picture in a format that takes its longer side alone. Throws GatewayError usage for `WxH`. */
export function sideOf(size: string | undefined): string | undefined {
  if (size === undefined || !/^\d+x\d+$/.test(size)) return size;
  throw usageError(
    `this service takes no size of both sides, such as '${size}'`,
    'it has 512, 1K, 2K, 4K, and an aspect ratio',
  );
}
