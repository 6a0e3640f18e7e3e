import type { JsonValue } from '../../library/index.ts';
import {
  aspectRatio,
  choose,
  filledList,
  flag,
  freeObject,
  imageSize,
  integer,
  list,
  oneOf,
  openObject,
  text,
  type Rule,
  Violation,
} from '../fields/rule.ts';
import type { Path, ValidationMode } from '../types.ts';

/*
 * Fields that decide the answer. Services of this format have many more, and new ones each month: other fields of a request are
 * ignored.
 */

/** Some servers take the address alone, without an object around it. */
const imageUrl = choose((value) => (typeof value === 'string' ? text : openObject({ 'url!': text })));

const contentPart = openObject({
  'type!': text,
  text,
  image_url: imageUrl,
  file: openObject({ filename: text, file_data: text }),
});

/** A text, or a list of parts. */
export function contentOf(part: Rule): Rule {
  const parts = list(part);
  return (value: JsonValue, path: Path, mode: ValidationMode) => {
    if (typeof value === 'string') return value;
    if (Array.isArray(value)) return parts(value, path, mode);
    throw new Violation(path, { kind: 'type', expected: 'a string or a list of parts', value });
  };
}

const message = openObject({
  'role!': text,
  content: contentOf(contentPart),
  name: text,
  tool_calls: list(freeObject),
  tool_call_id: text,
});

const offeredFunction = openObject({ 'name!': text, parameters: freeObject });
const tool = choose((value) =>
  openObject({ type: text, ...(hasField(value, 'function') && { 'function!': offeredFunction }) }),
);

function hasField(value: JsonValue, name: string): boolean {
  return typeof value === 'object' && value !== null && name in value;
}

/** One stop text, or a list of them. */
export const stops = choose((value) => (typeof value === 'string' ? text : list(text)));

/** The rule for a request body of chat completions. */
export const completionsBody = openObject({
  'model!': text,
  'messages!': filledList(message),
  n: integer({ min: 1, max: 8 }),
  stream: flag,
  stream_options: openObject({ include_usage: flag }),
  max_completion_tokens: integer({ min: 1 }),
  max_tokens: integer({ min: 1 }),
  stop: stops,
  seed: integer(),
  tools: list(tool),
  functions: list(offeredFunction),
  response_format: openObject({ 'type!': text, json_schema: openObject({ schema: freeObject }) }),
  reasoning_effort: text,
  modalities: list(text),
  service_tier: text,
  image_config: openObject({ aspect_ratio: aspectRatio, image_size: imageSize }),
});

/** An image that an edit in JSON names. */
const imageReference = openObject({ image_url: text });

/** The rule for the fields of an image request. An edit comes as a form, whose files are data URLs here, or as JSON. */
export const imagesBody = openObject({
  model: text,
  'prompt!': text,
  n: integer({ min: 1, max: 10 }),
  size: text,
  image: filledList(text),
  images: filledList(imageReference),
  output_format: oneOf('png', 'jpeg', 'webp', 'gif', 'svg'),
  response_format: oneOf('url', 'b64_json'),
  stream: flag,
  aspect_ratio: aspectRatio,
  resolution: imageSize,
  seed: integer(),
});
