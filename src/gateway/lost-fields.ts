import { findOwn, isObject, type JsonValue } from '../library/index.ts';
import type { Path } from './types.ts';

/** A JSON value that keeps account of which of its fields were read. */
interface Watched<T extends JsonValue> {
  /** The same value, to be read. */
  value: T;
  /** Whether a field of an object, or an entry of a list, was read since. */
  isRead(within: object, key: string): boolean;
}

/** Watches what is read of a value, at every depth. */
export function watchReads<T extends JsonValue>(given: T): Watched<T> {
  const read = new WeakMap<object, Set<string>>();
  const views = new WeakMap<object, object>();
  const view = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    const known = views.get(value);
    if (known !== undefined) return known;
    const keys = new Set<string>();
    const watched = new Proxy(value, {
      get(target, key) {
        if (typeof key === 'string') keys.add(key);
        return view(Reflect.get(target, key));
      },
      has(target, key) {
        if (typeof key === 'string') keys.add(key);
        return Reflect.has(target, key);
      },
    });
    read.set(value, keys);
    views.set(value, watched);
    return watched;
  };
  return { value: view(given) as T, isRead: (within, key) => read.get(within)?.has(key) === true };
}

const any = /^/;
const off = /^false$/;

/**
 * Values that a request of one format may have without a word of them in the request of another one: they change nothing in the
 * answer, or a client sends them without being told to. A field is named by the end of its path, without the places in lists; the
 * last row that fits counts. The pattern is for a text, or for the JSON of another value.
 */
const harmless: Readonly<Record<string, RegExp>> = {
  // The gateway answers with them: how the reply is sent, and what it shows of the thinking.
  model: any,
  stream: any,
  stream_options: any,
  include: /^(?!message\.output_text\.logprobs)/,
  includeThoughts: any,
  'reasoning.summary': any,
  'reasoning.generate_summary': any,
  'reasoning.exclude': any,
  includeServerSideToolInvocations: any,
  eager_input_streaming: any,
  // They are for the first service alone: what it keeps, caches, bills and counts.
  store: any,
  metadata: any,
  labels: any,
  user: any,
  safety_identifier: any,
  usage: any,
  cache_control: any,
  prompt_cache_key: any,
  prompt_cache_options: any,
  prompt_cache_retention: any,
  prompt_cache_breakpoint: any,
  service_tier: /^(?:auto|default|standard|standard_only|on_demand)$/,
  serviceTier: /^(?:auto|default|standard|unspecified)$/i,
  // Earlier answers come back as their service wrote them.
  id: any,
  status: any,
  phase: any,
  index: any,
  signature: any,
  thought: any,
  thoughtSignature: any,
  annotations: any,
  citations: /^(?!\{"enabled":true)/,
  'messages.reasoning': any,
  'messages.reasoning_content': any,
  'messages.reasoning_details': any,
  context_management: /^\{"edits":\[(?:\{"type":"clear_thinking_[^{}]*\},?)*\]\}$/,
  // Only efforts in words are the same everywhere.
  thinking: any,
  thinkingBudget: any,
  'reasoning.max_tokens': any,
  'reasoning.context': any,
  'reasoning.enabled': /^true$/,
  // No other format can promise these, and agents ask for them in every request.
  strict: any,
  parallel_tool_calls: any,
  disable_parallel_tool_use: any,
  max_uses: any,
  // They only name what is there, or say it once more.
  title: any,
  filename: any,
  displayName: any,
  'json_schema.name': any,
  'format.name': any,
  'systemInstruction.role': any,
  is_error: any,
  type: any,
  // What they stand for by default.
  logprobs: off,
  responseLogprobs: off,
  top_logprobs: /^0$/,
  presence_penalty: /^0$/,
  presencePenalty: /^0$/,
  frequency_penalty: /^0$/,
  frequencyPenalty: /^0$/,
  detail: /^auto$/,
  verbosity: /^medium$/,
  search_context_size: /^medium$/,
  truncation: /^disabled$/,
  modalities: /^text$/,
  responseModalities: /^text$/i,
  background: off,
  defer_loading: off,
  prefix: off,
  imageConfig: /^\{\}$/,
  logit_bias: /^\{\}$/,
  allowed_callers: /^direct$/,
  caller: /^\{"type":"direct"\}$/,
};

/** Fields that are read, by their whole path, and the words in them that mean something in every format. */
const knownWords: Readonly<Record<string, RegExp>> = {
  'tools.type': /^(?:function|custom|(?:openrouter:)?web_search(?:_.*)?)$/,
  'response_format.type': /^(?:text|json_object|json_schema)$/,
  'text.format.type': /^(?:text|json_object|json_schema)$/,
  'input.type': /^(?:message|(?:function|custom_tool)_call(?:_output)?)$/,
  tool_choice: /^(?:auto|any|none|required)$/,
  'tool_choice.type': /^(?:auto|any|none|tool|function)$/,
};

/**
 * The path of the first field of a request that its translation lost: nothing read it, and it is not harmless. `name` is that of
 * `value`.
 */
export function findLost(value: JsonValue, isRead: Watched<JsonValue>['isRead'], name = ''): Path | undefined {
  for (const [key, inner] of Object.entries(value ?? {})) {
    const [step, named] = Array.isArray(value) ? [Number(key), name] : [key, nameField(key, name)];
    if (typeof inner === 'string' && findOwn(knownWords, named)?.test(inner) === false) return [step];
    if (!isRead(value as object, key)) {
      if (isHarmless(inner, named)) continue;
      return [step];
    }
    const rest = typeof inner === 'object' && !isThinking(inner) ? findLost(inner, isRead, named) : undefined;
    if (rest !== undefined) return [step, ...rest];
  }
  return undefined;
}

/** Whether a request may lose a field by its translation. Empty values ask for nothing. */
export function isHarmless(value: JsonValue, name: string): boolean {
  if (value === null || value === '' || isThinking(value)) return true;
  if (Array.isArray(value)) return value.every((entry) => isHarmless(entry, name));
  const row = Object.keys(harmless).findLast((end) => `.${name}`.endsWith(`.${end}`));
  return row !== undefined && harmless[row]?.test(typeof value === 'string' ? value : JSON.stringify(value)) === true;
}

/** Only the service that wrote an earlier answer can read the thinking in it. */
function isThinking(value: JsonValue): boolean {
  return isObject(value) && /^(?:reasoning|thinking|redacted_thinking)$/.test(String(value['type']));
}

/** `messages.content.detail`: a path without the places in lists. */
export function nameFields(path: Path): string {
  return path.filter((step) => typeof step === 'string').join('.');
}

function nameField(key: string, within: string): string {
  return within === '' ? key : `${within}.${key}`;
}
