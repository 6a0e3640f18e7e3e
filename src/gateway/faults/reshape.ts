import { isObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { listAt, objectAt } from '../fields/read.ts';

/** A content-format reply with each candidate changed. */
export function mapCandidates(reply: JsonObject, change: (candidate: JsonObject) => JsonObject): JsonObject {
  return { ...reply, candidates: listAt(reply, 'candidates').filter(isObject).map(change) };
}

/** A content-format reply with each part changed into others. */
export function mapParts(reply: JsonObject, change: (part: JsonValue) => JsonValue[]): JsonObject {
  return mapCandidates(reply, (candidate) => ({
    ...candidate,
    content: { role: 'model', parts: listAt(objectAt(candidate, 'content'), 'parts').flatMap(change) },
  }));
}

/** A content-format reply with each picture changed into other parts. */
export function mapInline(reply: JsonObject, change: (blob: JsonObject) => JsonObject[]): JsonObject {
  return mapParts(reply, (part) => {
    const blob = objectAt(part, 'inlineData');
    return blob ? change(blob) : [part];
  });
}

/** An object of the fields that have a value. */
export function present(fields: Record<string, JsonValue | undefined>): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
