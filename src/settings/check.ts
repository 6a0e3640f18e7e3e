import { closest } from './closest.ts';

/** A value that does not fit: its place in the document (`profiles.work.timeout`) and why. */
export class CheckError extends Error {
  readonly path: string;

  constructor(path: string, reason: string) {
    super(reason);
    this.path = path;
  }
}

/** Returns the value as it is known to be, or throws CheckError. `path` is the value's place. */
export type Check<T> = (value: unknown, path: string) => T;

/** The place of a key inside a place. */
export function placeOf(path: string, key: string): string {
  const shown = /^[\w$.-]{1,64}$/.test(key) ? key : JSON.stringify(key.slice(0, 64));
  return path === '' ? shown : `${path}.${shown}`;
}

/** A string that is not empty. */
export function text(value: unknown, path: string): string {
  if (typeof value !== 'string') throw new CheckError(path, `must be a string, not ${kindOf(value)}`);
  if (value.trim() === '') throw new CheckError(path, 'must not be empty');
  return value;
}

export function flag(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') throw new CheckError(path, `must be true or false, not ${kindOf(value)}`);
  return value;
}

/** A whole number from 1 on. */
export function count(value: unknown, path: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
  throw new CheckError(path, 'must be a whole number from 1 on');
}

/** One of the given words. */
export function oneOf<T extends string>(words: readonly T[]): Check<T> {
  return (value, path) => {
    const known = words.find((word) => word === value);
    if (known === undefined) throw new CheckError(path, `must be one of ${words.join(', ')}`);
    return known;
  };
}

/**
 * An object that may hold the given keys and no other. The result has no prototype and keeps the order of the file;
 * keys such as `__proto__` are refused like any unknown one.
 */
export function fields<T extends object>(checks: { [K in keyof T]-?: Check<NonNullable<T[K]>> }): Check<T> {
  const known = Object.keys(checks);
  return (value, path) => {
    const result = Object.create(null) as T;
    for (const [key, inner] of entriesOf(value, path)) {
      const at = placeOf(path, key);
      if (!known.includes(key)) throw new CheckError(at, unknownReason(key, known));
      const name = key as keyof T;
      result[name] = checks[name](inner, at);
    }
    return result;
  };
}

/** An object with names of the user's own. The result has no prototype. */
export function record<T>(
  check: Check<T>,
  checkName: (name: string, path: string) => string,
): Check<{ [name: string]: T }> {
  return (value, path) => {
    const result = Object.create(null) as { [name: string]: T };
    for (const [key, inner] of entriesOf(value, path)) {
      const at = placeOf(path, key);
      result[checkName(key, at)] = check(inner, at);
    }
    return result;
  };
}

function entriesOf(value: unknown, path: string): [string, unknown][] {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.entries(value);
  throw new CheckError(path, `must be an object, not ${kindOf(value)}`);
}

function unknownReason(key: string, known: readonly string[]): string {
  const near = closest(key, known);
  return near === undefined ? `is unknown; known are ${known.join(', ')}` : `is unknown; did you mean ${near}?`;
}

/** What a value is, in words; never the value itself, which may be a key. */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
