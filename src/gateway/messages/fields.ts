import type { JsonValue } from '../../library/index.ts';
import { textAt } from '../fields/read.ts';
import {
  anything,
  choose,
  filledList,
  flag,
  freeObject,
  integer,
  list,
  number,
  object,
  oneOf,
  text,
  type FieldRules,
  type Rule,
  badValue,
} from '../fields/rule.ts';
import type { Path, ValidationMode } from '../types.ts';

/** Fields that the service takes and the specification does not name. */
const newerFields: FieldRules = {
  thinking: object({
    'type!': oneOf('enabled', 'adaptive', 'disabled', 'between_tools'),
    budget_tokens: integer(),
    display: oneOf('summarized', 'omitted', 'updates'),
    block_binding: anything,
  }),
  output_config: freeObject,
  output_format: freeObject,
  service_tier: text,
  cache_control: freeObject,
  container: anything,
  inference_geo: text,
  speed: text,
  diagnostics: anything,
  mcp_servers: anything,
  context_management: anything,
  betas: list(text),
  billing_policy: anything,
  compaction: anything,
  fallbacks: anything,
  fallback_credit_token: text,
  user_profile_id: text,
  workspace_id: text,
};

const base64Source = object({
  'type!': oneOf('base64'),
  'media_type!': oneOf('image/jpeg', 'image/png', 'image/gif', 'image/webp'),
  'data!': text,
});
const imageSources = new Map([
  ['url', object({ type: text, 'url!': text })],
  ['file', object({ type: text, 'file_id!': text })],
]);
const imageSource = choose((value) => imageSources.get(textAt(value, 'type') ?? '') ?? base64Source);

const textOrBlocks: Rule = (value, path, mode) => (typeof value === 'string' ? value : list(block)(value, path, mode));

const blocks = new Map([
  ['text', object({ type: text, 'text!': text, cache_control: freeObject, citations: anything })],
  ['image', object({ type: text, 'source!': imageSource, cache_control: freeObject, transformations: anything })],
  [
    'document',
    object({
      type: text,
      'source!': freeObject,
      title: text,
      context: text,
      citations: anything,
      cache_control: freeObject,
    }),
  ],
  [
    'tool_use',
    object({
      type: text,
      'id!': text,
      'name!': text,
      'input!': freeObject,
      cache_control: freeObject,
      caller: anything,
      toolset_name: text,
    }),
  ],
  [
    'tool_result',
    object({
      type: text,
      'tool_use_id!': text,
      content: textOrBlocks,
      is_error: flag,
      toolset_name: text,
      cache_control: freeObject,
    }),
  ],
  ['thinking', object({ type: text, 'thinking!': text, 'signature!': text })],
  ['redacted_thinking', object({ type: text, 'data!': text })],
]);

/** Blocks that only server tools make come back in later turns; their inside is not looked at. */
const serverToolBlock =
  /^(?:search_result|server_tool_use|container_upload|tool_reference|mcp_tool_use|mcp_tool_listing|tool_addition|tool_removal|compaction|fallback|[a-z_]+_tool_result)$/;

function block(value: JsonValue, path: Path, mode: ValidationMode): JsonValue {
  const type = textAt(freeObject(value, path, mode), 'type') ?? '';
  const rule = blocks.get(type);
  if (rule) return rule(value, path, mode);
  if (serverToolBlock.test(type)) return value;
  const known = [...blocks.keys()].map((name) => `'${name}'`).join(', ');
  if (mode.isStrict || type === '') throw badValue([...path, 'type'], `Input should be ${known}`);
  mode.leftOut([...path, type], value);
  return value;
}

/** The system prompt is only text. */
const system: Rule = (value, path, mode) => {
  const checked = textOrBlocks(value, path, mode);
  const other = Array.isArray(checked) ? checked.findIndex((item) => textAt(item, 'type') !== 'text') : -1;
  if (other !== -1) throw badValue([...path, other, 'type'], "Input should be 'text'");
  return checked;
};

const messages = filledList(object({ 'role!': oneOf('user', 'assistant', 'system'), 'content!': textOrBlocks }));

const customTool = object({
  type: text,
  'name!': text,
  description: text,
  'input_schema!': freeObject,
  strict: flag,
  cache_control: freeObject,
  eager_input_streaming: flag,
  input_examples: anything,
  defer_loading: flag,
  allowed_callers: anything,
});
const tool = choose((value) => ((textAt(value, 'type') ?? 'custom') === 'custom' ? customTool : freeObject));

/** The rule for a request body of the messages format. */
export const messagesBody = object({
  'model!': text,
  'messages!': messages,
  'max_tokens!': integer({ min: 1 }),
  system,
  stream: flag,
  temperature: number,
  top_p: number,
  top_k: number,
  stop_sequences: list(text),
  tools: list(tool),
  tool_choice: object({
    'type!': oneOf('auto', 'any', 'tool', 'none'),
    name: text,
    disable_parallel_tool_use: flag,
  }),
  metadata: object({ user_id: text }),
  ...newerFields,
});
