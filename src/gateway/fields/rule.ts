import { isObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { badValue, Violation, type Fault, type Path } from './violation.ts';

/** How a body is read. */
export interface Reading {
  /** What clients send beyond the specification is taken too: further fields, and the snake_case names of client libraries. */
  lenient: boolean;
  /** Told of what is not known and left out; without it that is refused. */
  ignore?: ((path: Path) => void) | undefined;
}

/** Checks a value and returns it with known spellings of its fields. Throws Violation. */
export type Rule = (value: JsonValue, path: Path, reading: Reading) => JsonValue;

/** The fields an object may have. */
export type Fields = Readonly<Record<string, Rule>>;

interface Bounds {
  min?: number;
  max?: number;
}

/** Any JSON. */
export const anything: Rule = (value) => value;

/** A string. */
export const text: Rule = (value, path) => {
  if (typeof value !== 'string') throw wrongType(path, 'string', value);
  return value;
};

/** true or false. */
export const flag: Rule = (value, path) => {
  if (typeof value !== 'boolean') throw wrongType(path, 'boolean', value);
  return value;
};

/** An object whose fields are nobody's business here. */
export const freeObject: Rule = (value, path) => {
  if (!isObject(value)) throw wrongType(path, 'object', value);
  return value;
};

/** A finite number in a range. */
export function number(bounds: Bounds = {}): Rule {
  return (value, path) => {
    if (typeof value !== 'number') throw wrongType(path, 'number', value);
    checkBounds(value, bounds, path);
    return value;
  };
}

/** A whole number in a range. */
export function integer(bounds: Bounds = {}): Rule {
  return (value, path) => {
    if (!Number.isSafeInteger(value)) throw wrongType(path, 'integer', value);
    checkBounds(Number(value), bounds, path);
    return value;
  };
}

/** One of some strings. */
export function oneOf(allowed: readonly string[]): Rule {
  return (value, path) => {
    if (typeof value !== 'string') throw wrongType(path, 'string', value);
    if (!allowed.includes(value)) throw badValue(path, `Input should be ${listed(allowed)}`);
    return value;
  };
}

/** A list of values that all follow one rule. */
export function list(rule: Rule, { min = 0, max = Infinity }: Bounds = {}): Rule {
  return (value, path, reading) => {
    if (!Array.isArray(value)) throw wrongType(path, 'list', value);
    if (value.length < min) throw badValue(path, `${String(path.at(-1))} must not be empty`);
    if (value.length > max) throw badValue(path, `at most ${max} values are allowed, not ${value.length}`);
    return value.map((item, index) => rule(item, [...path, index], reading));
  };
}

interface ObjectRules {
  required?: readonly string[];
  /** Fields that are known where the reading is lenient. */
  beyond?: Fields;
}

/**
 * An object of known fields; others are refused or ignored, as the reading says. A null counts as absent. A lenient
 * reading takes snake_case names of camelCase fields; else the message says how the field is spelled.
 */
export function object(strict: Fields, { required = [], beyond }: ObjectRules = {}): Rule {
  const all = { ...strict, ...beyond };
  return (value, path, reading) => {
    if (!isObject(value)) throw wrongType(path, 'object', value);
    const fields = reading.lenient ? all : strict;
    const known: [string, JsonValue][] = [];
    for (const [name, inner] of Object.entries(value)) {
      const field = fieldName(fields, name, reading.lenient);
      if (field === undefined) leaveOut(path, { kind: 'unknown', name, hint: spelling(fields, name) }, reading);
      else if (inner !== null) known.push([field, (fields[field] ?? anything)(inner, [...path, field], reading)]);
    }
    const result: JsonObject = Object.fromEntries(known);
    for (const name of required) {
      if (!Object.hasOwn(result, name)) throw new Violation([...path, name], { kind: 'missing' });
    }
    return result;
  };
}

function leaveOut(path: Path, fault: Extract<Fault, { kind: 'unknown' }>, { ignore }: Reading): void {
  if (!ignore) throw new Violation(path, fault);
  ignore([...path, fault.name]);
}

/** The first rule whose condition holds. */
export function choose(pick: (value: JsonValue, path: Path) => Rule): Rule {
  return (value, path, reading) => pick(value, path)(value, path, reading);
}

function fieldName(fields: Fields, name: string, lenient: boolean): string | undefined {
  if (Object.hasOwn(fields, name)) return name;
  const camel = camelCase(name);
  return lenient && Object.hasOwn(fields, camel) ? camel : undefined;
}

function spelling(fields: Fields, name: string): string | undefined {
  const camel = camelCase(name);
  return Object.hasOwn(fields, camel) ? `Field names are camelCase: "${camel}".` : undefined;
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function checkBounds(value: number, { min = -Infinity, max = Infinity }: Bounds, path: Path): void {
  if (value < min) throw badValue(path, `Input should be greater than or equal to ${min}`);
  if (value > max) throw badValue(path, `Input should be less than or equal to ${max}`);
}

function wrongType(path: Path, expected: string, value: JsonValue): Violation {
  return new Violation(path, { kind: 'type', expected, value });
}

function listed(values: readonly string[]): string {
  return values.map((value) => `'${value}'`).join(' or ');
}
