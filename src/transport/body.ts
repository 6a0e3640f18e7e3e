import type { JsonObject, JsonValue } from '../json.ts';
import { base64Length, type Body, type BodyValue, isUpload, type Upload } from '../upload.ts';
import type { RequestBody } from './types.ts';

/**
 * Writes a body as JSON, cut where uploads stand, so that its length is known before a file is read.
 * There are no placeholders: no string of the user can be taken for one.
 */
export function segmentBody(body: Body): RequestBody {
  const pieces: (string | Upload)[] = [];
  writeValue(body, pieces);
  const segments: (Uint8Array | Upload)[] = [];
  let text = '';
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      text += piece;
      continue;
    }
    segments.push(Buffer.from(text), piece);
    text = '';
  }
  segments.push(Buffer.from(text));
  return { segments, bytes: segments.reduce((sum, segment) => sum + lengthOf(segment), 0) };
}

/** The body as `--dry-run` shows it: an upload becomes `<Base64, N characters>`. */
export function describeBody(body: Body): JsonObject {
  return describeObject(body);
}

function lengthOf(segment: Uint8Array | Upload): number {
  return isUpload(segment) ? base64Length(segment.bytes) : segment.byteLength;
}

function writeValue(value: BodyValue, out: (string | Upload)[]): void {
  if (isUpload(value)) out.push('"', value, '"');
  else if (Array.isArray(value)) writeList(value, out);
  else if (typeof value === 'object' && value !== null) writeObject(value, out);
  else out.push(JSON.stringify(value ?? null));
}

function writeList(list: readonly BodyValue[], out: (string | Upload)[]): void {
  out.push('[');
  for (const [index, item] of list.entries()) {
    if (index > 0) out.push(',');
    writeValue(item, out);
  }
  out.push(']');
}

function writeObject(object: Readonly<Record<string, BodyValue>>, out: (string | Upload)[]): void {
  let separator = '{';
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue;
    out.push(separator, JSON.stringify(key), ':');
    writeValue(value, out);
    separator = ',';
  }
  out.push(separator === '{' ? '{}' : '}');
}

function describe(value: BodyValue): JsonValue {
  if (isUpload(value)) return `<Base64, ${base64Length(value.bytes)} characters>`;
  if (Array.isArray(value)) return value.map(describe);
  return typeof value === 'object' && value !== null ? describeObject(value) : value;
}

function describeObject(object: Readonly<Record<string, BodyValue>>): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, describe(value)]));
}
