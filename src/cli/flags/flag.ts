import { type Command, Option } from 'commander';
import {
  closest,
  GatewayError,
  isAspect,
  isObject,
  isTooDeep,
  jsonFaultWords,
  type JsonObject,
  type JsonValue,
  tooDeepWords,
  usageError,
} from '../../library/index.ts';
import type { Note } from '../help/types.ts';

/** A flag of the program. It is defined once; commands name the flags that they take. */
export interface Flag {
  /** The flag in the syntax of commander: `-m, --model <id>`. */
  readonly flags: string;
  readonly text: string;
  /** Reads a word; `name` is its flag or key, for messages. Throws GatewayError usage. */
  readonly parse?: (word: string, name: string) => unknown;
  /** The word of a value, if it is not the value as text. */
  readonly write?: (value: never) => string;
  /** The flag can be repeated; its values become a list. */
  readonly repeat?: true;
  /** Values for completion; others may be allowed. */
  readonly values?: readonly string[];
  readonly hidden?: true;
  /** Help shows it only with `--verbose`. */
  readonly advanced?: true;
  /**
   * The way in which the folder of a batch keeps the flag: as it is, with its path rewritten, or not at all, since it is for one
   * run.
   */
  readonly kept?: 'never' | KeepWord;
}

/** Rewrites the word of a flag for the folder of a batch: its path by `move`, and without a secret. */
type KeepWord = (word: string, move: (path: string) => string) => string;

/** Keeps a path; `-` is stdin. */
export const keepPath: KeepWord = (word, move) => (word === '-' ? word : move(word));

/** Keeps JSON as it is, otherwise a path. */
export const keepJsonOrPath: KeepWord = (word, move) => (word.trimStart().startsWith('{') ? word : move(word));

/** Flags by their names in camel case. */
export type FlagTable = Readonly<Record<string, Flag>>;

/** The values of a table's flags, as commander returns them. */
export type FlagValues<T extends FlagTable> = {
  -readonly [K in keyof T]?: T[K] extends { repeat: true } ? ParsedValue<T[K]>[] : ParsedValue<T[K]>;
};

type ParsedValue<F extends Flag> = F extends { parse: (word: string, name: string) => infer T }
  ? T
  : F['flags'] extends `${string}<${string}`
    ? string
    : F['flags'] extends `${string}[${string}`
      ? string | true
      : true;

/** The row of each flag that was added to a command. */
const rows = new WeakMap<Option, Flag>();

/** Whether help shows a flag only with `--verbose`. */
export function isAdvanced(option: Option): boolean {
  return rows.get(option)?.advanced === true;
}

/** The type of a flag's value, for programs that read the flags as data. */
interface ValueType {
  type: 'integer' | 'number' | 'string';
  minimum?: number;
  maximum?: number;
  /** Whether the flag takes only the values of its row. */
  isChoice?: true;
}

/** The type that each parser reads; a parser that is not here reads a string. */
const valueTypes = new WeakMap<NonNullable<Flag['parse']>, ValueType>();

/** Facts of a flag that its row in the table has and commander does not. */
export function getFlagFacts(option: Option): ReturnType<typeof describeValue> {
  return describeValue(rows.get(option) ?? {});
}

/** The type of a flag's value, and the values that are known. */
export function describeValue({ parse, values }: Pick<Flag, 'parse' | 'values'>): ValueType & Pick<Flag, 'values'> {
  const type = parse && valueTypes.get(parse);
  return { type: 'string', ...type, ...(values && { values }) };
}

/** Adds the flags to a command, under one heading of its help. */
export function addFlags(command: Command, heading: string, flags: FlagTable): void {
  for (const flag of Object.values(flags)) command.addOption(toOption(flag).helpGroup(heading));
}

function toOption(flag: Flag): Option {
  const option = new Option(flag.flags, flag.text);
  if (flag.hidden) option.hideHelp();
  rows.set(option, flag);
  if (flag.values) option.argChoices = [...flag.values];
  const parse = createParser(flag) ?? ((word: string) => word);
  // Help knows a list by the second parameter of its parser.
  if (flag.repeat) option.argParser((word, before?: unknown[]) => [...(before ?? []), parse(word)]);
  else if (option.required) option.argParser(parse);
  return option;
}

/** The reader of a flag's word; undefined if the word is the value. */
function createParser({ flags, parse }: Flag): ((word: string) => unknown) | undefined {
  return parse && ((word) => parse(word, /--[\w-]+/.exec(flags)?.[0] ?? ''));
}

/** Refuses a flag as a value, for flags whose value is easily forgotten: in `-o --force` and `-o -f` the value is missing. */
export function notAFlag(word: string, name: string, example?: string): string {
  if (!/^(--|-[a-z]$)/i.test(word)) return word;
  const value = word === '--' ? 'with a dash: ./-name' : `so: ${name}=./${word}`;
  const hint = example === undefined ? `for a value that begins ${value}` : `for example: ${example}`;
  throw usageError(`${name} needs a value, and ${word.split('=')[0]} is a flag`, hint);
}

function invalidValue(name: string, wanted: string, word: string, example: string | number): GatewayError {
  return usageError(`${name} takes ${wanted}, not ${quoteWord(word)}`, `for example: ${writeValue(name, example)}`);
}

/** A value as the user writes it: `--seed 7` for a flag, `gateway-cli batch retry out failed`, `"seed": 7` for a key of a job or of the config. */
export function writeValue(name: string, value: string | number): string {
  if (/^(?:--?[\w-]+$|gateway-cli )/.test(name)) return `${name} ${value}`;
  return `${/"\w+"|\w+$/.exec(name)?.[0] ?? name}: ${JSON.stringify(value)}`;
}

/** NaN for a blank word. */
function toNumber(word: string): number {
  return word.trim() === '' ? NaN : Number(word);
}

/** A whole number within bounds. */
export function whole(least: number, most = Number.MAX_SAFE_INTEGER): (word: string, name: string) => number {
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`;
  const parse = (word: string, name: string): number => {
    const value = toNumber(word);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw invalidValue(name, `a whole number ${range}`, word, Math.max(least, 1));
  };
  const limit = most === Number.MAX_SAFE_INTEGER ? {} : { maximum: most };
  valueTypes.set(parse, { type: 'integer', minimum: least, ...limit });
  return parse;
}

/** Parses any finite number: the range depends on the model. */
export function decimal(word: string, name: string): number {
  const value = toNumber(word);
  if (Number.isFinite(value)) return value;
  throw invalidValue(name, 'a number', word, 0.7);
}
valueTypes.set(decimal, { type: 'number' });

/** An amount of money, as text so that it is never rounded. */
export function amount(word: string, name: string): string {
  if (/^\d{1,12}(?:\.\d{1,12})?$/.test(word) && Number(word) > 0) return word;
  throw invalidValue(name, 'an amount of more than 0', word, '0.50');
}

/** Checks that a word is not empty: an empty word comes from a variable that is not set. */
export function notEmpty(word: string, name: string): string {
  if (word !== '') return word;
  throw usageError(`${name} is empty`, `for example: ${writeValue(name, 'END')}; without one leave ${name} out`);
}

/** A proxy URL. The message does not repeat it: argv is public. */
export function passwordless(word: string, name: string): string {
  if (!word.includes('@')) return word;
  throw usageError(
    `${name} would show the proxy's user name and password to every user of this machine`,
    `put that URL into HTTPS_PROXY (HTTP_PROXY for a gateway at http://), and leave ${name} out`,
  );
}

/** Makes a parser that accepts only these words. */
export function oneOfWords<const Word extends string>(words: readonly Word[]): (word: string, name: string) => Word {
  const parse = (word: string, name: string): Word => {
    const found = words.find((one) => one === word);
    if (found !== undefined) return found;
    const near = closest(word, words);
    if (near === undefined && word === 'json')
      throw usageError(`${name} takes ${words.join(', ')}, not 'json'`, 'for a JSON document: --json');
    throw invalidValue(name, words.join(', '), word, near ?? words[0] ?? '');
  };
  valueTypes.set(parse, { type: 'string', isChoice: true });
  return parse;
}

/** `W:H`. Only the form is checked: a service can take any ratio. */
export function ratio(word: string, name: string): string {
  if (isAspect(word)) return word;
  throw invalidValue(name, 'width:height', word, '16:9');
}

/** An image size: `1K`, `2K`, `4K`, `512`, or `1536x1024` for services that take width and height. Only the form is checked. */
export function parseImageSize(word: string, name: string): string {
  if (/^\d{1,5}(?:K|x\d{1,5})?$/.test(word)) return word;
  const error = invalidValue(name, '512, 1K, 2K, 4K, another number of pixels or, at OpenAI, WxH', word, '2K');
  throw /^\d{1,5}k$/.test(word)
    ? error.withDetails({ hint: `the K is a capital: ${writeValue(name, word.toUpperCase())}` })
    : error;
}

/** The type of an image in the word of services, which is `jpeg` for files named jpg. Unknown types are left to the service. */
export function imageFormat(word: string, name: string): string {
  const type = notAFlag(word, name).toLowerCase();
  return type === 'jpg' ? 'jpeg' : type;
}

/** `CATEGORY=THRESHOLD`; the prefix of the category can be left out. */
export function safety(word: string, name: string): { category: string; threshold: string } {
  const [, category = '', threshold] = /^([A-Z_]{1,80})=([A-Z_]{1,80})$/.exec(word) ?? [];
  if (threshold === undefined)
    throw invalidValue(name, 'CATEGORY=THRESHOLD', word, 'HARM_CATEGORY_HARASSMENT=BLOCK_ONLY_HIGH');
  return { category: category.startsWith('HARM_CATEGORY_') ? category : `HARM_CATEGORY_${category}`, threshold };
}

/** `name=value` pairs, or one JSON object. */
export function pairOrJson(word: string, name: string): JsonObject {
  if (word.trimStart().startsWith('{')) {
    const value = parseJson(name, word);
    if (isObject(value)) return value;
    throw usageError(`${name} takes a JSON object`, `for example: ${name} '{"user_id":"ci"}'`);
  }
  const at = word.indexOf('=');
  if (at > 0) return { [word.slice(0, at)]: word.slice(at + 1) };
  throw invalidValue(name, 'key=value or a JSON object', word, 'user_id=ci');
}

/** One `--var`: a value, or the file that contains the value. */
export interface Var {
  name: string;
  value: string;
  file?: string;
}

/** Reads `name=value`, `name=@file` and `name=@@…` for a value that begins with @. */
export function variable(word: string, name: string): Var {
  const at = word.indexOf('=');
  if (at <= 0) throw invalidValue(name, 'name=value or name=@file', word, 'city=Rome');
  const [key, value] = [word.slice(0, at).trim().normalize('NFC'), word.slice(at + 1)];
  if (!value.startsWith('@')) return { name: key, value };
  if (value.startsWith('@@')) return { name: key, value: value.slice(1) };
  if (value !== '@') return { name: key, value: '', file: value.slice(1) };
  throw usageError(
    `${name} ${key}=@ names no file`,
    `for example: ${writeValue(name, `${key}=@report.txt`)}; the sign itself is @@`,
  );
}

/** Reads `key=value`. */
export function tag(word: string, name: string): readonly [key: string, value: string] {
  const [, key, value] = /^([\w.-]{1,64})=([^\n\r]{1,200})$/.exec(word) ?? [];
  if (key !== undefined && value !== undefined) return [key, value];
  throw invalidValue(name, 'key=value', word, 'team=docs');
}

export function writePair([key, value]: readonly [string, string]): string {
  return `${key}=${value}`;
}

/** Parses JSON of the user. Throws GatewayError usage with the place of the mistake. */
export function parseJson(name: string, text: string): JsonValue {
  if (isTooDeep(text)) throw usageError(`${name} is ${tooDeepWords}`);
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw usageError(
      `${name} is not JSON: ${jsonFaultWords(text)}`,
      'put names and strings in double quotes, and remove a comma after the last value',
      error,
    );
  }
}

/** A word in quotes, cut after 60 characters. */
export function quoteWord(word: string): string {
  return `'${shorten(word)}'`;
}

/** Cuts a path in the middle: its end names the file. */
function shorten(word: string): string {
  if (word.length <= longestWord) return word;
  const name = word.slice(Math.max(word.lastIndexOf('/'), word.lastIndexOf('\\')));
  if (name.length === word.length || name.length > longestName) return `${word.slice(0, longestWord)}…`;
  const end = Math.max(name.length, longestWord / 2);
  return `${word.slice(0, Math.max(longestWord - end, 10))}…${word.slice(-end)}`;
}

const longestWord = 60;
const longestName = 120;

/** For `catch`: puts the flag before the message of a usage error; rethrows other errors. */
export function prefixUsageError(flag: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof GatewayError) || error.class !== 'usage') throw error;
    const { message, details, cause } = error;
    throw new GatewayError('usage', `${flag}${message}`, { ...details, cause });
  };
}

const examples = new WeakMap<Command, readonly string[]>();
const notes = new WeakMap<Command, readonly Note[]>();

/** Sets the examples at the beginning of a command's help. */
export function setExamples(command: Command, lines: readonly string[]): void {
  examples.set(command, lines);
}

export function getExamples(command: Command): readonly string[] {
  return examples.get(command) ?? [];
}

/** Sets the end of a command's help. */
export function setNotes(command: Command, list: readonly Note[]): void {
  notes.set(command, list);
}

export function getNotes(command: Command): readonly Note[] {
  return notes.get(command) ?? [];
}
