import { LineCounter, parseDocument } from 'yaml';
import {
  closest,
  fieldEntries,
  type FieldKind,
  type FieldName,
  findOwn,
  isObject,
  type JsonObject,
  type JsonValue,
  type RequestField,
  requestFields,
  usageError,
} from '../../library/index.ts';
import type { InputContext } from '../context.ts';
import { readValue, toFlag } from '../flags/fields.ts';
import { parseJson, quoteWord } from '../flags/flag.ts';
import { findSetFlag } from '../flags/set.ts';
import { readTextFlag } from '../input/input-files.ts';
import type { RequestFlags } from './build-request.ts';

/** A prompt file in the format of GitHub Models (https://docs.github.com/github-models, `.prompt.yml`). */
export interface PromptYaml {
  model?: string;
  parameters: JsonObject;
  format: 'text' | 'json_object' | 'json_schema';
  /** The JSON Schema of the format `json_schema`. */
  schema?: JsonObject;
  system?: string;
  /** Turns in their order, without system messages. */
  turns: readonly PromptMessage[];
  /** Rows of `testData`. */
  rows: readonly { line: number; values: JsonObject }[];
  hasEvaluators: boolean;
}

interface PromptMessage {
  role: 'user' | 'assistant';
  content: string;
}

const keys = 'name description model modelParameters responseFormat jsonSchema messages testData evaluators'.split(' ');

/** Thousands of aliases would fill the memory. */
const maxAliases = 100;

/** Reads the prompt file of a flag. Throws GatewayError usage. */
export async function openPromptYaml(flag: string, path: string, context: InputContext) {
  const place = `${flag} ${quoteWord(path)}`;
  const content = await parsePromptYaml(await readTextFlag(flag, path, context), place);
  if (content.hasEvaluators) await context.ui.detail(`${place}: evaluators are not used`);
  return { content, place };
}

/** Parses a prompt file; `place` names it in messages. Throws GatewayError usage with line and column, or with the wrong key. */
export async function parsePromptYaml(text: string, place: string): Promise<PromptYaml> {
  const { value, lineOf } = parseYaml(text, place);
  const wrong: Wrong = (fault, hint) => usageError(`${place}: ${fault}`, hint);
  if (!isObject(value)) throw wrong('a prompt file is a YAML map', 'it begins with messages: or model:');
  const unknown = Object.keys(value).find((key) => !keys.includes(key));
  if (unknown !== undefined) {
    const near = closest(unknown, keys);
    const hint = near === undefined ? `known keys are ${keys.join(', ')}` : `did you mean: ${near}`;
    throw wrong(`unknown key ${quoteWord(unknown)}`, hint);
  }
  const { model, modelParameters: parameters = {}, evaluators } = value;
  if (model !== undefined && typeof model !== 'string')
    throw wrong('model is the name of a model', 'for example: model: some-model');
  if (!isObject(parameters))
    throw wrong('modelParameters is a map', 'for example: modelParameters: {temperature: 0.5}');
  const { system, turns } = readMessages(value['messages'], wrong);
  return {
    ...(model !== undefined && { model }),
    parameters,
    ...readFormat(value, place, wrong),
    ...(system !== undefined && { system }),
    turns,
    rows: readTestRows(value['testData'], wrong).map((values, index) => ({
      values,
      line: lineOf(['testData', index]),
    })),
    hasEvaluators: evaluators !== undefined,
  };
}

type Wrong = (fault: string, hint: string) => Error;

function readMessages(list: JsonValue | undefined, wrong: Wrong): Pick<PromptYaml, 'system' | 'turns'> {
  const example = 'for example: messages: [{role: user, content: "Summarise {{input}}"}]';
  if (!Array.isArray(list) || list.length === 0) throw wrong('there are no messages', example);
  const system: string[] = [];
  const turns: PromptMessage[] = [];
  for (const [index, message] of list.entries()) {
    const { role, content } = isObject(message) ? message : {};
    const who = typeof role === 'string' ? role.toLowerCase() : '';
    if (typeof content !== 'string') throw wrong(`messages[${index}] has no text as its content`, example);
    if (who === 'system') system.push(content);
    else if (who === 'user' || who === 'assistant') turns.push({ role: who, content });
    else throw wrong(`messages[${index}].role is system, user or assistant`, example);
  }
  return { ...(system.length > 0 && { system: system.join('\n\n') }), turns };
}

function readTestRows(rows: JsonValue | undefined, wrong: Wrong): JsonObject[] {
  if (rows === undefined || rows === null) return [];
  if (Array.isArray(rows) && rows.every((row) => isObject(row))) return rows;
  throw wrong('testData is a list of maps', 'for example: testData: [{input: "the quick brown fox"}]');
}

function readFormat(file: JsonObject, place: string, wrong: Wrong): Pick<PromptYaml, 'format' | 'schema'> {
  const { responseFormat: format = 'text', jsonSchema } = file;
  if (format === 'text' || format === 'json_object') return { format };
  if (format !== 'json_schema')
    throw wrong(
      `responseFormat is text, json_object or json_schema, not ${quoteWord(String(format))}`,
      'for example: responseFormat: json_object',
    );
  const given = typeof jsonSchema === 'string' ? parseJson(`${place}: jsonSchema`, jsonSchema) : jsonSchema;
  if (!isObject(given))
    throw wrong('responseFormat json_schema needs a jsonSchema', 'write the JSON Schema under jsonSchema:');
  // The files of GitHub Models wrap it in an object with a name.
  const { schema, type } = given;
  return { format, schema: isObject(schema) && type === undefined ? schema : given };
}

/** `lineOf` is the line of a value, from 1. */
function parseYaml(text: string, place: string) {
  const lines = new LineCounter();
  const document = parseDocument(text, { prettyErrors: false, lineCounter: lines, resolveKnownTags: false });
  const fault = document.errors[0] ?? document.warnings[0];
  if (fault) {
    const { line, col } = lines.linePos(fault.pos[0]);
    throw usageError(
      `${place} is not valid YAML: ${faults[fault.code] ?? 'a mistake'} at line ${line}, column ${col}`,
      'indent with spaces; put a text that holds any of : # [ { & ! in double quotes',
    );
  }
  try {
    const value = document.toJS({ maxAliasCount: maxAliases }) as JsonValue;
    // Throws for an alias inside the value that it names.
    JSON.stringify(value);
    const lineOf = (path: readonly (string | number)[]): number => {
      const node = document.getIn(path, true) as { range?: [number, number, number] } | undefined;
      return lines.linePos(node?.range?.[0] ?? 0).line;
    };
    return { value, lineOf };
  } catch (error) {
    // The yaml library throws ReferenceError for an alias without an anchor, and for too many aliases.
    const isAlias = error instanceof ReferenceError;
    if (!isAlias && !(error instanceof RangeError) && !(error instanceof TypeError)) throw error;
    const fault = isAlias
      ? 'not valid YAML: an alias has no anchor, or there are too many'
      : 'nested without end: an alias is inside of what it names, or the nesting is too deep';
    throw usageError(`${place} is ${fault}`, 'write the value itself in place of *name', error);
  }
}

const faults: Readonly<Record<string, string>> = {
  BAD_INDENT: 'the indentation is wrong, or a bracket is not closed',
  DUPLICATE_KEY: 'a key appears twice',
  MISSING_CHAR: 'a quote, a bracket or a sign is missing',
  MULTIPLE_DOCS: 'a second document begins',
  TAB_AS_INDENT: 'a tab indents a line, where spaces must',
  TAG_RESOLVE_FAILED: 'there is an unknown tag',
};

/** The flags that a prompt file can replace. */
export type PromptYamlFlags = RequestFlags & { model?: string };

/** The name of a prompt file in messages, and the command that it is for. */
interface FileUse {
  place: string;
  /** `image gen` */
  command: string;
}

/** The typed flags, with values of the prompt file for the other ones. Throws GatewayError usage. */
export function mergePromptYaml(
  typed: Omit<PromptYamlFlags, 'promptFile'>,
  file: PromptYaml,
  use: FileUse,
): PromptYamlFlags {
  const { system, model } = file;
  const { systemFile, schema, responseMime } = typed;
  return {
    ...(model !== undefined && { model }),
    ...(system !== undefined && systemFile === undefined && { system }),
    ...(schema === undefined && responseMime === undefined && formatFlags(file, use)),
    ...parameterFlags(file.parameters, use),
    ...turnFlags(file),
    ...typed,
    places: describeSources(typed, use.place),
  };
}

function describeSources(
  { system, systemFile, model }: PromptYamlFlags,
  place: string,
): NonNullable<PromptYamlFlags['places']> {
  const own = system === undefined && systemFile === undefined;
  return {
    prompt: place,
    turns: `${place}: messages`,
    ...(own && { system: place }),
    ...(model === undefined && { model: place }),
  };
}

/** The last turn is the prompt if it is the user's: inputs and stdin are added to it. */
function turnFlags({ turns }: PromptYaml): PromptYamlFlags {
  const last = turns.at(-1);
  const prompt = last?.role === 'user' ? last.content : undefined;
  const earlier = prompt === undefined ? turns : turns.slice(0, -1);
  return { ...(prompt !== undefined && { prompt }), ...(earlier.length > 0 && { turns: earlier }) };
}

function formatFlags({ format, schema }: PromptYaml, { place, command }: FileUse): PromptYamlFlags {
  if (format === 'text') return {};
  const isSchema = format === 'json_schema';
  if (command.startsWith('image') || (command === 'chat' && !isSchema)) {
    const hint = command === 'chat' ? 'use json_schema, or gateway-cli text' : 'take it out of the file';
    throw usageError(`${place}: gateway-cli ${command} has no responseFormat ${format}`, hint);
  }
  return schema === undefined ? { responseMime: 'application/json' } : { schema };
}

/** The kinds of fields that are parameters of a prompt file: numbers, and the texts where an answer stops. */
const parameterKinds: ReadonlySet<FieldKind> = new Set(['number', 'whole', 'texts'] as const);

/** The parameters of a prompt file, by the field of the request that they set. */
const parameters: Readonly<Record<string, FieldName>> = {
  ...Object.fromEntries(fieldEntries.flatMap(([name, { kind }]) => (parameterKinds.has(kind) ? [[name, name]] : []))),
  maxCompletionTokens: 'maxTokens',
};

function parameterFlags(given: JsonObject, use: FileUse): PromptYamlFlags {
  const flags = Object.entries(given).map(([key, value]) => {
    const name = findOwn(parameters, key);
    const field: RequestField | undefined = name && requestFields[name];
    const isKnown = field && (use.command !== 'chat' || field.uses?.includes('chat') !== false);
    if (!isKnown) throw unsupported(key, use);
    return [name, readValue(value, toFlag(field), `${use.place}: ${key}`)];
  });
  return Object.fromEntries(flags) as PromptYamlFlags;
}

function unsupported(key: string, { place, command }: FileUse): Error {
  const near = closest(key, Object.keys(parameters));
  const setFlag = findSetFlag(key);
  const removal = `take it out of the file${setFlag === undefined ? '' : `, and type ${setFlag}`}`;
  const hint = near === undefined || near === key ? removal : `did you mean: ${near}`;
  return usageError(`${place}: gateway-cli ${command} has no model parameter ${quoteWord(key)}`, hint);
}
