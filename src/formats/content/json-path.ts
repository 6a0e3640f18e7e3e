import type { JsonObject, JsonValue } from '../../json.ts';
import { isObject } from '../../json.ts';

type Segment = string | number;

/** Deeper values could not be written as JSON again. */
const mostSegments = 1000;
const segment = /\.([^.[\]]+)|\[(\d{1,9})\]|\[('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]/y;

/**
 * Changes the value at a path such as `$.a.b[0]['c d']`; what is missing on the way is made. False where the path cannot
 * be read, or leads through something else than an object or the next item of an array.
 */
export function changeAt(
  root: JsonObject,
  path: string,
  change: (before: JsonValue | undefined) => JsonValue,
): boolean {
  const segments = readPath(path);
  const last = segments?.pop();
  if (segments === undefined || last === undefined) return false;
  let at: JsonValue = root;
  for (const [index, key] of segments.entries()) {
    const next = segments[index + 1] ?? last;
    if (!canHold(at, key)) return false;
    const inner: JsonValue = valueAt(at, key) ?? (typeof next === 'number' ? [] : {});
    put(at, key, inner);
    at = inner;
  }
  if (!canHold(at, last)) return false;
  put(at, last, change(valueAt(at, last)));
  return true;
}

/** Undefined where it is no path, or one to the root itself. */
function readPath(path: string): Segment[] | undefined {
  if (!path.startsWith('$')) return undefined;
  const segments: Segment[] = [];
  segment.lastIndex = 1;
  while (segment.lastIndex < path.length && segments.length < mostSegments) {
    const [, name, index, quoted] = segment.exec(path) ?? [];
    if (name !== undefined) segments.push(name);
    else if (index !== undefined) segments.push(Number(index));
    else if (quoted !== undefined) segments.push(quoted.slice(1, -1).replaceAll(/\\(.)/gs, '$1'));
    else return undefined;
  }
  return segments.length === 0 || segments.length >= mostSegments ? undefined : segments;
}

type Container = JsonObject | JsonValue[];

function canHold(at: JsonValue, key: Segment): at is Container {
  return typeof key === 'number' ? Array.isArray(at) && key <= at.length : isObject(at);
}

function valueAt(at: Container, key: Segment): JsonValue | undefined {
  return Object.hasOwn(at, key) ? (at as JsonObject)[key] : undefined;
}

/** Sets an own property, whatever its name is. */
export function put(at: Container, key: Segment, value: JsonValue): void {
  Object.defineProperty(at, key, { value, writable: true, enumerable: true, configurable: true });
}
