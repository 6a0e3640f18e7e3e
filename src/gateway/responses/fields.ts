import { isObject, type JsonObject } from '../../json.ts';
import { checkStrictSchema, reasons } from '../completions/fields.ts';
import { badParameter } from '../completions/reply.ts';
import { flagAt, listAt, numberAt, objectAt, textAt, valueAt } from '../fields/read.ts';
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
  oneOfList,
  text,
  type Fields,
  type Rule,
  Violation,
} from '../fields/rule.ts';
import type { ValidationMode } from '../types.ts';

const breakpoint = { prompt_cache_breakpoint: freeObject };

/** In completions the address is in an object, which is refused here. */
const imageUrl: Rule = (value, path) => {
  if (typeof value === 'string') return value;
  throw new Violation(path, { kind: 'type', expected: 'an image URL', value });
};

const parts: Readonly<Record<string, Rule>> = {
  input_text: object({ type: text, 'text!': text, ...breakpoint }),
  input_image: object({ type: text, image_url: imageUrl, file_id: text, detail: text, ...breakpoint }),
  input_file: object({
    type: text,
    filename: text,
    file_data: text,
    file_url: text,
    file_id: text,
    detail: text,
    ...breakpoint,
  }),
  input_audio: object({ type: text, 'input_audio!': freeObject, ...breakpoint }),
  output_text: object({ type: text, 'text!': text, annotations: anything, logprobs: anything }),
  refusal: object({ type: text, 'refusal!': text }),
};
const saidTo = ['input_text', 'input_image', 'input_file', 'input_audio'];
const saidByModel = ['output_text', 'refusal'];

/** A part that the format has, and that belongs into the content; a lenient check takes any. */
function partRule(allowed: readonly string[]): Rule {
  return (value, path, mode) => {
    const type = textAt(freeObject(value, path, mode), 'type');
    if (type === undefined) throw new Violation([...path, 'type'], { kind: 'missing' });
    const rule = parts[type];
    if (rule && (mode.level === 'lenient' || allowed.includes(type))) return rule(value, path, mode);
    if (rule) throw new Violation(path, { kind: 'choice', allowed, value: type });
    if (mode.level === 'lenient') return (mode.leftOut([...path, type]), value);
    throw new Violation([...path, 'type'], { kind: 'choice', allowed: Object.keys(parts), value: type });
  };
}

function contentRule(allowed: readonly string[]): Rule {
  const rule = list(partRule(allowed));
  return (value, path, mode) => {
    if (typeof value === 'string') return value;
    if (Array.isArray(value)) return rule(value, path, mode);
    throw new Violation(path, { kind: 'type', expected: 'one of a string or array of objects', value });
  };
}

const own = { type: text, id: text, status: text };
const said = object({ ...own, role: text, 'content!': contentRule(saidTo) });
const answered = object({ ...own, role: text, 'content!': contentRule(saidByModel), phase: text });
const message: Readonly<Record<string, Rule>> = { assistant: answered, system: said, developer: said, user: said };

const call = { ...own, 'call_id!': text, 'name!': text, namespace: text, caller: freeObject };
const result = object({ ...own, 'call_id!': text, 'output!': contentRule(saidTo), caller: freeObject });

/** Items of a kind that the offline models have no use for. */
const otherItems = [
  'apply_patch_call',
  'apply_patch_call_output',
  'code_interpreter_call',
  'compaction',
  'computer_call',
  'computer_call_output',
  'configuration_update',
  'file_search_call',
  'image_generation_call',
  'item_reference',
  'local_shell_call',
  'local_shell_call_output',
  'mcp_approval_request',
  'mcp_approval_response',
  'mcp_call',
  'mcp_list_tools',
  'program',
  'program_output',
  'shell_call',
  'shell_call_output',
  'tool_search_call',
  'tool_search_output',
  'web_search_call',
];

const otherTools = [
  'apply_patch',
  'code_interpreter',
  'computer',
  'computer_use_preview',
  'file_search',
  'image_generation',
  'local_shell',
  'mcp',
  'programmatic_tool_calling',
  'shell',
  'tool_search',
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
];

const functionTool = object({
  type: text,
  'name!': text,
  description: text,
  parameters: freeObject,
  strict: flag,
  output_schema: freeObject,
  defer_loading: flag,
  async: flag,
  allowed_callers: anything,
});
const customTool = object({ type: text, 'name!': text, description: text, format: freeObject, defer_loading: flag });
const bundle = object({ type: text, 'name!': text, description: text, tools: anything });

const tools: Readonly<Record<string, Rule>> = {
  function: functionTool,
  custom: customTool,
  namespace: bundle,
  ...Object.fromEntries(otherTools.map((name) => [name, freeObject])),
};

const tool: Rule = (value, path, mode) => {
  const type = textAt(freeObject(value, path, mode), 'type');
  if (type === undefined) throw new Violation([...path, 'type'], { kind: 'missing' });
  const rule = tools[type];
  // That of a tool as completions have it is inside.
  if (type === 'function' && textAt(value, 'name') === undefined) {
    throw new Violation([...path, 'name'], { kind: 'missing' });
  }
  if (rule) return rule(value, path, mode);
  if (mode.level === 'lenient') return (mode.leftOut([...path, type]), value);
  throw new Violation([...path, 'type'], { kind: 'choice', allowed: Object.keys(tools), value: type });
};

const items: Readonly<Record<string, Rule>> = {
  message: (value, path, mode) => {
    const role = textAt(value, 'role') ?? '';
    const rule = message[role];
    if (rule) return rule(value, path, mode);
    throw new Violation(path, { kind: 'choice', allowed: Object.keys(message), value: role });
  },
  function_call: object({ ...call, 'arguments!': text }),
  function_call_output: result,
  custom_tool_call: object({ ...call, 'input!': text }),
  custom_tool_call_output: result,
  reasoning: object({ ...own, summary: anything, content: anything, encrypted_content: text }),
  additional_tools: object({ ...own, role: text, 'tools!': list(tool) }),
  ...Object.fromEntries(otherItems.map((name) => [name, freeObject])),
};

/** One of the input. What has a role and no type is a message. */
const item: Rule = (value, path, mode) => {
  if (!isObject(value)) throw new Violation(path, { kind: 'type', expected: 'an input item', value });
  const type = textAt(value, 'type') ?? (value['type'] === undefined ? 'message' : '');
  const rule = items[type];
  if (rule) return rule(value, path, mode);
  if (mode.level === 'lenient') return (mode.leftOut([...path, type]), value);
  throw new Violation(path, { kind: 'choice', allowed: Object.keys(items).toSorted(), value: type });
};

const toolChoice = choose((value) => {
  if (typeof value === 'string') return oneOf('none', 'auto', 'required');
  return textAt(value, 'type') === 'function' ? object({ type: text, 'name!': text }) : freeObject;
});

const formatType = { 'type!': oneOf('json_object', 'text', 'json_schema') };
const schemaFormat = object({ ...formatType, 'name!': text, 'schema!': freeObject, description: text, strict: flag });
const plainFormat = object(formatType);
const textFormat = choose((value) => (textAt(value, 'type') === 'json_schema' ? schemaFormat : plainFormat));

const included = [
  'code_interpreter_call.outputs',
  'computer_call_output.output.image_url',
  'file_search_call.results',
  'message.input_image.image_url',
  'message.output_text.logprobs',
  'reasoning.encrypted_content',
  'web_search_call.action.sources',
  'web_search_call.results',
];

/** OpenAI's models take no limit below 16. */
const maxOutputTokens: Rule = (value, path, mode) =>
  integer({ min: mode.level === 'vendor' ? 16 : 1 })(value, path, mode);

/** What other servers of this format take beyond OpenAI. */
const beyond: Fields = {
  stop: choose((value) => (typeof value === 'string' ? text : list(text))),
  seed: integer(),
  top_k: integer({ min: 0 }),
  min_p: number(),
  repetition_penalty: number(),
  provider: freeObject,
  models: list(text),
  plugins: anything,
};

const responsesBody = object(
  {
    'model!': text,
    'input!': choose((value) => (Array.isArray(value) ? list(item) : text)),
    include: choose(() => list(oneOfList(included))),
    tools: list(tool, { max: 128 }),
    tool_choice: toolChoice,
    metadata: freeObject,
    text: object({ format: textFormat, verbosity: oneOf('low', 'medium', 'high') }),
    temperature: number({ min: 0, max: 2 }),
    top_p: number({ min: 0, max: 1 }),
    presence_penalty: number({ min: -2, max: 2 }),
    frequency_penalty: number({ min: -2, max: 2 }),
    parallel_tool_calls: flag,
    stream: flag,
    stream_options: object({ include_obfuscation: flag }),
    background: flag,
    max_output_tokens: maxOutputTokens,
    max_tool_calls: integer({ min: 1 }),
    reasoning: object({
      effort: oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
      summary: oneOf('auto', 'concise', 'detailed'),
      generate_summary: text,
      context: text,
      mode: text,
    }),
    instructions: text,
    previous_response_id: text,
    conversation: anything,
    prompt: freeObject,
    store: flag,
    service_tier: oneOf('auto', 'default', 'fast', 'flex', 'priority', 'scale', 'ultrafast'),
    top_logprobs: integer({ min: 0, max: 20 }),
    truncation: oneOf('auto', 'disabled'),
    user: text,
    safety_identifier: text,
    prompt_cache_key: text,
    prompt_cache_retention: text,
    prompt_cache_options: freeObject,
    context_management: anything,
    moderation: freeObject,
    client_metadata: freeObject,
  },
  beyond,
);

/** Where the parameters of chat completions have gone. */
const moved: readonly [name: string, to: string][] = [
  ['messages', 'input'],
  ['max_tokens', 'max_output_tokens'],
  ['max_completion_tokens', 'max_output_tokens'],
  ['response_format', 'text.format'],
  ['reasoning_effort', 'reasoning.effort'],
  ['verbosity', 'text.verbosity'],
];

/** Checks a request body. Throws Violation and Problem 400, in OpenAI's words. */
export function checkResponseBody(body: JsonObject, mode: ValidationMode): JsonObject {
  const [name, to] = moved.find(([name]) => (body[name] ?? null) !== null) ?? [];
  if (name !== undefined && (mode.level !== 'lenient' || (name === 'messages' && body['input'] === undefined))) {
    const message = `Unsupported parameter: '${name}'. In the Responses API, this parameter has moved to '${to}'.`;
    throw badParameter(name, 'unsupported_parameter', message);
  }
  for (const required of ['model', 'input']) {
    if ((body[required] ?? null) === null)
      throw badParameter(required, 'missing_required_parameter', `Missing required parameter: '${required}'.`);
  }
  const checked = responsesBody(body, [], mode);
  if (mode.level === 'vendor') checkForOpenAi(checked);
  return checked;
}

/** Refuses what OpenAI refuses though the format allows it. Throws Problem 400. */
function checkForOpenAi(body: JsonObject): void {
  const format = objectAt(objectAt(body, 'text'), 'format');
  if (textAt(format, 'type') === 'json_object' && !/json/i.test(JSON.stringify(body['input']))) {
    const rule = "must contain the word 'json' in some form to use 'text.format' of type 'json_object'.";
    throw badParameter('input', null, `Response input messages ${rule}`);
  }
  if (flagAt(format, 'strict')) {
    const name = `Invalid schema for response_format '${textAt(format, 'name')}'`;
    checkStrictSchema(valueAt(format, 'schema'), (fault) =>
      badParameter('text.format.schema', 'invalid_json_schema', `${name}: ${fault}`),
    );
  }
  for (const [index, offer] of listAt(body, 'tools').entries()) {
    if (!flagAt(offer, 'strict')) continue;
    const name = `Invalid schema for function '${textAt(offer, 'name')}'`;
    const param = `tools[${index}].parameters`;
    checkStrictSchema(valueAt(offer, 'parameters'), (fault) =>
      badParameter(param, 'invalid_function_parameters', `${name}: ${fault}`),
    );
  }
  const effort = textAt(objectAt(body, 'reasoning'), 'effort');
  if (!reasons(textAt(body, 'model') ?? '')) {
    if (effort !== undefined) throw unsupportedField('reasoning.effort', 'unsupported_parameter');
    return;
  }
  for (const name of effort === 'none' ? [] : ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'])
    if ((numberAt(body, name) ?? 1) !== 1) throw unsupportedField(name, null);
}

function unsupportedField(name: string, code: string | null) {
  return badParameter(name, code, `Unsupported parameter: '${name}' is not supported with this model.`);
}
