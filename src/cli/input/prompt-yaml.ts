import type { Document, LineCounter } from 'yaml';
import { usageError } from '../../errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import { closest } from '../../closest.ts';
import { parseJson, quote } from '../flags/flag.ts';

/** A prompt file in the format of GitHub Models (https://docs.github.com/github-models, `.prompt.yml`). */
export interface PromptYaml {
  model?: string;
  parameters: JsonObject;
  format: 'text' | 'json_object' | 'json_schema';
  /** The JSON Schema of the format `json_schema`. */
  schema?: JsonObject;
  system?: string;
  /** In their order, without system messages. */
  turns: readonly Turn[];
  /** Rows of `testData`. */
  rows: readonly { line: number; values: JsonObject }[];
  hasEvaluators: boolean;
}

interface Turn {
  role: 'user' | 'assistant';
  content: string;
}

const keys = [
  'name',
  'description',
  'model',
  'modelParameters',
  'responseFormat',
  'jsonSchema',
  'messages',
  'testData',
  'evaluators',
];

/** Thousands of aliases would fill the memory. */
const maxAliases = 100;

/** Reads a prompt file; `place` names it in messages. Throws GatewayError usage with line and column, or with the wrong key. */
export async function parsePromptYaml(text: string, place: string): Promise<PromptYaml> {
  const { value, lineOf } = await parseYaml(text, place);
  const wrong = (what: string, hint?: string): Error => usageError(`${place}: ${what}`, hint);
  if (!isObject(value)) throw wrong('a prompt file is a YAML map', 'it begins with messages: or model:');
  const unknown = Object.keys(value).find((key) => !keys.includes(key));
  if (unknown !== undefined) {
    const near = closest(unknown, keys);
    throw wrong(
      `unknown key ${quote(unknown)}`,
      near === undefined ? `known keys are ${keys.join(', ')}` : `did you mean: ${near}`,
    );
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
    ...readFormat(value, place),
    ...(system !== undefined && { system }),
    turns,
    rows: readRows(value['testData'], wrong).map((values, index) => ({ values, line: lineOf(['testData', index]) })),
    hasEvaluators: evaluators !== undefined,
  };
}

type Wrong = (what: string, hint?: string) => Error;

function readMessages(list: JsonValue | undefined, wrong: Wrong): Pick<PromptYaml, 'system' | 'turns'> {
  const example = 'for example: messages: [{role: user, content: "Summarise {{input}}"}]';
  if (!Array.isArray(list) || list.length === 0) throw wrong('there are no messages', example);
  const system: string[] = [];
  const turns: Turn[] = [];
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

function readRows(rows: JsonValue | undefined, wrong: Wrong): JsonObject[] {
  if (rows === undefined || rows === null) return [];
  if (Array.isArray(rows) && rows.every((row) => isObject(row))) return rows;
  throw wrong('testData is a list of maps', 'for example: testData: [{input: "the quick brown fox"}]');
}

function readFormat(file: JsonObject, place: string): Pick<PromptYaml, 'format' | 'schema'> {
  const { responseFormat: format = 'text', jsonSchema } = file;
  if (format === 'text' || format === 'json_object') return { format };
  if (format !== 'json_schema')
    throw usageError(
      `${place}: responseFormat is text, json_object or json_schema, not ${quote(String(format))}`,
      'for example: responseFormat: json_object',
    );
  const given = typeof jsonSchema === 'string' ? parseJson(`${place}: jsonSchema`, jsonSchema) : jsonSchema;
  if (!isObject(given))
    throw usageError(
      `${place}: responseFormat json_schema needs a jsonSchema`,
      'write the JSON Schema under jsonSchema:',
    );
  // The files of GitHub Models wrap it in an object with a name.
  const { schema, type } = given;
  return { format, schema: isObject(schema) && type === undefined ? schema : given };
}

interface Parsed {
  value: JsonValue;
  /** Line of a value, from 1. */
  lineOf: (path: readonly (string | number)[]) => number;
}

async function parseYaml(text: string, place: string): Promise<Parsed> {
  const yaml = await import('yaml');
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, { prettyErrors: false, lineCounter: lines, resolveKnownTags: false });
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
    // Throws for an alias inside of what it names.
    JSON.stringify(value);
    return { value, lineOf: (path) => lineOfNode(document, lines, path) };
  } catch (error) {
    // The library throws it for an alias without an anchor, and for too many of them.
    const isAlias = error instanceof ReferenceError;
    if (!isAlias && !(error instanceof RangeError) && !(error instanceof TypeError)) throw error;
    const what = isAlias
      ? 'not valid YAML: an alias has no anchor, or there are too many'
      : 'nested without end: an alias is inside of what it names, or the nesting is too deep';
    throw usageError(`${place} is ${what}`, 'write the value itself in place of *name', error);
  }
}

const faults: Readonly<Record<string, string>> = {
  BAD_INDENT: 'the indentation is wrong, or a bracket is not closed',
  DUPLICATE_KEY: 'a key stands twice',
  MISSING_CHAR: 'a quote, a bracket or a sign is missing',
  MULTIPLE_DOCS: 'a second document begins',
  TAB_AS_INDENT: 'a tab indents a line, where spaces must',
  TAG_RESOLVE_FAILED: 'an unknown tag stands',
};

function lineOfNode(document: Document, lines: LineCounter, path: readonly (string | number)[]): number {
  const node = document.getIn(path, true) as { range?: [number, number, number] } | undefined;
  return lines.linePos(node?.range?.[0] ?? 0).line;
}
