import { isObject } from '../../json.ts';
import type { JsonValue } from '../../json.ts';
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
  type Reading,
  type Rule,
} from '../fields/rule.ts';
import { textAt } from '../fields/read.ts';
import { badValue, type Path } from '../fields/violation.ts';
import { imageTypes } from './media-types.ts';

const cacheControl = freeObject;

const thinking = object(
  {
    type: oneOf(['enabled', 'adaptive', 'disabled', 'between_tools']),
    budget_tokens: integer({ min: 1024 }),
    display: oneOf(['summarized', 'omitted']),
  },
  { required: ['type'] },
);

const outputFormat = object({ type: oneOf(['json_schema']), schema: freeObject }, { required: ['type', 'schema'] });

const publicFields: Fields = {
  thinking,
  output_config: object({ effort: oneOf(['low', 'medium', 'high', 'xhigh', 'max']), format: outputFormat }),
  output_format: outputFormat,
  service_tier: oneOf(['auto', 'standard_only']),
  cache_control: cacheControl,
  container: anything,
  inference_geo: text,
  speed: text,
  diagnostics: anything,
  mcp_servers: anything,
  context_management: anything,
  betas: list(text),
};

const imageSource = choose((value) => {
  switch (textAt(value, 'type')) {
    case 'url':
      return object({ type: text, url: text }, { required: ['url'] });
    case 'file':
      return object({ type: text, file_id: text }, { required: ['file_id'] });
    default:
      return object(
        { type: oneOf(['base64']), media_type: oneOf(imageTypes), data: text },
        { required: ['type', 'media_type', 'data'] },
      );
  }
});

const nested = textOrBlocks();

const blocks: Readonly<Record<string, Rule>> = {
  text: object(
    { type: text, text: filledText, cache_control: cacheControl, citations: anything },
    { required: ['text'] },
  ),
  image: object({ type: text, source: imageSource, cache_control: cacheControl }, { required: ['source'] }),
  document: object(
    { type: text, source: freeObject, title: text, context: text, citations: anything, cache_control: cacheControl },
    { required: ['source'] },
  ),
  tool_use: object(
    { type: text, id: text, name: text, input: freeObject, cache_control: cacheControl, caller: anything },
    { required: ['id', 'name', 'input'] },
  ),
  tool_result: object(
    { type: text, tool_use_id: text, content: nested, is_error: flag, cache_control: cacheControl },
    { required: ['tool_use_id'] },
  ),
  thinking: object({ type: text, thinking: text, signature: text }, { required: ['thinking', 'signature'] }),
  redacted_thinking: object({ type: text, data: text }, { required: ['data'] }),
};

/** Blocks that only server tools make come back in later turns; their inside is not looked at. */
const foreignBlock =
  /^(?:search_result|server_tool_use|container_upload|mcp_tool_use|compaction|fallback|[a-z_]+_tool_result)$/;

const block: Rule = (value, path, reading) => {
  if (!isObject(value)) return freeObject(value, path, reading);
  const type = textAt(value, 'type') ?? '';
  if (type !== '' && foreignBlock.test(type) && type !== 'tool_result') return value;
  const rule = Object.hasOwn(blocks, type) ? blocks[type] : undefined;
  if (rule) return rule(value, path, reading);
  if (reading.ignore && type !== '') {
    reading.ignore([...path, type]);
    return value;
  }
  throw badValue(
    [...path, 'type'],
    `Input should be ${Object.keys(blocks)
      .map((name) => `'${name}'`)
      .join(', ')}`,
  );
};

const message = object(
  { role: oneOf(['user', 'assistant']), content: textOrBlocks() },
  { required: ['role', 'content'] },
);

const turns = list(message, { min: 1, max: 100_000 });

/** Some clients put the system prompt into a turn; it is left out where the reading ignores what it does not know. */
const messages: Rule = (value, path, reading) => {
  if (!Array.isArray(value) || !reading.ignore) return turns(value, path, reading);
  const kept = value.filter((turn, index) => {
    const isSystem = textAt(turn, 'role') === 'system';
    if (isSystem) reading.ignore?.([...path, index, 'system']);
    return !isSystem;
  });
  return turns(kept, path, reading);
};

const tool = choose((value) => {
  const type = textAt(value, 'type');
  return type === undefined || type === 'custom' ? customTool : freeObject;
});

const customTool = object(
  {
    type: text,
    name: text,
    description: text,
    input_schema: objectSchema,
    strict: flag,
    cache_control: cacheControl,
    eager_input_streaming: flag,
    input_examples: anything,
    defer_loading: flag,
    allowed_callers: anything,
  },
  { required: ['name', 'input_schema'] },
);

const toolChoice = object(
  { type: oneOf(['auto', 'any', 'tool', 'none']), name: text, disable_parallel_tool_use: flag },
  { required: ['type'] },
);

function filledText(value: JsonValue, path: Path, reading: Reading): JsonValue {
  if (text(value, path, reading) === '') throw badValue(path, 'text content blocks must be non-empty');
  return value;
}

function objectSchema(value: JsonValue, path: Path, reading: Reading): JsonValue {
  if (textAt(freeObject(value, path, reading), 'type') !== 'object')
    throw badValue([...path, 'type'], "Input should be 'object'");
  return value;
}

function textOrBlocks(types?: readonly string[]): Rule {
  return (value, path, reading) => {
    if (typeof value === 'string') return value;
    const checked = list((item, at) => block(item, at, reading))(value, path, reading);
    const foreign = Array.isArray(checked)
      ? checked.findIndex((item) => types && !types.includes(textAt(item, 'type') ?? ''))
      : -1;
    if (foreign !== -1) throw badValue([...path, foreign, 'type'], `Input should be '${types?.join("' or '")}'`);
    return checked;
  };
}

/** The rule for a request body of the messages format, and where it is lenient of what public clients send. */
export const messagesBody = object(
  {
    model: text,
    max_tokens: integer({ min: 1 }),
    messages,
    system: textOrBlocks(['text']),
    stream: flag,
    temperature: number({ min: 0, max: 1 }),
    top_p: number({ min: 0, max: 1 }),
    top_k: integer({ min: 0 }),
    stop_sequences: list(text),
    tools: list(tool),
    tool_choice: toolChoice,
    metadata: object({ user_id: text }),
  },
  { required: ['model', 'messages', 'max_tokens'], beyond: publicFields },
);
