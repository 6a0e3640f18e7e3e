import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import { textAt, flagAt, listAt, numberAt, objectAt, textsAt, valueAt } from '../fields/read.ts';
import {
  anything,
  choose,
  flag,
  freeObject,
  integer,
  list,
  number,
  object,
  oneOf,
  text,
  type Fields,
  type Rule,
  aspectRatio,
  imageSize,
  Violation,
} from '../fields/rule.ts';
import type { Path, ValidationMode } from '../types.ts';
import { Problem } from '../problem.ts';
import { badParameter, supported } from './reply.ts';
import { findEffortRule, lackToolsWhileThinking } from '../../vendors/effort.ts';

/** Some servers take only the address. */
const imageUrl = choose((value) => (typeof value === 'string' ? text : object({ 'url!': text, detail: text })));

/** A part of a content, with what every kind of part can have. */
function partRule(fields: Fields): Rule {
  return object({ type: text, prompt_cache_breakpoint: freeObject, ...fields });
}

const parts = new Map<string, Rule>([
  ['text', partRule({ 'text!': text, cache_control: freeObject })],
  ['image_url', partRule({ 'image_url!': imageUrl })],
  ['file', partRule({ 'file!': object({ filename: text, file_data: text, file_id: text }) })],
  ['input_audio', partRule({ 'input_audio!': freeObject })],
  ['refusal', partRule({ 'refusal!': text })],
]);

function checkContentPart(value: JsonValue, path: Path, mode: ValidationMode): JsonValue {
  const type = textAt(freeObject(value, path, mode), 'type');
  const rule = parts.get(type ?? '');
  if (rule) return rule(value, path, mode);
  if (type === undefined) throw new Violation([...path, 'type'], { kind: 'missing' });
  if (mode.level === 'lenient') return (mode.leftOut([...path, type]), value);
  throw new Violation([...path, 'type'], { kind: 'choice', allowed: [...parts.keys()], value: type });
}

const content: Rule = (value, path, mode) => {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return list(checkContentPart)(value, path, mode);
  throw new Violation(path, { kind: 'type', expected: 'one of a string or array of objects', value });
};

const calledFunction = object({ 'name!': text, 'arguments!': text });
const ofCall = { id: text, type: text, name: text, index: integer() };
const functionCall = object({ ...ofCall, 'function!': calledFunction });
const customCall = object({ ...ofCall, 'custom!': object({ 'name!': text, 'input!': text }) });
const toolCall = choose((value) => (textAt(value, 'type') === 'custom' ? customCall : functionCall));

const message = object(
  {
    'role!': oneOf('system', 'assistant', 'user', 'function', 'tool', 'developer'),
    content,
    name: text,
    tool_calls: list(toolCall),
    tool_call_id: text,
    function_call: calledFunction,
    refusal: text,
    audio: freeObject,
    annotations: anything,
  },
  // What other servers of this format put into a reply, and take back in the next request.
  { reasoning_content: text, reasoning: text, reasoning_details: anything, images: anything },
);

const offeredFunction = { 'name!': text, description: text, parameters: freeObject };
// The service takes a name beside the function, which older clients send.
const functionTool = object({ type: text, name: text, 'function!': object({ ...offeredFunction, strict: flag }) });
const tool = choose((value) => ((textAt(value, 'type') ?? 'function') === 'function' ? functionTool : freeObject));

const toolChoice = choose((value) => {
  if (typeof value === 'string') return oneOf('none', 'auto', 'required');
  const type = textAt(value, 'type');
  if (type === 'allowed_tools') return freeObject;
  if (type === 'custom') return object({ type: text, 'custom!': object({ 'name!': text }) });
  return object({ type: text, name: text, 'function!': object({ 'name!': text }) });
});

/** What other servers of this format take beyond OpenAI. */
const beyond: Fields = {
  image_config: object({ aspect_ratio: aspectRatio, image_size: imageSize }),
  reasoning: freeObject,
  top_k: integer({ min: 0 }),
  min_p: number(),
  repetition_penalty: number(),
  provider: freeObject,
  models: list(text),
  plugins: anything,
  transforms: anything,
  usage: freeObject,
};

/** The rule for a request body of chat completions. */
export const completionsBody = object(
  {
    'model!': text,
    'messages!': list(message, { min: 1 }),
    n: integer({ min: 1, max: 8 }),
    stream: flag,
    stream_options: object({ include_usage: flag, include_obfuscation: flag }),
    temperature: number({ min: 0, max: 2 }),
    top_p: number({ min: 0, max: 1 }),
    frequency_penalty: number({ min: -2, max: 2 }),
    presence_penalty: number({ min: -2, max: 2 }),
    max_completion_tokens: integer({ min: 1 }),
    max_tokens: integer({ min: 1 }),
    stop: choose((value) => (typeof value === 'string' ? text : list(text, { max: 4 }))),
    seed: integer(),
    logit_bias: freeObject,
    logprobs: flag,
    top_logprobs: integer({ min: 0, max: 20 }),
    tools: list(tool, { max: 128 }),
    tool_choice: toolChoice,
    parallel_tool_calls: flag,
    // The older form of tools.
    functions: list(object(offeredFunction), { min: 1, max: 128 }),
    function_call: choose((value) => (typeof value === 'string' ? oneOf('none', 'auto') : object({ 'name!': text }))),
    response_format: object({
      'type!': oneOf('json_object', 'json_schema', 'text'),
      json_schema: object({ 'name!': text, description: text, schema: freeObject, strict: flag }),
    }),
    reasoning_effort: oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
    verbosity: oneOf('low', 'medium', 'high'),
    modalities: choose(() => list(modality)),
    service_tier: oneOf('auto', 'default', 'fast', 'flex', 'priority', 'scale'),
    store: flag,
    metadata: freeObject,
    user: text,
    safety_identifier: text,
    prompt_cache_key: text,
    prompt_cache_retention: text,
    prompt_cache_options: freeObject,
    prediction: freeObject,
    audio: freeObject,
    web_search_options: freeObject,
    moderation: freeObject,
  },
  beyond,
);

/** Only other servers answer with images. */
function modality(value: JsonValue, path: Path, mode: ValidationMode): JsonValue {
  return oneOf('text', 'audio', ...(mode.level === 'vendor' ? [] : ['image']))(value, path, mode);
}

/** An image that an edit in JSON names. */
const imageReference = object({ image_url: text, file_id: text });

/** The rule for the fields of an image request. An edit comes as a form, whose files are data URLs here, or as JSON. */
export const imagesBody = object(
  {
    model: text,
    'prompt!': text,
    n: integer({ min: 1, max: 10 }),
    size: text,
    image: list(text, { min: 1, max: 16 }),
    images: list(imageReference, { min: 1, max: 16 }),
    mask: choose((value) => (typeof value === 'string' ? text : imageReference)),
    quality: text,
    background: text,
    output_format: oneOf('png', 'jpeg', 'webp', 'gif', 'svg'),
    output_compression: integer({ min: 0, max: 100 }),
    moderation: text,
    input_fidelity: text,
    style: text,
    response_format: oneOf('url', 'b64_json'),
    user: text,
    stream: flag,
    partial_images: integer({ min: 0, max: 3 }),
  },
  // What OpenRouter's operation takes.
  { aspect_ratio: aspectRatio, resolution: imageSize, seed: integer() },
);

/** Whether a model of OpenAI reasons before it answers: these refuse parameters that the others take. */
export function reasons(model: string): boolean {
  return /^(?:o\d|gpt-(?:[5-9]|\d\d)(?!.*chat))/.test(model);
}

/** Checks a body; to an unknown parameter, the models that do not reason have an answer of their own. */
export function inOpenAiWords(body: JsonObject, check: () => JsonObject): JsonObject {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof Violation) || error.breach.kind !== 'unknown' || error.path.length > 0) throw error;
    if (reasons(textAt(body, 'model') ?? '')) throw error;
    throw unrecognized(error.breach.name);
  }
}

function unrecognized(name: string): Problem {
  return new Problem(400, `Unrecognized request argument supplied: ${name}`);
}

/** Refuses what OpenAI refuses though the format allows it. Throws Problem 400. */
export function checkForOpenAi(body: JsonObject): void {
  if (reasons(textAt(body, 'model') ?? '')) checkReasoningModel(body);
  else if (body['reasoning_effort'] !== undefined) throw unrecognized('reasoning_effort');
  const format = objectAt(body, 'response_format');
  if (textAt(format, 'type') === 'json_object' && !/json/i.test(JSON.stringify(body['messages']))) {
    const rule = "must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.";
    throw badParameter('messages', null, `'messages' ${rule}`);
  }
  const wanted = objectAt(format, 'json_schema');
  if (textAt(format, 'type') === 'json_schema' && wanted === undefined) {
    throw new Violation(['response_format', 'json_schema'], { kind: 'missing' });
  }
  if (flagAt(wanted, 'strict')) {
    const name = `Invalid schema for response_format '${textAt(wanted, 'name')}'`;
    checkStrictSchema(valueAt(wanted, 'schema'), (fault) => badParameter('response_format', null, `${name}: ${fault}`));
  }
  for (const [index, tool] of listAt(body, 'tools').entries()) {
    const offer = objectAt(tool, 'function');
    if (!flagAt(offer, 'strict')) continue;
    const name = `Invalid schema for function '${textAt(offer, 'name')}'`;
    const param = `tools[${index}].function.parameters`;
    const toSchemaProblem = (fault: string) => badParameter(param, 'invalid_function_parameters', `${name}: ${fault}`);
    checkStrictSchema(valueAt(offer, 'parameters'), toSchemaProblem);
  }
}

const never = ['max_tokens', 'logit_bias', 'prediction'];
const notWhileReasoning = ['frequency_penalty', 'presence_penalty'];
const fixedWhileReasoning = ['temperature', 'top_p'];

function checkReasoningModel(body: JsonObject): void {
  const model = textAt(body, 'model') ?? '';
  const isThinking = textAt(body, 'reasoning_effort') !== 'none';
  const takes = findEffortRule(model)?.takes;
  // Some models cannot but think.
  if (!isThinking && takes && !takes.includes('none')) {
    const rule = "'reasoning_effort' does not support 'none' with this model.";
    const message = `Unsupported value: ${rule} ${supported(takes)}`;
    throw badParameter('reasoning_effort', 'unsupported_value', message);
  }
  if (
    isThinking &&
    lackToolsWhileThinking.test(model) &&
    [...listAt(body, 'tools'), ...listAt(body, 'functions')].length > 0
  ) {
    const message = `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`;
    throw badParameter('reasoning_effort', null, message);
  }
  // The first ones stop where they are told to.
  const stops = /^o1|^o3-mini/.test(model);
  const unsupported = [...(stops ? [] : ['stop']), ...never, ...(isThinking ? notWhileReasoning : [])].find(
    (name) => body[name] !== undefined,
  );
  if (unsupported !== undefined) {
    const instead = unsupported === 'max_tokens' ? " Use 'max_completion_tokens' instead." : '';
    const message = `Unsupported parameter: '${unsupported}' is not supported with this model.${instead}`;
    throw badParameter(unsupported, 'unsupported_parameter', message);
  }
  for (const name of isThinking ? fixedWhileReasoning : []) {
    const value = numberAt(body, name) ?? 1;
    const rule = `'${name}' does not support ${value} with this model. Only the default (1) value is supported.`;
    if (value !== 1) throw badParameter(name, 'unsupported_value', `Unsupported value: ${rule}`);
  }
}

/** A strict schema forbids other properties, and requires its own, at every level. */
export function checkStrictSchema(
  schema: JsonValue | undefined,
  refuse: (fault: string) => Problem,
  context: readonly string[] = [],
): void {
  if (!isObject(schema)) return;
  const at = `In context=(${context.map((step) => `'${step}'`).join(', ')}${context.length === 1 ? ',' : ''})`;
  const properties = objectAt(schema, 'properties');
  if (schema['type'] === 'object' || properties) {
    if (schema['additionalProperties'] !== false)
      throw refuse(`${at}, 'additionalProperties' is required to be supplied and to be false.`);
    const missing = Object.keys(properties ?? {}).find((name) => !textsAt(schema, 'required').includes(name));
    const rule = 'is required to be supplied and to be an array including every key in properties.';
    if (missing !== undefined) throw refuse(`${at}, 'required' ${rule} Missing '${missing}'.`);
  }
  for (const [name, inner] of Object.entries(properties ?? {}))
    checkStrictSchema(inner, refuse, [...context, 'properties', name]);
  checkStrictSchema(valueAt(schema, 'items'), refuse, [...context, 'items']);
  for (const [index, inner] of listAt(schema, 'anyOf').entries())
    checkStrictSchema(inner, refuse, [...context, 'anyOf', String(index)]);
}

const imageSizes = ['1024x1024', '1024x1536', '1536x1024', 'auto'];

/** Refuses what OpenAI's image models refuse. Throws Problem 400. */
export function checkImagesForOpenAi(body: JsonValue): void {
  const model = textAt(body, 'model') ?? '';
  if (model.startsWith('dall-e-')) return;
  if (textAt(body, 'response_format') !== undefined) {
    throw badParameter('response_format', 'unknown_parameter', "Unknown parameter: 'response_format'.");
  }
  const size = textAt(body, 'size') ?? 'auto';
  // Later models take more.
  if (/^gpt-image-(?:1|1\.5|1-mini)\b/.test(model) && !imageSizes.includes(size)) {
    throw badParameter('size', 'invalid_value', `Invalid value: '${size}'. ${supported(imageSizes)}`);
  }
}
