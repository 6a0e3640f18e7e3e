import {
  fieldEntries,
  type FieldKind,
  type FieldName,
  isObject,
  type JsonObject,
  type JsonValue,
  type PlainValues,
  type RequestField,
  type requestFields,
  usageError,
  type Use,
} from '../../library/index.ts';
import {
  decimal,
  type FlagTable,
  imageFormat,
  notAFlag,
  notEmpty,
  oneOfWords,
  pairOrJson,
  parseImageSize,
  parseJson,
  type Flag,
  quoteWord,
  ratio,
  safety,
  type Var,
  variable,
  whole,
  writeValue,
} from './flag.ts';
import { type FieldChange, parseFieldChange } from './set.ts';

/** A file's path, or in the jobs of a batch the JSON itself. */
export type FileOrJson = string | JsonObject | JsonValue[];

/** The values of fields of each kind, from a flag or from a job. */
interface GivenValues extends PlainValues {
  object: FileOrJson;
  list: FileOrJson;
  schema: FileOrJson;
  body: FileOrJson;
  turns: FileOrJson;
  /** False by the flag of the opposite. */
  values: string | JsonObject | false;
  pairs: readonly JsonObject[];
  toolChoice: string | JsonObject;
  model: string;
  path: string;
  paths: readonly string[];
  input: string;
  inputs: readonly string[];
  variables: readonly Var[];
  changes: readonly FieldChange[];
}

/** The fields of a request, as a command gets them. */
export type FieldFlags = { [N in FieldName]?: GivenValues[(typeof requestFields)[N]['kind']] };

/** Readers of words by the kind of their field; without one, the word is the value. */
const parsers: { [Kind in FieldKind]?: NonNullable<Flag['parse']> } = {
  word: notAFlag,
  model: notAFlag,
  input: notAFlag,
  inputs: notAFlag,
  number: decimal,
  texts: notEmpty,
  ratio,
  size: parseImageSize,
  imageType: imageFormat,
  safety,
  pairs: pairOrJson,
  toolChoice: parseToolChoice,
  variables: variable,
  changes: parseFieldChange,
};

/** Kinds whose flag can be repeated. */
const lists: ReadonlySet<FieldKind> = new Set([
  'texts',
  'safety',
  'pairs',
  'paths',
  'inputs',
  'variables',
  'changes',
] as const);

/** Kinds of a file whose JSON a job can hold itself. */
const fileKinds: ReadonlySet<FieldKind> = new Set(['object', 'list', 'schema', 'body', 'turns', 'values'] as const);

/** Whether a field takes JSON, or a file with it. */
export function takesJson({ kind }: Pick<RequestField, 'kind'>): boolean {
  return fileKinds.has(kind);
}

/** The fields that a use has, in the order of help: of one group, or all. */
export function listFields(use: Use, group?: RequestField['group']): [FieldName, RequestField][] {
  return fieldEntries.flatMap(([name, field]) => {
    const { uses } = field;
    const isHad = (uses === undefined || uses.includes(use)) && (group === undefined || field.group === group);
    return isHad ? [[name, field]] : [];
  });
}

/** The flags of the fields that a use has, of one group. */
export function fieldFlags(group: RequestField['group'], use: Use): FlagTable {
  const flags = listFields(use, group).flatMap(([name, field]): [string, Flag][] => {
    const { opposite, advanced } = field;
    const own: [string, Flag] = [name, toFlag(field)];
    if (opposite === undefined) return [own];
    return [own, [`${name}, opposite`, { flags: opposite.flag, text: opposite.help, ...(advanced && { advanced }) }]];
  });
  return Object.fromEntries(flags);
}

export function toFlag(field: RequestField): Flag {
  const { kind, flag: flags, help: text, advanced, values } = field;
  const parse = chooseParser(field);
  return {
    flags,
    text,
    ...(parse && { parse }),
    ...(lists.has(kind) && { repeat: true }),
    ...(values && { values }),
    ...(advanced && { advanced }),
  };
}

/**
 * The value of a key of JSON or YAML, read as its flag reads the word; `name` is the key, for messages. Throws GatewayError
 * usage.
 */
export function readValue(value: JsonValue, flag: Flag, name: string): unknown {
  if (!flag.flags.includes('<')) {
    if (typeof value === 'boolean') return value;
    throw usageError(`${name} is true or false`);
  }
  if (!flag.repeat) return readOne(value, flag, name);
  return (Array.isArray(value) ? value : [value]).map((item) => readOne(item, flag, name));
}

function readOne(value: JsonValue, { parse = (word) => word }: Flag, name: string): unknown {
  // A field that a flag takes as JSON text can be plain JSON in a job: "metadata": {"user_id": "ci"}.
  const isText = typeof value === 'string' || typeof value === 'number';
  if (isText || isObject(value)) return parse(isText ? String(value) : JSON.stringify(value), name);
  throw usageError(`${name} is text or a number`);
}

function chooseParser({ kind, values = [], minimum = 0, maximum }: RequestField): Flag['parse'] {
  if (kind === 'whole') return whole(minimum, maximum);
  return kind === 'effort' ? oneOfWords(values) : parsers[kind];
}

/** `auto`, `any`, `none`, `tool:<name>` or the JSON object itself. Throws GatewayError usage. */
function parseToolChoice(word: string, name: string): string | JsonObject {
  if (['auto', 'any', 'none'].includes(word)) return word;
  if (word.startsWith('tool:') && word.length > 'tool:'.length) return word;
  const value = word.startsWith('{') ? parseJson(name, word) : undefined;
  if (isObject(value)) return value;
  throw usageError(
    `${name} takes auto, any, none, tool:<name> or JSON, not ${quoteWord(word)}`,
    `for example: ${writeValue(name, 'tool:get_weather')}`,
  );
}
