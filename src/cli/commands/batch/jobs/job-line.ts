import { type Job, type JobCommand, jobCommands } from '../../../../batch/index.ts';
import {
  closest,
  fieldEntries,
  findJsonFault,
  GatewayError,
  isObject,
  isTooDeep,
  type JsonObject,
  type JsonValue,
  tooDeepWords,
  usageError,
} from '../../../../library/index.ts';
import { listFields, readValue, takesJson, toFlag } from '../../../flags/fields.ts';
import type { FlagTable } from '../../../flags/flag.ts';
import { chatFlags, imageFlags } from '../../../flags/format.ts';
import { hasTemplateVariable } from '../../../input/template-variables.ts';
import { connectionFlags, rootFlags } from '../../../flags/shared.ts';
import { usesByCommand } from '../../../run/settings.ts';

type JobFlag = FlagTable[string];

/** Keys of a file whose JSON a job can hold itself. */
export const jsonKeys: ReadonlySet<string> = new Set(
  fieldEntries.flatMap(([name, field]) => (takesJson(field) ? [name] : [])),
);

const { profile } = rootFlags;
const { model } = connectionFlags;
const { count } = imageFlags;

/** The keys that jobs of each command may have: the fields of its request, the profile, and no other. */
export const jobKeys: Readonly<Record<JobCommand, FlagTable>> = {
  text: listKeys('text'),
  'image gen': { ...listKeys('image gen'), count },
  'image edit': { ...listKeys('image edit'), count },
  chat: { ...listKeys('chat'), stream: chatFlags.stream },
};

function listKeys(command: JobCommand): FlagTable {
  const fields = listFields(usesByCommand[command]).map(([name, field]) => [name, toFlag(field)]);
  return { ...Object.fromEntries(fields), model, profile };
}

/** The rules by which every line of a job file is read. */
export interface JobRules {
  /** The command and the keys of jobs that do not have their own. */
  defaults: Defaults;
  /** The name of the file as the user typed it, for messages. */
  file: string;
  /** The words for the place of the job, where its line does not tell it. */
  place?: string | undefined;
}

/** Keys that a job gets unless it has its own. */
export interface Defaults {
  command: JobCommand;
  values: Readonly<JsonObject>;
}

const maxIdBytes = 512;
/** Keys of a line about the job itself, and for editors; its other keys are flags. */
export const jobFields = new Set(['id', 'command', 'name', '$schema']);

/**
 * Reads one line of a job file; undefined for an empty one. Throws GatewayError usage that names file and line: no JSON, an
 * unknown key, a value that the flag of that name would refuse.
 */
export function readJobLine(text: string, line: number, rules: JobRules): Job | undefined {
  return text.trim() === '' ? undefined : readJobObject(text, line, rules);
}

/** The job of one line of `--prompts`; a byte order mark of the file is not part of its first prompt. */
export function readPromptLine(text: string, line: number, rules: JobRules): Job | undefined {
  if (text.trim() === '') return undefined;
  const prompt = line === 1 ? text.replace(/^\uFEFF/, '') : text;
  return readJobObject({ prompt }, line, rules);
}

/** The job of an object, or of its JSON. Throws GatewayError usage with its place. */
export function readJobObject(object: JsonObject | string, line: number, rules: JobRules): Job {
  try {
    return readJob(typeof object === 'string' ? parseJobObject(object) : object, line, rules);
  } catch (error) {
    throw atPlace(rules.file, { line, place: rules.place }, error);
  }
}

/**
 * The jobs of a line with a `count`: that many, each with its own id, request and result: `7-1`, `7-2` and so on. A greater count
 * leaves sent jobs unchanged.
 */
export function* repeatByCount(job: Job): Generator<Job, void> {
  const { count, ...values } = job.values;
  if (count === 1) return yield { ...job, values };
  for (let n = 1; n <= Number(count); n++)
    yield { ...job, id: `${job.id}-${n}`, lineId: job.id, name: job.name && `${job.name}-${n}`, values };
}

/** The place of a job in its file, for messages: `rows.csv:3`. */
export function placeOf(file: string, { line, place }: Pick<Job, 'line' | 'place'>): string {
  return place === undefined ? `${file}:${line}` : `${file}: ${place}`;
}

/** A mistake with the place of its job in front of it. */
export function atPlace(file: string, job: Pick<Job, 'line' | 'place'>, error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.class !== 'usage') return error;
  return new GatewayError(error.class, `${placeOf(file, job)}: ${error.message}`, {
    ...error.details,
    cause: error.cause,
  });
}

/**
 * Reads `--defaults`. Throws GatewayError usage: a key that no command has, or a value that its flag would refuse. Values with
 * template variables (`hasBlanks`) are checked when these are filled.
 */
export function readDefaults(object: JsonObject, hasBlanks = false): Defaults {
  const { command, $schema, ...values } = object;
  if ($schema !== undefined) requireLink($schema);
  for (const key of Object.keys(values)) {
    const rule = jobCommands.map((name) => getOwn(jobKeys[name], key)).find((found) => found !== undefined);
    if (!rule) throw usageError(`--defaults: ${unknownKey(key)}`, keysHint(key, Object.values(jobKeys)));
    if (!hasBlanks || !hasTemplateVariable(JSON.stringify(values[key])))
      parseJobValue(key, values[key] as JsonValue, rule, ofDefaults);
  }
  return { command: command === undefined ? 'text' : readCommand(command), values };
}

/** Throws GatewayError usage for a key of `--defaults` that none of the jobs takes: it would be left out unseen. */
export function requireTakers({ values }: Defaults, commands: ReadonlySet<JobCommand>): void {
  const tables = [...commands].map((command) => jobKeys[command]);
  const unused = Object.keys(values).find((key) => tables.every((table) => getOwn(table, key) === undefined));
  if (unused === undefined || tables.length === 0) return;
  const takers = jobCommands.filter((command) => getOwn(jobKeys[command], unused) !== undefined);
  throw usageError(
    `--defaults: ${JSON.stringify(unused)} is a key of ${takers.join(' and ')}, and the jobs are of ${[...commands].join(' and ')}`,
    `leave it out; or say what the jobs are: --defaults '{"command":"${takers[0]}",…}'`,
  );
}

function readJob(object: JsonObject, line: number, { defaults }: JobRules): Job {
  const { id, command, name, $schema } = object;
  if ($schema !== undefined) requireLink($schema);
  const chosen = command === undefined ? defaults.command : readCommand(command);
  const table = jobKeys[chosen];
  const values: Record<string, unknown> = {};
  for (const key of Object.keys(object)) {
    if (jobFields.has(key)) continue;
    const rule = getOwn(table, key);
    if (!rule) throw usageError(`${unknownKey(key)} for ${chosen}`, keysHint(key, [table]));
    values[key] = parseJobValue(key, object[key] as JsonValue, rule);
  }
  for (const key of Object.keys(defaults.values)) {
    const rule = getOwn(table, key);
    const value = defaults.values[key] as JsonValue;
    if (rule && !overrides(key, values)) values[key] = parseJobValue(key, value, rule, ofDefaults);
    else if (key === 'vars' && isObject(value) && isObject(values[key])) values[key] = { ...value, ...values[key] };
  }
  return {
    id: id === undefined ? String(line) : readId(id),
    isNumbered: id === undefined,
    line,
    number: line,
    command: chosen,
    name: name === undefined ? undefined : readName(name),
    values,
  };
}

/** Keys that say the same as another key in another way. */
export const twins: Readonly<Record<string, string>> = {
  prompt: 'promptFile',
  promptFile: 'prompt',
  system: 'systemFile',
  systemFile: 'system',
};

/** Whether a job has its own value in place of a default. A job with a prompt of its own, from any source, does not get the default one. */
function overrides(key: string, values: object): boolean {
  return Object.hasOwn(values, key) || Object.hasOwn(values, getOwn(twins, key) ?? key);
}

function parseJobObject(text: string): JsonObject {
  let value: unknown;
  const json = text.startsWith('\uFEFF') ? text.slice(1) : text;
  try {
    value = JSON.parse(json);
  } catch (error) {
    const { column, expected } = findJsonFault(json);
    throw usageError(`not JSON: ${expected} is expected at column ${column}`, 'write one JSON object per line', error);
  }
  if (isTooDeep(json)) throw usageError(`the job is ${tooDeepWords}`);
  if (isObject(value)) return value;
  throw usageError('a job is a JSON object', 'for example: {"id":"1","prompt":"three names for a cat"}');
}

function readCommand(value: JsonValue): JobCommand {
  const found = jobCommands.find((name) => name === value);
  if (found) return found;
  throw usageError(`"command" must be one of ${jobCommands.join(', ')}, not ${JSON.stringify(value).slice(0, 60)}`);
}

/** Throws GatewayError usage for a `$schema` that is meant as the schema of the answer: it would be left out unseen. */
function requireLink($schema: JsonValue): void {
  if (typeof $schema === 'string') return;
  throw usageError('"$schema" is where the schema of jobs is', 'that of an answer is "schema"');
}

function readId(value: JsonValue): string {
  const id = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (isJobId(id)) return id;
  throw usageError(`"id" is ${idWords}, or a whole number`);
}

export const idWords = `text of 1 to ${maxIdBytes} bytes without control characters`;

export function isJobId(id: JsonValue): id is string {
  return typeof id === 'string' && id !== '' && Buffer.byteLength(id) <= maxIdBytes && !/\p{Cc}/u.test(id);
}

/** Reads a name, one segment of a path: it can neither leave images/ nor be hidden there. */
function readName(value: JsonValue): string {
  const plain = typeof value === 'string' && /^[\p{L}\p{N}_][\p{L}\p{M}\p{N} _.+@=,-]*$/u.test(value);
  if (plain && Buffer.byteLength(value) <= 200 && !/[. ]$/.test(value)) return value;
  throw usageError(
    '"name" is a file name without folder: letters, digits, space and _.+@=,-',
    'for example: "name":"cat-7"',
  );
}

export function getOwn<Value>(table: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

export function unknownKey(key: string): string {
  return `unknown job key "${key.slice(0, 60)}"`;
}

export function keysHint(key: string, tables: readonly FlagTable[]): string {
  const fields = [...jobFields].filter((field) => field !== '$schema');
  const near = closest(key, [...fields, ...tables.flatMap((table) => Object.keys(table))]);
  if (near !== undefined) return `did you mean: "${near}"`;
  return 'a key is a request flag of the command in camel case; connection and output are flags of the whole batch; rows of a table are given as --data';
}

const ofDefaults = ' of --defaults';

/**
 * The value of a key as the command gets it from the flag of that name. `of` names the place of the key, if it is not in a job.
 * Throws GatewayError usage.
 */
export function parseJobValue(key: string, value: JsonValue, flag: JobFlag, of = ''): unknown {
  const name = `"${key}"${of}`;
  if (value === null) throw usageError(`${name} is null`, 'leave the key out');
  if (key === 'vars' && (value === false || typeof value === 'number')) return value === false ? value : String(value);
  if (!jsonKeys.has(key)) return readValue(value, flag, name);
  if (typeof value === 'string' || typeof value === 'object') return value;
  throw usageError(`${name} is a file's path, or JSON`);
}
