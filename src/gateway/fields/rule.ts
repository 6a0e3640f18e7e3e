import { isObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import type { Path, ValidationMode } from '../types.ts';
import { Violation, type Breach } from './violation.ts';

/** Checks a value and returns it with known spellings of its fields. Throws Violation. */
export type Rule = (value: JsonValue, path: Path, mode: ValidationMode) => JsonValue;

/** A rule for objects. */
export type ObjectRule = (value: JsonValue, path: Path, mode: ValidationMode) => JsonObject;

/** The fields an object may have, and their rules. A name that ends with `!` is required. */
export type Fields = Readonly<Record<string, Rule>>;

interface Bounds {
  min?: number;
  max?: number;
}

/** Any JSON. */
export const anything: Rule = (value) => value;
export const text = ofType('string', (value) => typeof value === 'string');
export const flag = ofType('boolean', (value) => typeof value === 'boolean');
/** An object with any fields. */
export const freeObject = ofType('object', isObject);

const anyNumber = ofType('number', (value) => typeof value === 'number');
const anyInteger = ofType('integer', (value) => Number.isSafeInteger(value));
const anyList = ofType('list', Array.isArray);

function ofType(expected: string, fits: (value: JsonValue) => boolean): Rule {
  return (value, path) => {
    if (fits(value)) return value;
    throw new Violation(path, { kind: 'type', expected, value });
  };
}

/** A finite number in a range. */
export function number(bounds: Bounds = {}): Rule {
  return within(anyNumber, bounds);
}

/** A whole number in a range. */
export function integer(bounds: Bounds = {}): Rule {
  return within(anyInteger, bounds);
}

function within(rule: Rule, { min = -Infinity, max = Infinity }: Bounds): Rule {
  return (value, path, mode) => {
    const checked = Number(rule(value, path, mode));
    const side = checked < min ? 'below' : checked > max ? 'above' : undefined;
    if (side === undefined) return checked;
    const limit = side === 'below' ? min : max;
    throw new Violation(path, { kind: 'range', side, limit, value: checked, isWhole: rule === anyInteger });
  };
}

/** One of some strings. A lenient check leaves out the field that has another. */
export function oneOf(...allowed: readonly string[]): Rule {
  return (value, path, mode) => {
    const found = String(text(value, path, mode));
    if (allowed.includes(found)) return value;
    throw new Violation(path, { kind: 'choice', allowed, value: found });
  };
}

/** A list of values that all follow one rule. */
export function list(rule: Rule, { min = 0, max = Infinity }: Bounds = {}): Rule {
  return (value, path, mode) => {
    const items = anyList(value, path, mode) as JsonValue[];
    const { length } = items;
    if (length < min) throw new Violation(path, { kind: 'length', side: 'below', limit: min, length });
    if (length > max) throw new Violation(path, { kind: 'length', side: 'above', limit: max, length });
    return items.flatMap((item, index) => {
      const at = [...path, index];
      return typeof item === 'string' ? unlessUnknown(rule, item, at, mode) : [rule(item, at, mode)];
    });
  };
}

/** The rule that a value itself chooses. */
export function choose(pick: (value: JsonValue) => Rule): Rule {
  return (value, path, mode) => pick(value)(value, path, mode);
}

/**
 * An object of known fields; others are refused or left out, as the mode says. A null counts as absent. Only the level
 * `spec` does not know the fields of `beyond`, nor snake_case names of camelCase fields: its message says how the field is
 * spelled.
 */
export function object(spec: Fields, beyond: Fields = {}): ObjectRule {
  const strict = Object.fromEntries(Object.entries(spec).map(([name, rule]) => [plainName(name), rule]));
  const required = Object.keys(spec).filter((name) => name.endsWith('!'));
  const all = { ...strict, ...beyond };
  return (value, path, mode) => {
    freeObject(value, path, mode);
    const fields = mode.level === 'spec' ? strict : all;
    const result: JsonObject = {};
    for (const [name, inner] of Object.entries(value ?? {})) {
      const field = fieldName(fields, name, mode.level !== 'spec');
      if (field === undefined) leaveOut(path, { kind: 'unknown', name, hint: spelling(fields, name) }, mode);
      if (field === undefined || inner === null) continue;
      const rule = fields[field] ?? anything;
      const at = [...path, field];
      const isRequired = required.includes(`${field}!`);
      const [kept] = isRequired ? [rule(inner, at, mode)] : unlessUnknown(rule, inner, at, mode);
      if (kept !== undefined) result[field] = kept;
    }
    const missing = required.map(plainName).find((name) => !Object.hasOwn(result, name));
    if (missing !== undefined) throw new Violation([...path, missing], { kind: 'missing' });
    return result;
  };
}

function plainName(name: string): string {
  return name.replace('!', '');
}

function leaveOut(path: Path, breach: Extract<Breach, { kind: 'unknown' }>, mode: ValidationMode): void {
  if (mode.level !== 'lenient') throw new Violation(path, breach);
  mode.leftOut([...path, breach.name]);
}

/** The checked value; none where it, or a field that it requires, has a value that a lenient check leaves out. */
function unlessUnknown(rule: Rule, value: JsonValue, path: Path, mode: ValidationMode): JsonValue[] {
  try {
    return [rule(value, path, mode)];
  } catch (error) {
    const isUnknown = error instanceof Violation && error.breach.kind === 'choice';
    if (!isUnknown || mode.level !== 'lenient') throw error;
    mode.leftOut(error.path);
    return [];
  }
}

function fieldName(fields: Fields, name: string, alsoSnakeCase: boolean): string | undefined {
  return [name, ...(alsoSnakeCase ? [camelCase(name)] : [])].find((candidate) => Object.hasOwn(fields, candidate));
}

function spelling(fields: Fields, name: string): string | undefined {
  const camel = camelCase(name);
  return Object.hasOwn(fields, camel) ? `Field names are camelCase: "${camel}".` : undefined;
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
