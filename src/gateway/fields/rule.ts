import { findOwn, isObject, type JsonObject, type JsonValue } from '../../library/index.ts';
import type { Path, ValidationMode } from '../types.ts';

/** The rule that a value breaks. */
export type Breach =
  | { kind: 'unknown'; name: string }
  | { kind: 'missing' }
  | { kind: 'type'; expected: string; value: JsonValue }
  /** A word that is not among the known ones, though a newer list of the field's words could have it. */
  | { kind: 'choice'; text: string }
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

/** A violation for a value that has the right type and is not allowed. */
export function badValue(path: Path, text: string): Violation {
  return new Violation(path, { kind: 'value', text });
}

/** `messages[0].content`. */
export function pathText(path: Path): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`));
  return steps.join('').replace(/^\./, '');
}

/** Checks a value and returns it with known spellings of its fields. Throws Violation. */
export type Rule = (value: JsonValue, path: Path, mode: ValidationMode) => JsonValue;

export type ObjectRule = (value: JsonValue, path: Path, mode: ValidationMode) => JsonObject;

/** The fields an object may have, and their rules. A name that ends with `!` is required. */
export type FieldRules = Readonly<Record<string, Rule>>;

interface Bounds {
  min?: number;
  max?: number;
}

/** Accepts any JSON. */
export const anything: Rule = (value) => value;
export const text = ofType('string', (value) => typeof value === 'string');
export const flag = ofType('boolean', (value) => typeof value === 'boolean');
/** An object with any fields. */
export const freeObject = ofType('object', isObject);

export const number = ofType('number', (value) => typeof value === 'number');
const anyInteger = ofType('integer', (value) => Number.isSafeInteger(value));
const anyList = ofType('list', Array.isArray);

function ofType(expected: string, fits: (value: JsonValue) => boolean): Rule {
  return (value, path) => {
    if (fits(value)) return value;
    throw new Violation(path, { kind: 'type', expected, value });
  };
}

/** A whole number in a range. */
export function integer({ min = -Infinity, max = Infinity }: Bounds = {}): Rule {
  return (value, path, mode) => {
    const checked = Number(anyInteger(value, path, mode));
    if (checked < min) throw badValue(path, `Input should be greater than or equal to ${min}`);
    if (checked > max) throw badValue(path, `Input should be less than or equal to ${max}`);
    return checked;
  };
}

/** Accepts one of these words. A check that is not strict leaves out a field with another word. */
export function oneOf(...allowed: readonly string[]): Rule {
  return (value, path, mode) => {
    if (allowed.includes(String(text(value, path, mode)))) return value;
    throw new Violation(path, { kind: 'choice', text: wordsOf(allowed) });
  };
}

function wordsOf(allowed: readonly string[]): string {
  return `Input should be ${allowed.map((each) => `'${each}'`).join(' or ')}`;
}

/** A list of values that all follow one rule. */
export function list(rule: Rule): Rule {
  return (value, path, mode) => {
    const items = anyList(value, path, mode) as JsonValue[];
    const result: JsonValue[] = [];
    for (const [index, item] of items.entries()) {
      const at = [...path, index];
      const kept = typeof item === 'string' ? unlessUnknown(rule, item, at, mode) : rule(item, at, mode);
      if (kept !== undefined) result.push(kept);
    }
    return result;
  };
}

/** A list that has something in it. */
export function filledList(rule: Rule): Rule {
  return (value, path, mode) => {
    const items = list(rule)(value, path, mode);
    if (Array.isArray(value) && value.length === 0) throw badValue(path, `${String(path.at(-1))} must not be empty`);
    return items;
  };
}

/** The rule that a value itself chooses. */
export function choose(pick: (value: JsonValue) => Rule): Rule {
  return (value, path, mode) => pick(value)(value, path, mode);
}

/**
 * An object of known fields, in camelCase also by their snake_case names; others are refused or left out, as the mode says. A
 * null counts as absent.
 */
export function object(spec: FieldRules): ObjectRule {
  return objectRule(spec, (name, value, path, mode) => {
    if (mode.isStrict) throw new Violation(path, { kind: 'unknown', name });
    mode.leftOut([...path, name], value);
    return false;
  });
}

/** An object of which only these fields are read; it can have others. */
export function openObject(spec: FieldRules): ObjectRule {
  return objectRule(spec, () => true);
}

/** `keeps`: whether a field that `spec` does not have stays. */
function objectRule(
  spec: FieldRules,
  keeps: (name: string, value: JsonValue, path: Path, mode: ValidationMode) => boolean,
): ObjectRule {
  const fields = Object.fromEntries(Object.entries(spec).map(([name, rule]) => [plainName(name), rule]));
  const required = Object.keys(spec)
    .filter((name) => name.endsWith('!'))
    .map(plainName);
  return (value, path, mode) => {
    freeObject(value, path, mode);
    const result: JsonObject = {};
    for (const [name, inner] of Object.entries(value ?? {})) {
      const field = Object.hasOwn(fields, name) ? name : camelCase(name);
      const rule = findOwn(fields, field);
      if (rule === undefined) {
        if (keeps(name, inner, path, mode)) result[name] = inner;
        continue;
      }
      if (inner === null) continue;
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

/** The checked value; none if it, or a field that it requires, has a word that is left out. */
function unlessUnknown(rule: Rule, value: JsonValue, path: Path, mode: ValidationMode): JsonValue | undefined {
  try {
    return rule(value, path, mode);
  } catch (error) {
    const isUnknown = error instanceof Violation && error.breach.kind === 'choice';
    if (!isUnknown || mode.isStrict) throw error;
    mode.leftOut(error.path, value);
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

/** A size that is not drawn is refused in every mode, like a ratio: an image of another size would mislead. */
export const imageSize: Rule = (value, path, mode) => {
  const size = String(text(value, path, mode));
  if (drawnSizes.includes(size)) return size;
  throw badValue(path, wordsOf(drawnSizes));
};
const drawnSizes = ['512', '1K', '2K', '4K'];
