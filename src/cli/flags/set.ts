import {
  type Body,
  type BodyValue,
  type FieldKind,
  findField,
  findOwn,
  type FormatName,
  isTooDeep,
  isUpload,
  type JsonValue,
  shellWord,
  usageError,
} from '../../library/index.ts';
import { quoteWord, writeValue } from './flag.ts';

/** One `--set path=value`. The step `[]` appends to a list. */
export interface FieldChange {
  path: readonly string[];
  value: JsonValue;
}

const append = '[]';
const forbidden = new Set(['__proto__', 'constructor', 'prototype']);

/** Reads `a.b.0=value`: dots separate steps (`\.` is a dot), the value is JSON if it parses, otherwise a string. */
export function parseFieldChange(word: string, name = '--set'): FieldChange {
  const at = word.indexOf('=');
  if (at <= 0)
    throw usageError(
      `${name} takes path=value, not ${quoteWord(word)}`,
      `for example: ${writeValue(name, 'generationConfig.seed=7')}`,
    );
  const path = splitPath(word.slice(0, at));
  const bad = path.find((step) => step === '' || forbidden.has(step));
  if (bad !== undefined)
    throw usageError(`${name}: a path cannot hold ${quoteWord(bad)}`, 'a step is a name, a number or []');
  const bracketed = path.find((step) => step !== append && /[[\]]/.test(step));
  if (bracketed !== undefined) throw bracketError(name, path, bracketed);
  const text = word.slice(at + 1);
  try {
    return { path, value: isTooDeep(text) ? text : (JSON.parse(text) as JsonValue) };
  } catch {
    return { path, value: text };
  }
}

/** The error for `a[0].b`, the syntax of other tools: `--set` takes `a.0.b`. */
function bracketError(name: string, path: readonly string[], step: string): Error {
  const dotted = path
    .join('.')
    .replaceAll(/\[([^[\]]*)\]/g, (_, inner: string) => `.${inner === '' ? append : inner.replaceAll(/["']/g, '')}`)
    .replaceAll('..', '.');
  return usageError(
    `${name} takes no brackets: ${quoteWord(step)}`,
    `write a dot before every step: ${writeValue(name, `${shellWord(dotted)}=…`)}`,
  );
}

/** Changes fields of a body, in order: objects are merged, other values replaced. */
export function applyFieldChanges(body: Body, changes: readonly FieldChange[], refused: readonly string[]): Body {
  return changes.reduce((before, { path, value }) => {
    const first = path[0] ?? '';
    if (refused.includes(first)) {
      // The other refused fields ask for a stream; their names depend on the format.
      const flags = first === 'model' ? 'flag: --model' : 'flags: --stream of text, --no-stream of chat';
      throw usageError(`--set cannot change ${first}`, `use the ${flags}`);
    }
    return setAt(before, path, value) as Body;
  }, body);
}

/** The steps of a path: separated by dots, `\.` is a dot, and `[]` at the end is a step. */
function splitPath(text: string): string[] {
  const steps: string[] = [];
  let step = '';
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\' && text[i + 1] === '.') step += text[++i];
    else if (text[i] !== '.') step += text[i];
    else {
      steps.push(step);
      step = '';
    }
  }
  steps.push(step);
  const last = steps.at(-1) ?? '';
  const appends = last.length > append.length && last.endsWith(append);
  return appends ? [...steps.slice(0, -1), last.slice(0, -append.length), append] : steps;
}

/** A copy of a value, with another value set at a path in it. */
function setAt(current: BodyValue | undefined, path: readonly string[], value: JsonValue): BodyValue {
  const [step, ...rest] = path;
  if (step === undefined) return mergeValue(current, value);
  if (step === append || (Array.isArray(current) && /^\d{1,6}$/.test(step)))
    return setInList(current, step, rest, value);
  const object = isMap(current) ? current : {};
  return { ...object, [step]: setAt(findOwn(object, step), rest, value) };
}

function setInList(current: BodyValue | undefined, step: string, rest: readonly string[], value: JsonValue): BodyValue {
  const list = Array.isArray(current) ? [...current] : [];
  const index = step === append ? list.length : Number(step);
  if (index > list.length)
    throw usageError(
      `--set: the list has ${list.length} items, so ${index} is past its end`,
      'append with: --set path[]=value',
    );
  list[index] = setAt(list[index], rest, value);
  return list;
}

function mergeValue(current: BodyValue | undefined, value: JsonValue): BodyValue {
  if (!isMap(value)) return value;
  const merged: Body = isMap(current) ? { ...current } : {};
  for (const [key, item] of Object.entries(value))
    if (!forbidden.has(key)) merged[key] = mergeValue(findOwn(merged, key), item as JsonValue);
  return merged;
}

function isMap(value: BodyValue | undefined): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isUpload(value);
}

/** Reads the path of `--field`, such as `answer.names[0]`: like that of `--set`, but items can be in brackets. Throws GatewayError usage. */
export function parseFieldPath(word: string, name: string): string[] {
  const steps = splitPath(word.replaceAll(/\.?\[(\d+)\]/g, '.$1'));
  const bad = steps.find((step) => step === '' || /[[\]]/.test(step));
  if (bad === undefined) return steps;
  throw usageError(`${name} takes names and numbers, not ${quoteWord(word)}`, `for example: ${name} images[0].path`);
}

/** The text of a path, such as `answer.names[0]`. */
export function fieldPathText(steps: readonly string[]): string {
  return steps
    .map((step, index) => {
      if (/^\d+$/.test(step) && index > 0) return `[${step}]`;
      return `${index > 0 ? '.' : ''}${step.replaceAll('.', String.raw`\.`)}`;
    })
    .join('');
}

/**
 * Fields of a format that `--set` suggests by their names: the object that contains the fields, and their names. Most of them
 * have no flag.
 */
const settableFields: Readonly<Record<FormatName, readonly (readonly [object: string, names: string])[]>> = {
  content: [
    ['generationConfig.', 'presencePenalty frequencyPenalty responseLogprobs logprobs responseModalities'],
    ['generationConfig.', 'responseSchema mediaResolution speechConfig enableEnhancedCivicAnswers'],
    ['generationConfig.', 'thinkingConfig seed'],
    ['generationConfig.thinkingConfig.', 'includeThoughts thinkingBudget'],
    ['generationConfig.imageConfig.', 'personGeneration prominentPeople outputMimeType outputCompressionQuality'],
    ['', 'safetySettings serviceTier store labels'],
    ['generationConfig.imageConfig.', 'aspectRatio imageSize'],
    ['generationConfig.', 'temperature topP topK maxOutputTokens candidateCount stopSequences'],
  ],
  messages: [
    ['thinking.', 'budget_tokens display'],
    ['output_config.', 'format'],
    ['', 'service_tier cache_control container context_management inference_geo mcp_servers speed'],
    ['', 'temperature top_p top_k max_tokens stop_sequences'],
  ],
  completions: [
    ['', 'verbosity presence_penalty frequency_penalty seed logit_bias logprobs top_logprobs'],
    ['', 'parallel_tool_calls service_tier store user prompt_cache_key'],
    ['', 'temperature top_p max_tokens max_completion_tokens stop'],
  ],
  responses: [
    ['reasoning.', 'summary context mode'],
    ['text.', 'verbosity'],
    ['', 'parallel_tool_calls max_tool_calls service_tier store include top_logprobs background truncation'],
    ['', 'previous_response_id conversation prompt_cache_key'],
    ['', 'temperature top_p max_output_tokens'],
  ],
};

/** The paths of the fields of each format. */
const listPaths = (rows: readonly (readonly [object: string, names: string])[]): string[] =>
  rows.flatMap(([object, names]) => names.split(' ').map((name) => object + name));

/** Kinds of fields whose values are the same in every format. */
const plainKinds: ReadonlySet<FieldKind> = new Set(['number', 'whole', 'texts', 'ratio', 'size'] as const);

/**
 * Completes the paths of changes that begin with the name of a field alone, such as `seed=7` or `topK=40`, if the format has the
 * field; others stay unchanged.
 */
export function placeChanges(changes: readonly FieldChange[], format: FormatName): FieldChange[] {
  const paths = listPaths(settableFields[format]);
  return changes.map((change) => {
    const [name = '', ...rest] = change.path;
    if (paths.includes(name)) return change;
    const field = findField(name);
    const names = [name, ...(field && plainKinds.has(field.kind) ? (field.wireNames ?? '').split(' ') : [])];
    const meant = new Set(names.map(normalizeFlagName));
    const found = paths.find((path) => meant.has(normalizeFlagName(path.slice(path.lastIndexOf('.') + 1))));
    return found === undefined ? change : { ...change, path: [...found.split('.'), ...rest] };
  });
}

/** Fields of OpenAI's images, which a text does not have. */
const imageFields = [['', 'style moderation input_fidelity output_compression response_format complexity']] as const;

/** The `--set` for a field of a format that was typed as a flag, such as `--presence-penalty`. `placeChanges` finds its name in a format. */
export function findSetFlag(flag: string): string | undefined {
  const isTyped = (name: string): boolean => normalizeFlagName(name) === normalizeFlagName(flag);
  const names = Object.values(settableFields).flatMap((rows) => rows.flatMap(([, fields]) => fields.split(' ')));
  const field = listPaths(imageFields).find(isTyped) ?? (names.some(isTyped) ? flag.replace(/^--/, '') : undefined);
  return field && `--set ${field}=…`;
}

function normalizeFlagName(name: string): string {
  return name.replaceAll(/[-_]/g, '').toLowerCase();
}
