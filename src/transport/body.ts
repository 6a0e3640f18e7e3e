import type { JsonObject, JsonValue } from '../json.ts';
import { base64Length, type Body, type BodyValue, isUpload, type Upload } from '../upload.ts';
import type { RequestBody } from './types.ts';

/**
 * Writes a body as JSON, cut where uploads stand, so that its length is known before a file is read.
 * There are no placeholders: no string of the user can be taken for one.
 */
export function segmentBody(body: Body): RequestBody {
  const out: Written = { segments: [], text: '' };
  writeValue(body, out);
  const segments = [...out.segments, Buffer.from(out.text)];
  return { segments, bytes: segments.reduce((sum, segment) => sum + lengthOf(segment), 0) };
}

/** What is written so far, and the text behind the last upload. */
interface Written {
  segments: (Uint8Array | Upload)[];
  text: string;
}

/** The body as `--dry-run` shows it: an upload becomes `<Base64, N characters>`. */
export function describeBody(body: Body): JsonObject {
  return describeObject(body);
}

function lengthOf(segment: Uint8Array | Upload): number {
  return isUpload(segment) ? base64Length(segment.bytes) : segment.byteLength;
}

function writeValue(value: BodyValue, out: Written): void {
  if (typeof value !== 'object' || value === null) out.text += JSON.stringify(value ?? null);
  else if (isUpload(value)) writeUpload(value, out);
  else if (Array.isArray(value)) writeList(value, out);
  else writeObject(value as Body, out);
}

function writeUpload(upload: Upload, out: Written): void {
  out.segments.push(Buffer.from(`${out.text}"`), upload);
  out.text = '"';
}

function writeList(list: readonly BodyValue[], out: Written): void {
  let separator = '[';
  for (const item of list) {
    out.text += separator;
    writeValue(item, out);
    separator = ',';
  }
  out.text += separator === '[' ? '[]' : ']';
}

function writeObject(object: Body, out: Written): void {
  let separator = '{';
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (value === undefined) continue;
    out.text += `${separator}${JSON.stringify(key)}:`;
    writeValue(value, out);
    separator = ',';
  }
  out.text += separator === '{' ? '{}' : '}';
}

function describe(value: BodyValue): JsonValue {
  if (isUpload(value)) return `<Base64, ${base64Length(value.bytes)} characters>`;
  if (Array.isArray(value)) return value.map(describe);
  return typeof value === 'object' && value !== null ? describeObject(value) : value;
}

function describeObject(object: Readonly<Record<string, BodyValue>>): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, describe(value)]));
}
