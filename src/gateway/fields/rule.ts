import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import type { Path, ValidationMode } from '../types.ts';

/** What is wrong with a value. */
export type Breach =
  | { kind: 'unknown'; name: string }
  | { kind: 'missing' }
  | { kind: 'type'; expected: string; value: JsonValue }
  /** A number outside of its bounds. */
  | { kind: 'range'; side: 'below' | 'above'; limit: number; value: number; isWhole: boolean }
  /** A list with too few or too many values. */
  | { kind: 'length'; side: 'below' | 'above'; limit: number; length: number }
  /** A string that is not among the known ones, though a newer list of the field's values could have it. */
  | { kind: 'choice'; allowed: readonly string[]; value: string }
  | { kind: 'value'; text: string };

/** A field that breaks a rule; its format makes an error reply from it. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly path: Path;
  readonly breach: Breach;

  constructor(path: Path, breach: Breach) {
    super(breach.kind);
    this.path = path;
    this.breach = breach;
  }
}

/** A violation where a value has the right type and is not allowed. */
export function badValue(path: Path, text: string): Violation {
  return new Violation(path, { kind: 'value', text });
}

/** `messages[0].content`. */
export function pathText(path: Path): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`));
  return steps.join('').replace(/^\./, '');
}

/** The words of the content and the messages format for a value of the right type that is not allowed. */
export function describeBadValue(
  path: Path,
  breach: Exclude<Breach, { kind: 'unknown' | 'missing' | 'type' }>,
): string {
  switch (breach.kind) {
    case 'range':
      return `Input should be ${breach.side === 'below' ? 'greater' : 'less'} than or equal to ${breach.limit}`;
    case 'length':
      if (breach.side === 'below') return `${String(path.at(-1))} must not be empty`;
      return `at most ${breach.limit} values are allowed, not ${breach.length}`;
    case 'choice':
      return `Input should be ${breach.allowed.map((each) => `'${each}'`).join(' or ')}`;
    case 'value':
      return breach.text;
  }
}

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
  return inBounds(anyNumber, bounds);
}

/** A whole number in a range. */
export function integer(bounds: Bounds = {}): Rule {
  return inBounds(anyInteger, bounds);
}

function inBounds(rule: Rule, { min = -Infinity, max = Infinity }: Bounds): Rule {
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
  return oneOfList(allowed);
}

export function oneOfList(allowed: readonly string[]): Rule {
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
    const result: JsonValue[] = [];
    for (const [index, item] of items.entries()) {
      const at = [...path, index];
      const kept = typeof item === 'string' ? unlessUnknown(rule, item, at, mode) : rule(item, at, mode);
      if (kept !== undefined) result.push(kept);
    }
    return result;
  };
}

/** The rule that a value itself chooses. */
export function choose(pick: (value: JsonValue) => Rule): Rule {
  return (value, path, mode) => pick(value)(value, path, mode);
}

/**
 * An object of known fields, in camelCase also by their snake_case names; others are refused or left out, as the mode says. A
 * null counts as absent. The level `vendor` does not know the fields of `beyond`.
 */
export function object(spec: Fields, beyond: Fields = {}): ObjectRule {
  const strict = Object.fromEntries(Object.entries(spec).map(([name, rule]) => [plainName(name), rule]));
  const required = Object.keys(spec)
    .filter((name) => name.endsWith('!'))
    .map(plainName);
  const all = { ...strict, ...beyond };
  return (value, path, mode) => {
    freeObject(value, path, mode);
    const fields = mode.level === 'vendor' ? strict : all;
    const result: JsonObject = {};
    for (const [name, inner] of Object.entries(value ?? {})) {
      const field = Object.hasOwn(fields, name) ? name : camelCase(name);
      if (!Object.hasOwn(fields, field)) {
        if (mode.level !== 'lenient') throw new Violation(path, { kind: 'unknown', name });
        mode.leftOut([...path, name]);
        continue;
      }
      if (inner === null) continue;
      const rule = fields[field] ?? anything;
      const at = [...path, field];
      const kept = required.includes(field) ? rule(inner, at, mode) : unlessUnknown(rule, inner, at, mode);
      if (kept !== undefined) result[field] = kept;
    }
    const missing = required.find((name) => !Object.hasOwn(result, name));
    if (missing !== undefined) throw new Violation([...path, missing], { kind: 'missing' });
    return result;
  };
}

function plainName(name: string): string {
  return name.replace('!', '');
}

/** The checked value; none if it, or a field that it requires, has a value that a lenient check leaves out. */
function unlessUnknown(rule: Rule, value: JsonValue, path: Path, mode: ValidationMode): JsonValue | undefined {
  try {
    return rule(value, path, mode);
  } catch (error) {
    const isUnknown = error instanceof Violation && error.breach.kind === 'choice';
    if (!isUnknown || mode.level !== 'lenient') throw error;
    mode.leftOut(error.path);
    return undefined;
  }
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** `width:height`; ratios more extreme than 10:1 are refused. */
export const aspectRatio: Rule = (value, path, mode) => {
  const ratio = String(text(value, path, mode));
  const [, width, height] = /^(\d{1,4}):(\d{1,4})$/.exec(ratio) ?? [];
  const quotient = Number(width) / Number(height);
  if (quotient >= 0.1 && quotient <= 10) return ratio;
  throw badValue(
    path,
    `${JSON.stringify(ratio.slice(0, 40))} is not an aspect ratio from 1:10 to 10:1; write width:height, such as 16:9`,
  );
};

/** A size that is not drawn is refused at every level, as a ratio is: an image of another size would mislead. */
export const imageSize: Rule = (value, path, mode) => {
  const size = String(text(value, path, mode));
  if (drawnSizes.includes(size)) return size;
  throw badValue(path, `Input should be ${drawnSizes.map((each) => `'${each}'`).join(' or ')}`);
};
const drawnSizes = ['512', '1K', '2K', '4K'];
