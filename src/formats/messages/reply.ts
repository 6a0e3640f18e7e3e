import { GatewayError } from '../../errors.ts';
import { isObject, type JsonObject, type JsonValue, parseFlat } from '../../json.ts';
import { field, objectField, textField, numberField } from '../fields.ts';
import { quote } from '../quote.ts';
import type { Block, MessageReply } from './types.ts';
import type { Usage } from '../content/types.ts';

/**
 * Reads a whole messages-format reply as gateways are known to send it (formats 3 and 6): content as a
 * string, nulls, image blocks, wrapped in an array or in `response`, `message` or `data`. Throws bad-reply when it is no message.
 */
export function decodeMessage(json: unknown): MessageReply {
  const message = unwrap(json);
  if (!message) throw notAMessage(json);
  const stopReason = textField(message, 'stopReason') || undefined;
  return {
    id: textField(message, 'id'),
    role: textField(message, 'role'),
    model: textField(message, 'model'),
    blocks: decodeBlocks(message['content']),
    stopReason,
    stopSequence: textField(message, 'stopSequence'),
    stopDetails: field(message, 'stopDetails'),
    usage: usageOf(addCounts({}, objectField(message, 'usage'))),
    ...serviceTierOf(message),
    complete: stopReason !== undefined,
  };
}

/** Text of a reply: its text blocks, joined without a separator. */
export function messageText(reply: MessageReply): string {
  return reply.blocks.map((block) => (block.kind === 'text' ? block.text : '')).join('');
}

/** The reply's blocks as an assistant turn of a later request: without those that the wire refuses there. */
export function replayableContent(reply: MessageReply): JsonObject[] {
  return reply.blocks.filter(isReplayable).map((block) => block.raw);
}

/** Empty text, a call whose input was cut, and pictures of a gateway's own making are refused in an assistant turn. */
function isReplayable(block: Block): boolean {
  if (block.kind === 'text') return block.text !== '';
  if (block.kind === 'call') return isObject(block.input) && block.id !== undefined;
  if (block.kind === 'other') return typeof block.raw['input'] !== 'string';
  return block.kind !== 'blob';
}

/** The service tier that a message tells, in its usage or beside it. */
export function serviceTierOf(message: JsonObject): Pick<MessageReply, 'serviceTier'> {
  const usage = objectField(message, 'usage');
  const serviceTier = (usage && textField(usage, 'serviceTier')) ?? textField(message, 'serviceTier');
  return serviceTier ? { serviceTier } : {};
}

function unwrap(json: unknown): JsonObject | undefined {
  const value: unknown = Array.isArray(json) ? json[0] : json;
  if (!isObject(value)) return undefined;
  const inner = [value['response'], value['message'], value['data']];
  return [value, ...inner].filter((candidate) => isObject(candidate)).find(isMessage);
}

function isMessage(json: JsonObject): boolean {
  if (json['type'] === 'message') return true;
  const content = json['content'];
  return Array.isArray(content) || (typeof content === 'string' && field(json, 'role') !== undefined);
}

function notAMessage(json: unknown): GatewayError {
  const keys = isObject(json) ? Object.keys(json).slice(0, 8).join(', ') : '';
  const found = keys === '' ? '' : `: it holds ${quote(keys)}`;
  return new GatewayError('bad-reply', `the reply is JSON, but not a reply of the messages format${found}`, {
    reason: 'address',
    sent: 'yes',
    retryable: false,
  });
}

/** Counts of a usage object as the gateway gave them; each may be absent (deviation 34). */
export interface MessageCounts {
  input?: number | undefined;
  output?: number | undefined;
  thinking?: number | undefined;
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
}

/** Counts of a later usage object over earlier ones: usage in a stream is cumulative, field by field (formats 4). */
export function addCounts(before: MessageCounts, usage: JsonObject | undefined): MessageCounts {
  if (!usage) return before;
  const details = objectField(usage, 'outputTokensDetails');
  return {
    input: numberField(usage, 'inputTokens') ?? before.input,
    output: numberField(usage, 'outputTokens') ?? before.output,
    thinking: (details && numberField(details, 'thinkingTokens')) ?? before.thinking,
    cacheRead: numberField(usage, 'cacheReadInputTokens') ?? before.cacheRead,
    cacheWrite: numberField(usage, 'cacheCreationInputTokens') ?? before.cacheWrite,
  };
}

/** The counts as both formats name them. The total counts the cache too, which inputTokens of this format leaves out (formats 3). */
export function usageOf(counts: MessageCounts): Usage | undefined {
  const { input, output, thinking, cacheRead, cacheWrite } = counts;
  if (Object.values(counts).every((count) => count === undefined)) return undefined;
  const known = input !== undefined && output !== undefined;
  return {
    inputTokens: input,
    outputTokens: output,
    thinkingTokens: thinking,
    cachedInputTokens: cacheRead,
    ...(cacheWrite !== undefined && { cacheWriteInputTokens: cacheWrite }),
    totalTokens: known ? input + output + (cacheRead ?? 0) + (cacheWrite ?? 0) : undefined,
  };
}

/** Reads the content of a message: blocks, or a plain string (deviation 43). What is no block is skipped. */
function decodeBlocks(content: JsonValue | undefined): Block[] {
  if (typeof content === 'string') return content === '' ? [] : [textBlock(content)];
  if (!Array.isArray(content)) return [];
  return content.flatMap((raw) => {
    if (typeof raw === 'string') return [textBlock(raw)];
    return isObject(raw) ? [decodeBlock(raw)] : [];
  });
}

/** Reads one content block (formats 3). Kinds that are not known come out as `other`, never as an error. */
function decodeBlock(block: JsonObject): Block {
  const raw = withoutNulls(block);
  const type = textField(raw, 'type') ?? '';
  if (type === 'text') return { kind: 'text', text: textField(raw, 'text') ?? '', raw };
  if (type === 'thinking') return { kind: 'thinking', text: textField(raw, 'thinking') ?? '', raw };
  if (type === 'tool_use') return callBlock(raw);
  return blobBlock(raw) ?? { kind: 'other', type, raw };
}

function textBlock(text: string): Block {
  return { kind: 'text', text, raw: { type: 'text', text } };
}

/** The wire wants an input object back, also from a call without arguments. */
function callBlock(block: JsonObject): Block {
  const input = block['input'] ?? {};
  const name = textField(block, 'name') ?? '';
  return { kind: 'call', id: textField(block, 'id'), name, input, raw: { ...block, input } };
}

/** A block with bytes, such as an image, is of no official reply; gateways add it (deviation 5). */
function blobBlock(raw: JsonObject): Block | undefined {
  const source = objectField(raw, 'source');
  const data = source && textField(source, 'data');
  if (!source || data === undefined || source['type'] === 'text') return undefined;
  return { kind: 'blob', mimeType: textField(source, 'mediaType') ?? textField(source, 'mimeType'), data, raw };
}

/** Null is absent (deviation 9), and a later turn that repeated it would be refused. */
function withoutNulls(block: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(block).filter(([, value]) => value !== null));
}

/** A block while its deltas arrive. */
export interface OpenBlock {
  readonly type: string;
  /** The block as content_block_start gave it. */
  readonly start: JsonObject;
  /** Text, thinking or tool input so far, what the start held included. */
  text: string;
  signature: string | undefined;
  citations: JsonValue[];
}

/** Opens a block from content_block_start, or for a delta whose start never came. */
export function openBlock(start: JsonObject): OpenBlock {
  const type = typeof start['type'] === 'string' ? start['type'] : '';
  const text = type === 'text' || type === 'thinking' ? start[type] : undefined;
  const citations = Array.isArray(start['citations']) ? start['citations'] : [];
  return { type, start, text: typeof text === 'string' ? text : '', signature: undefined, citations: [...citations] };
}

/** The block as far as it came. Tool input that was cut stays the string it was (formats 4). */
export function closeBlock(open: OpenBlock): Block {
  return decodeBlock({ ...open.start, ...gathered(open) });
}

function gathered({ type, start, text, signature, citations }: OpenBlock): JsonObject {
  if (type === 'text') return citations.length === 0 ? { text } : { text, citations };
  if (type === 'thinking') return signature === undefined ? { thinking: text } : { thinking: text, signature };
  return 'input' in start || text !== '' ? { input: toolInput(text, start['input']) } : {};
}

function toolInput(json: string, atStart: JsonValue | undefined): JsonValue {
  if (json.trim() === '') return isObject(atStart) ? atStart : {};
  try {
    return parseFlat(json) as JsonValue;
  } catch {
    return json;
  }
}
