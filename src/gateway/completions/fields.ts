import type { JsonValue } from '../../json.ts';
import { textAt } from '../fields/read.ts';
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
} from '../fields/rule.ts';
import { aspectRatio, imageSize } from '../fields/picture.ts';
import { Violation } from '../fields/violation.ts';
import type { Path, ValidationMode } from '../types.ts';

/** Some servers take the address alone. */
const imageUrl = choose((value) => (typeof value === 'string' ? text : object({ 'url!': text, detail: text })));

const parts = new Map<string, Rule>([
  ['text', object({ type: text, 'text!': text, cache_control: freeObject })],
  ['image_url', object({ type: text, 'image_url!': imageUrl })],
  ['file', object({ type: text, 'file!': object({ filename: text, file_data: text, file_id: text }) })],
  ['input_audio', object({ type: text, 'input_audio!': freeObject })],
  ['refusal', object({ type: text, 'refusal!': text })],
]);

function part(value: JsonValue, path: Path, mode: ValidationMode): JsonValue {
  const type = textAt(freeObject(value, path, mode), 'type');
  const rule = parts.get(type ?? '');
  if (rule) return rule(value, path, mode);
  if (type === undefined) throw new Violation([...path, 'type'], { kind: 'missing' });
  if (mode.level === 'lenient') return (mode.leftOut([...path, type]), value);
  throw new Violation([...path, 'type'], { kind: 'choice', allowed: [...parts.keys()], value: type });
}

const content: Rule = (value, path, mode) => {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return list(part)(value, path, mode);
  throw new Violation(path, { kind: 'type', expected: 'one of a string or array of objects', value });
};

const toolCall = object({
  id: text,
  type: text,
  index: integer(),
  'function!': object({ 'name!': text, 'arguments!': text }),
});

const message = object(
  {
    'role!': oneOf('system', 'assistant', 'user', 'function', 'tool', 'developer'),
    content,
    name: text,
    tool_calls: list(toolCall),
    tool_call_id: text,
    refusal: text,
    audio: freeObject,
    annotations: anything,
  },
  // What other servers of this format put into a reply, and take back in the next request.
  { reasoning_content: text, reasoning: text, reasoning_details: anything, images: anything },
);

const tool = choose((value) =>
  (textAt(value, 'type') ?? 'function') === 'function'
    ? object({
        type: text,
        'function!': object({ 'name!': text, description: text, parameters: freeObject, strict: flag }),
      })
    : freeObject,
);

const toolChoice = choose((value) => {
  if (typeof value === 'string') return oneOf('none', 'auto', 'required');
  if (textAt(value, 'type') === 'allowed_tools') return freeObject;
  return object({ type: text, 'function!': object({ 'name!': text }) });
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
    response_format: object({
      'type!': oneOf('json_object', 'json_schema', 'text'),
      json_schema: object({ 'name!': text, description: text, schema: freeObject, strict: flag }),
    }),
    reasoning_effort: oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh'),
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

/** Pictures are an answer of other servers alone. */
function modality(value: JsonValue, path: Path, mode: ValidationMode): JsonValue {
  return oneOf('text', 'audio', ...(mode.level === 'spec' ? [] : ['image']))(value, path, mode);
}

/** The rule for the fields of an image request; those of an edit came as a form, its files as data URLs. */
export const imagesBody = object({
  model: text,
  'prompt!': text,
  n: integer({ min: 1, max: 10 }),
  size: text,
  image: list(text, { min: 1, max: 16 }),
  mask: text,
  quality: text,
  background: text,
  output_format: oneOf('png', 'jpeg', 'webp'),
  output_compression: integer({ min: 0, max: 100 }),
  moderation: text,
  input_fidelity: text,
  style: text,
  response_format: oneOf('url', 'b64_json'),
  user: text,
  stream: flag,
  partial_images: integer({ min: 0, max: 3 }),
});
