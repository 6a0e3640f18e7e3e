import { usageError } from '../../errors.ts';
import { isAspect } from '../../images/aspect.ts';
import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import { parseDurationOf } from '../../settings/duration.ts';
import { jsonFaultWords } from '../../settings/json-position.ts';

/** A whole number within bounds. */
export function whole(name: string, least: number, most = Number.MAX_SAFE_INTEGER): (word: string) => number {
  return (word) => {
    const value = Number(word);
    if (word.trim() !== '' && Number.isInteger(value) && value >= least && value <= most) return value;
    const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`;
    throw usageError(
      `${name} takes a whole number ${range}, not ${quote(word)}`,
      `for example: ${name} ${Math.max(least, 1)}`,
    );
  };
}

/** Any finite number: what range a model takes is its own matter (wire.md 1). */
export function decimal(name: string): (word: string) => number {
  return (word) => {
    const value = Number(word);
    if (word.trim() !== '' && Number.isFinite(value)) return value;
    throw usageError(`${name} takes a number, not ${quote(word)}`, `for example: ${name} 0.7`);
  };
}

/** A number from 0. */
export function notNegative(name: string): (word: string) => number {
  const parse = decimal(name);
  return (word) => {
    const value = parse(word);
    if (value >= 0) return value;
    throw usageError(`${name} takes a number from 0, not ${quote(word)}`, `for example: ${name} 2`);
  };
}

/** A time such as `90s`, in milliseconds. */
export function duration(name: string): (word: string) => number {
  return (word) => parseDurationOf(name, word);
}

/** Any text but none: what is empty is a variable that was not set. */
export function notEmpty(name: string, example: string): (word: string) => string {
  return (word) => {
    if (word !== '') return word;
    throw usageError(`${name} is empty`, `for example: ${name} ${example}; without one leave ${name} out`);
  };
}

/** One of a few words. */
export function oneOf(name: string, words: readonly string[]): (word: string) => string {
  return (word) => {
    if (words.includes(word)) return word;
    throw usageError(`${name} takes ${words.join(', ')}, not ${quote(word)}`, `for example: ${name} ${words[0]}`);
  };
}

/** `W:H`, both whole numbers: the form is checked, never a list of ratios. */
export function ratio(word: string): string {
  if (isAspect(word)) return word;
  throw usageError(`--aspect takes width:height, not ${quote(word)}`, 'for example: --aspect 16:9');
}

/** The form of an image size: `1K`, `2K`, `4K`, `512`. */
export function imageSize(word: string): string {
  if (/^\d{1,5}K?$/.test(word)) return word;
  const hint = /^\d{1,5}k$/.test(word) ? `the K is a capital: --size ${word.toUpperCase()}` : 'for example: --size 2K';
  throw usageError(`--size takes 1K, 2K, 4K or 512, not ${quote(word)}`, hint);
}

/** `CATEGORY=THRESHOLD`; the category's prefix may be left out. */
export function safety(word: string): { category: string; threshold: string } {
  const at = word.indexOf('=');
  const [category, threshold] = [word.slice(0, at), word.slice(at + 1)];
  if (at > 0 && /^[A-Z_]{1,80}$/.test(category) && /^[A-Z_]{1,80}$/.test(threshold)) {
    return { category: category.startsWith('HARM_CATEGORY_') ? category : `HARM_CATEGORY_${category}`, threshold };
  }
  throw usageError(
    `--safety takes CATEGORY=THRESHOLD, not ${quote(word)}`,
    'for example: --safety HARM_CATEGORY_HARASSMENT=BLOCK_ONLY_HIGH',
  );
}

/** `name=value` pairs, or one JSON object. */
export function pairOrJson(name: string): (word: string) => JsonObject {
  return (word) => {
    if (word.trimStart().startsWith('{')) return jsonObject(name, word);
    const at = word.indexOf('=');
    if (at > 0) return { [word.slice(0, at)]: word.slice(at + 1) };
    throw usageError(`${name} takes key=value or a JSON object, not ${quote(word)}`, `for example: ${name} user_id=ci`);
  };
}

function jsonObject(name: string, word: string): JsonObject {
  const value = parseJson(name, word);
  if (isObject(value)) return value;
  throw usageError(`${name} takes a JSON object`, `for example: ${name} '{"user_id":"ci"}'`);
}

/** Parses JSON that the user wrote; the message says where it broke. */
export function parseJson(name: string, text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw usageError(
      `${name} is no JSON: ${jsonFaultWords(text)}`,
      'JSON has names and texts in double quotes, and no comma at the end',
      error,
    );
  }
}

/** A word in quotes, cut where it is long. */
export function quote(word: string): string {
  return `'${word.length > 60 ? `${word.slice(0, 60)}…` : word}'`;
}
