import { textAt } from '../fields/read.ts';
import { contentOf, stops } from '../completions/fields.ts';
import {
  choose,
  filledList,
  flag,
  freeObject,
  integer,
  list,
  openObject,
  text,
  type Rule,
  Violation,
} from '../fields/rule.ts';
import { findOwn } from '../../library/index.ts';

/** Fields that decide the answer, as in completions. */
const contentPart = openObject({ 'type!': text, text, image_url: text, file_data: text });
const content = contentOf(contentPart);

const callResult = openObject({ 'call_id!': text, 'output!': content });

const items: Readonly<Record<string, Rule>> = {
  message: openObject({ 'role!': text, 'content!': content }),
  function_call: openObject({ 'call_id!': text, 'name!': text }),
  function_call_output: callResult,
  custom_tool_call: openObject({ 'call_id!': text, 'name!': text }),
  custom_tool_call_output: callResult,
  additional_tools: openObject({ 'tools!': list(freeObject) }),
};

/** One item of the input. An item with a role and no type is a message. */
const item = choose((value) => {
  const type = textAt(value, 'type') ?? (textAt(value, 'role') === undefined ? '' : 'message');
  return findOwn(items, type) ?? freeObject;
});

const tool = choose((value) =>
  openObject(textAt(value, 'type') === 'function' ? { 'type!': text, 'name!': text } : { 'type!': text }),
);

const input: Rule = (value, path, mode) => {
  if (Array.isArray(value)) return filledList(item)(value, path, mode);
  if (text(value, path, mode) === '') throw new Violation(path, { kind: 'missing' });
  return value;
};

/** The rule for a request body of the responses format. */
export const responsesBody = openObject({
  'model!': text,
  'input!': input,
  instructions: text,
  previous_response_id: text,
  include: list(text),
  tools: list(tool),
  text: openObject({ format: openObject({ 'type!': text, schema: freeObject }) }),
  reasoning: openObject({ effort: text, summary: text }),
  max_output_tokens: integer({ min: 1 }),
  stream: flag,
  service_tier: text,
  store: flag,
  stop: stops,
  seed: integer(),
});
