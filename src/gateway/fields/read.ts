import { findOwn, isObject, type JsonObject, type JsonValue, sniffType } from '../../library/index.ts';
import type { Path } from '../types.ts';
import { badValue } from './rule.ts';

/** Readers of checked bodies: a field of the wanted type, or undefined. */
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

/** The list at a field, empty if there is none. */
export function listAt(from: JsonValue | undefined, name: string): JsonValue[] {
  const value = valueAt(from, name);
  return Array.isArray(value) ? value : [];
}

/** The strings of the list at a field. */
export function textsAt(from: JsonValue | undefined, name: string): string[] {
  return listAt(from, name).filter((item) => typeof item === 'string');
}

export function valueAt(from: JsonValue | undefined, name: string): JsonValue | undefined {
  return isObject(from) ? findOwn(from, name) : undefined;
}

/** The media type of an image or document by its first bytes; undefined if they are of no known type. */
export function sniffMediaType(bytes: Uint8Array): string | undefined {
  const isPdf = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 5)).toString('latin1') === '%PDF-';
  return isPdf ? 'application/pdf' : sniffType(bytes);
}

/** A media type without parameters, lower case; image/jpg is spelled image/jpeg. */
export function plainMediaType(type: string): string {
  const plain = (type.split(';')[0] ?? '').trim().toLowerCase();
  return plain === 'image/jpg' ? 'image/jpeg' : plain;
}

/** Decodes Base64 in either alphabet, padded or not. Throws Violation on any other text, for example a data URL. */
export function decodeBase64(data: string, path: Path): Buffer {
  if (data.startsWith('data:'))
    throw badValue(path, 'Base64 bytes are wanted, without the data-URL prefix "data:…;base64,"');
  if (data === '') throw badValue(path, 'the image is empty');
  const padding = data.endsWith('==') ? 2 : Number(data.endsWith('='));
  const digits = data.length - padding;
  const whole = padding === 0 || data.length % 4 === 0;
  const bytes = Buffer.from(data, 'base64');
  // The decoder skips characters outside the alphabet: they show in the length.
  if (!whole || digits % 4 === 1 || bytes.length !== Math.floor((digits * 3) / 4)) {
    throw badValue(path, 'Base64 decoding failed');
  }
  return bytes;
}
