import { usageError } from '../../errors.ts';
import { isObject, type JsonValue, type JsonObject } from '../../json.ts';
import { closest } from '../../closest.ts';
import { shellWord } from '../../shell-word.ts';
import type { Context } from '../context.ts';
import { parseJson, quote, type Var } from '../flags/flag.ts';
import { readObjectFlag, readTextFlag } from './input-files.ts';
import type { TextPlaces } from './prompt.ts';

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
function isName(word: string): boolean {
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

/** Flags that give blanks their values, as they were typed. */
export interface VarFlags {
  var?: Var[];
  /** A file, JSON, or the number of a row of test data; false: `--no-vars`. */
  vars?: string | JsonObject | false;
  places?: Pick<TextPlaces, 'testData'>;
}

/** The values of `--vars` and `--var`; undefined where nothing is to be filled. Throws GatewayError usage. */
export async function readBlanks(
  flags: VarFlags,
  context: Context,
  advice: Blanks['advice'] = flags.places?.testData === undefined ? adviseFlag : adviseRow,
): Promise<Blanks | undefined> {
  const { var: single = [], vars } = flags;
  if (vars === false) {
    if (single.length > 0) throw usageError('--var and --no-vars are both given', 'keep one of them');
    return undefined;
  }
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(vars === undefined ? {} : await readVars(vars, context)))
    values.set(plainName(name), valueText(value));
  for (const { name, value, file } of single) {
    if (!isName(name))
      throw usageError(
        `--var: a blank cannot be named ${quote(name)}`,
        'a name begins with a letter or _, and has letters, digits, _, -, . and single spaces',
      );
    values.set(name, file === undefined ? value : await readTextFlag(`--var ${name}`, file, context));
  }
  return { values, used: new Set(), advice };
}

async function readVars(vars: string | JsonObject, context: Context): Promise<JsonObject> {
  if (typeof vars !== 'string') return vars;
  if (/^\d+$/.test(vars))
    throw usageError(
      `--vars ${vars} is a row of testData, and only a .prompt.yml file has those`,
      'for example: --prompt-file summary.prompt.yml --vars 1',
    );
  if (!/^\s*[{["]/.test(vars)) return readObjectFlag('--vars', vars, context);
  const value = parseJson('--vars', vars);
  if (isObject(value)) return value;
  throw usageError('--vars takes a JSON object', `for example: --vars '{"city":"Rome"}'`);
}

/** Tells of each `--var` that no blank asked for: its name may be wrong. */
export async function warnOfUnused(
  { var: single = [] }: VarFlags,
  blanks: Blanks | undefined,
  { ui }: Context,
): Promise<void> {
  for (const { name } of single) {
    if (blanks === undefined || blanks.used.has(name)) continue;
    const near = closest(name, [...blanks.used]);
    const rest = near === undefined ? '' : `; the nearest blank is {{${near}}}`;
    await ui.warn(`--var ${quote(name)} fills no blank${rest}`);
  }
}

function adviseRow(name: string): string {
  return `take the values of a row of its testData: --vars 1\n${adviseFlag(name)}`;
}

function adviseFlag(name: string): string {
  const word = /^[\w.-]+$/.test(name) ? `${name}=…` : shellWord(`${name}=…`);
  return `give it a value: --var ${word}\nto send {{…}} unchanged: --no-vars`;
}
