import { closest, isObject, type JsonObject, type JsonValue, shellWord, usageError } from '../../library/index.ts';
import type { InputContext } from '../context.ts';
import { parseJson, quoteWord, type Var } from '../flags/flag.ts';
import { readObjectFlag, readTextFlag } from './input-files.ts';

/** Values for the template variables of a request. */
export interface TemplateValues {
  /** Values by the normalized names of the variables. */
  values: ReadonlyMap<string, string>;
  /** Names of the variables that were filled. */
  used: Set<string>;
  /** Says which flag gives a value to a variable. */
  advice: (name: string) => string;
  /** The values are a row of a table: every name in double braces is a variable. */
  isRow: boolean;
}

/** Every text in braces that can be a variable: a value is looked up by the text between the braces, whatever it is. */
const bracesPattern = /\{\{(\s*[^{}\s][^{}]*)\}\}/g;

/** Braces that begin within others, which no value can fill: `{{@{{parent}}.text}}`. */
const nestedPattern = /\{\{[^{}\n]{0,99}\{\{[^{}\n]{0,99}(?:\}\}[^{}\n]{0,99}\}\})?/;

/** Made for the first text with braces: its classes of letters take a millisecond, for which each start would wait. */
let namePattern: RegExp | undefined;

/** Whether a variable has a name. Others, such as `{{#if x}}` or `{{ a | b }}`, belong to other template languages if they have no value. */
function isVariableName(written: string): boolean {
  namePattern ??= /^[ \t]*[\p{L}_][\p{L}\p{M}\p{Nd}_.-]*(?: [\p{L}\p{M}\p{Nd}_.-]+)*[ \t]*$/u;
  return namePattern.test(written);
}

/** `${{ x }}` and `{{{x}}}` belong to other template languages. */
function isOfOthers(text: string, at: number, { length }: string): boolean {
  return text[at - 1] === '$' || text[at - 1] === '{' || text[at + length] === '}';
}

/** A name in Unicode's form NFC, so that both encodings of an accent match, with the line breaks of a heading as spaces. */
export function normalizeVariableName(word: string): string {
  return word.normalize('NFC').trim().replaceAll(/\s+/g, ' ');
}

/** A value as text: a string as it is, null as an empty text, other values as JSON. */
export function toTemplateText(value: JsonValue): string {
  if (typeof value === 'string') return value;
  return value === null ? '' : JSON.stringify(value);
}

/** Whether a text has braces that can be a template variable. */
export function hasTemplateVariable(text: string): boolean {
  return text.includes('{{') && text.search(bracesPattern) >= 0;
}

/** Splits a text into parts in braces that can be a variable, and the text between them. */
export function splitVariables(text: string): { names: string[]; rest: string } {
  const names = Array.from(text.matchAll(bracesPattern), ([, written = '']) => normalizeVariableName(written));
  return { names, rest: text.replaceAll(bracesPattern, '') };
}

/**
 * Replaces each `{{name}}` by its value; variables inside values stay. Without `templateValues`, the text stays as it is. `place` names the
 * text in messages. Throws GatewayError usage that names the variables without a value.
 */
export function fillText(text: string, place: string, templateValues: TemplateValues | undefined): string {
  if (templateValues === undefined || !text.includes('{{')) return text;
  const { values, used, isRow } = templateValues;
  const [nested] = (isRow && nestedPattern.exec(text)) || [];
  if (nested !== undefined)
    throw usageError(
      `${place}: ${nested} has braces within braces`,
      'a heading stands alone in its braces, and its cell is sent as it stands; jobs that use the text of another one are lines of a job file: gateway-cli help batch',
    );
  const missing = new Set<string>();
  let where = place;
  const filled = text.replaceAll(bracesPattern, (whole: string, written: string, at: number) => {
    if (!isRow && isOfOthers(text, at, whole)) return whole;
    const name = normalizeVariableName(written);
    const value = values.get(name);
    if (value !== undefined) {
      used.add(name);
      return value;
    }
    if (!isRow && !isVariableName(written)) return whole;
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
  const names = missing.slice(0, 10).map((word) => `{{${word.length > 60 ? `${word.slice(0, 60)}…` : word}}}`);
  const near = closest(first, [...values.keys()]);
  const known = [...values.keys()].slice(0, 20).join(', ');
  const others =
    near === undefined ? known && `names with a value: ${known}\n` : `the nearest name with a value is ${near}\n`;
  const verb = names.length === 1 ? 'has' : 'have';
  return usageError(`${names.join(', ')} ${verb} no value: ${where}`, `${others}${advice(first)}`);
}

/** The flags that give values to template variables, as they were typed. */
export interface VarFlags {
  var?: readonly Var[];
  /** A file, or JSON; false is `--no-vars`. */
  vars?: string | JsonObject | false;
  row?: TableRowUse;
}

/** A row of a table whose columns are the values. */
export interface TableRowUse {
  columns: readonly string[];
  /** Whether a column is in the request already. */
  isUsed: boolean;
}

/** The values of `--vars` and `--var`; undefined with `--no-vars`. Throws GatewayError usage. */
export async function readTemplateValues(
  flags: VarFlags,
  context: InputContext,
  advice: TemplateValues['advice'] = adviseFlag,
): Promise<TemplateValues | undefined> {
  const { var: single = [], vars } = flags;
  if (vars === false) {
    if (single.length > 0) throw usageError('--var and --no-vars are both given', 'keep one of them');
    return undefined;
  }
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(vars === undefined ? {} : await readVars(vars, context)))
    values.set(normalizeVariableName(name), toTemplateText(value));
  for (const { name, value, file } of single)
    values.set(
      normalizeVariableName(name),
      file === undefined ? value : await readTextFlag(`--var ${name}`, file, context),
    );
  return { values, used: new Set(), advice, isRow: flags.row !== undefined };
}

async function readVars(vars: string | JsonObject, context: InputContext): Promise<JsonObject> {
  if (typeof vars !== 'string') return vars;
  if (!/^\s*[{["]/.test(vars)) return readObjectFlag('--vars', vars, context);
  const value = parseJson('--vars', vars);
  if (isObject(value)) return value;
  throw usageError('--vars takes a JSON object', `for example: --vars '{"city":"Rome"}'`);
}

/**
 * Throws GatewayError usage for a request that uses no column of its row: all rows would pay for the same request. `prompt` is
 * the place for a column.
 */
export function requireColumn(
  { columns, isUsed }: TableRowUse,
  templateValues: TemplateValues,
  prompt: string | undefined,
): void {
  if (isUsed || columns.some((name) => templateValues.used.has(normalizeVariableName(name)))) return;
  const meant = columns.find((name) => prompt?.includes(name)) ?? columns[0];
  throw usageError(
    'no column is used: each row would send the same',
    `put a column into the prompt: {{${meant}}}\nto send the prompt as it stands, once for each row: --no-vars`,
  );
}

/** Warns about each `--var` that fills no variable: its name may be wrong. */
export async function warnOfUnused(
  single: readonly Var[],
  templateValues: TemplateValues | undefined,
  { ui }: InputContext,
): Promise<void> {
  for (const { name } of single) {
    if (templateValues === undefined || templateValues.used.has(normalizeVariableName(name))) continue;
    const near = closest(name, [...templateValues.used]);
    const rest = near === undefined ? '' : `; the nearest blank is {{${near}}}`;
    await ui.warn(`--var ${quoteWord(name)} fills no blank${rest}`);
  }
}

function adviseFlag(name: string): string {
  const word = /^[\w.-]+$/.test(name) ? `${name}=…` : shellWord(`${name}=…`);
  return `give it a value: --var ${word}\nto send {{…}} unchanged: --no-vars`;
}
