import { usageError } from '../../errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import { closest } from '../../closest.ts';
import { shellWord } from '../../shell-word.ts';
import type { InputContext } from '../context.ts';
import { parseJson, quoteWord, type Var } from '../flags/flag.ts';
import { readObjectFlag, readTextFlag } from './input-files.ts';
import type { TextPlaces } from './prompt.ts';

/** Values for the template variables of a request. */
export interface TemplateValues {
  /** By the normalized names of the variables. */
  values: ReadonlyMap<string, string>;
  /** Names of the variables that were filled. */
  used: Set<string>;
  /** What to type for a variable without a value. */
  advice: (name: string) => string;
}

const namePattern = String.raw`[\p{L}_][\p{L}\p{M}\p{Nd}_.-]*(?: [\p{L}\p{M}\p{Nd}_.-]+)*`;

/** Made for the first text with braces: its classes of letters take a millisecond, for which each start would wait. */
let variablePattern: RegExp | undefined;

/** It does not match `${{ … }}`, `{{{x}}}`, `{{#if}}` or `{{ a | b }}`, which belong to other template languages. */
function getVariablePattern(): RegExp {
  return (variablePattern ??= new RegExp(String.raw`(?<![\$\{])\{\{[ \t]*(${namePattern})[ \t]*\}\}(?!\})`, 'gu'));
}

/** A name in Unicode's form NFC, so that both encodings of an accent match. */
export function normalizeVariableName(word: string): string {
  return word.normalize('NFC');
}

/** A value as text: a string as it is, null as an empty text, other values as JSON. */
export function toTemplateText(value: JsonValue): string {
  if (typeof value === 'string') return value;
  return value === null ? '' : JSON.stringify(value);
}

/** Whether a text has a template variable. */
export function hasTemplateVariable(text: string): boolean {
  return text.includes('{{') && text.search(getVariablePattern()) >= 0;
}

/**
 * Replaces each `{{name}}` by its value; variables inside values stay. Without `templateValues`, the text stays as it is. `place` names the
 * text in messages. Throws GatewayError usage that names the variables without a value.
 */
export function fillText(text: string, place: string, templateValues: TemplateValues | undefined): string {
  if (templateValues === undefined || !text.includes('{{')) return text;
  const missing = new Set<string>();
  let where = place;
  const filled = text.replaceAll(getVariablePattern(), (whole, written: string, at: number) => {
    const name = normalizeVariableName(written);
    const value = templateValues.values.get(name);
    if (value !== undefined) {
      templateValues.used.add(name);
      return value;
    }
    if (missing.size === 0 && text.trim().includes('\n')) where += `, line ${text.slice(0, at).split('\n').length}`;
    missing.add(name);
    return whole;
  });
  if (missing.size > 0) throw missingValueError([...missing], where, templateValues);
  return filled;
}

/** Fills the template variables of every text in a JSON value; keys stay as they are. */
export function fillLeaves<Value extends JsonValue>(
  value: Value,
  place: string,
  templateValues: TemplateValues | undefined,
): Value {
  if (templateValues === undefined) return value;
  const fillLeaf = (node: JsonValue, path: string): JsonValue => {
    if (typeof node === 'string') return fillText(node, path === '' ? place : `${place}: ${path}`, templateValues);
    if (Array.isArray(node)) return node.map((item, index) => fillLeaf(item, `${path}[${index}]`));
    if (!isObject(node)) return node;
    const prefix = path === '' ? '' : `${path}.`;
    return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, fillLeaf(item, `${prefix}${key}`)]));
  };
  return fillLeaf(value, '') as Value;
}

/** `where` names the text and the line of the first variable without a value. */
function missingValueError(missing: readonly string[], where: string, { values, advice }: TemplateValues): Error {
  const [first = ''] = missing;
  const names = missing.slice(0, 10).map((word) => `{{${word}}}`);
  const near = closest(first, [...values.keys()]);
  const known = [...values.keys()].slice(0, 20).join(', ');
  const others =
    near === undefined ? known && `names with a value: ${known}\n` : `the nearest name with a value is ${near}\n`;
  const verb = names.length === 1 ? 'has' : 'have';
  return usageError(`${names.join(', ')} ${verb} no value: ${where}`, `${others}${advice(first)}`);
}

/** The flags that give values to template variables, as they were typed. */
export interface VarFlags {
  var?: Var[];
  /** A file, JSON, or the number of a row of test data; false is `--no-vars`. */
  vars?: string | JsonObject | false;
  places?: Pick<TextPlaces, 'testData'>;
}

/** The values of `--vars` and `--var`; undefined with `--no-vars`. Throws GatewayError usage. */
export async function readTemplateValues(
  flags: VarFlags,
  context: InputContext,
  advice: TemplateValues['advice'] = (name) => adviseFlag(name, flags.places?.testData !== undefined),
): Promise<TemplateValues | undefined> {
  const { var: single = [], vars } = flags;
  if (vars === false) {
    if (single.length > 0) throw usageError('--var and --no-vars are both given', 'keep one of them');
    return undefined;
  }
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(vars === undefined ? {} : await readVars(vars, context)))
    values.set(normalizeVariableName(name), toTemplateText(value));
  for (const { name, value, file } of single) {
    if (!new RegExp(`^${namePattern}$`, 'u').test(name))
      throw usageError(
        `--var: a blank cannot be named ${quoteWord(name)}`,
        'a name begins with a letter or _, and has letters, digits, _, -, . and single spaces',
      );
    values.set(name, file === undefined ? value : await readTextFlag(`--var ${name}`, file, context));
  }
  return { values, used: new Set(), advice };
}

async function readVars(vars: string | JsonObject, context: InputContext): Promise<JsonObject> {
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

/** Warns about each `--var` that fills no variable: its name may be wrong. */
export async function warnOfUnused(
  single: readonly Var[],
  templateValues: TemplateValues | undefined,
  { ui }: InputContext,
): Promise<void> {
  for (const { name } of single) {
    if (templateValues === undefined || templateValues.used.has(name)) continue;
    const near = closest(name, [...templateValues.used]);
    const rest = near === undefined ? '' : `; the nearest blank is {{${near}}}`;
    await ui.warn(`--var ${quoteWord(name)} fills no blank${rest}`);
  }
}

function adviseFlag(name: string, hasRows: boolean): string {
  const row = hasRows ? 'take the values of a row of its testData: --vars 1\n' : '';
  const word = /^[\w.-]+$/.test(name) ? `${name}=…` : shellWord(`${name}=…`);
  return `${row}give it a value: --var ${word}\nto send {{…}} unchanged: --no-vars`;
}
