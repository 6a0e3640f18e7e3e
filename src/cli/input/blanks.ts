import { usageError } from '../../errors.ts';
import { isObject, type JsonValue } from '../../json.ts';
import { closest } from '../../settings/closest.ts';

/** What fills the blanks of a request. */
export interface Blanks {
  /** By the names of the blanks, as `plainName` writes them. */
  values: ReadonlyMap<string, string>;
  /** Names that a blank asked for; filled while the blanks are. */
  used: Set<string>;
  /** What to type for a blank that has no value. */
  advice: (name: string) => string;
}

const name = String.raw`[\p{L}_][\p{L}\p{M}\p{Nd}_.-]*(?: [\p{L}\p{M}\p{Nd}_.-]+)*`;
const wholeName = new RegExp(`^${name}$`, 'u');
/** `${{ … }}`, `{{{x}}}`, `{{#if}}` and `{{ a | b }}` are written in the languages of others. */
const blank = new RegExp(String.raw`(?<![\$\{])\{\{[ \t]*(${name})[ \t]*\}\}(?!\})`, 'gu');

/** Whether a blank can have this name. */
export function isName(word: string): boolean {
  return wholeName.test(word);
}

/** One spelling for one name, whichever way its accents are encoded. */
export function plainName(word: string): string {
  return word.normalize('NFC');
}

/** The text that stands for a value: text as it is, nothing for null, JSON for the rest. */
export function valueText(value: JsonValue): string {
  if (typeof value === 'string') return value;
  return value === null ? '' : JSON.stringify(value);
}

/** Whether a text has a blank. */
export function hasBlank(text: string): boolean {
  return text.includes('{{') && text.search(blank) >= 0;
}

/**
 * The text with a value in each `{{name}}`; what stands in a value is not looked at. `place` names the text in messages.
 * Without `blanks` it stays as it is. Throws GatewayError usage that names the blanks without a value.
 */
export function fillText(text: string, place: string, blanks: Blanks | undefined): string {
  if (blanks === undefined || !text.includes('{{')) return text;
  const missing = new Map<string, number>();
  const filled = text.replaceAll(blank, (whole, written: string, at: number) => {
    const known = plainName(written);
    const value = blanks.values.get(known);
    if (value === undefined) {
      if (!missing.has(known)) missing.set(known, at);
      return whole;
    }
    blanks.used.add(known);
    return value;
  });
  if (missing.size > 0) throw withoutValue(missing, { text, place }, blanks);
  return filled;
}

/** The same for every text in a JSON value; names of keys stay as they are. */
export function fillLeaves<Value extends JsonValue>(value: Value, place: string, blanks: Blanks | undefined): Value {
  if (blanks === undefined) return value;
  const fill = (at: JsonValue, path: string): JsonValue => {
    if (typeof at === 'string') return fillText(at, path === '' ? place : `${place}: ${path}`, blanks);
    if (Array.isArray(at)) return at.map((item, index) => fill(item, `${path}[${index}]`));
    if (!isObject(at)) return at;
    const before = path === '' ? '' : `${path}.`;
    return Object.fromEntries(Object.entries(at).map(([key, item]) => [key, fill(item, `${before}${key}`)]));
  };
  return fill(value, '') as Value;
}

function withoutValue(
  missing: ReadonlyMap<string, number>,
  { text, place }: { text: string; place: string },
  { values, advice }: Blanks,
): Error {
  const [[first, at] = ['', 0]] = missing;
  const line = text.slice(0, at).split('\n').length;
  const where = text.trim().includes('\n') ? `${place}, line ${line}` : place;
  const names = [...missing.keys()].slice(0, 10).map((word) => `{{${word}}}`);
  const near = closest(first, [...values.keys()]);
  const known = [...values.keys()].slice(0, 20).join(', ');
  const others =
    near === undefined ? known && `names with a value: ${known}\n` : `the nearest name with a value is ${near}\n`;
  return usageError(
    `${names.join(', ')} ${names.length === 1 ? 'has' : 'have'} no value: ${where}`,
    `${others}${advice(first)}`,
  );
}
