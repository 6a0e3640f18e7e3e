import { field, isObject, type JsonObject, type JsonValue, numberField, objectField, textField } from '../../json.ts';
import { foreignReply } from '../bad-reply.ts';
import type { ReplyEvent, Usage } from '../events.ts';

/**
 * Reads a whole messages-format reply as gateways are known to send it (formats 3 and 6): content as a string, nulls, image
 * blocks, wrapped in an array or in `response`, `message` or `data`. Throws bad-reply when it is no message.
 */
export function readMessage(json: unknown): ReplyEvent[] {
  const message = unwrap(json);
  if (!message) throw foreignReply(json, 'messages');
  return [
    {
      type: 'start',
      id: textField(message, 'id'),
      model: textField(message, 'model'),
      role: textField(message, 'role'),
    },
    ...blockEvents(message['content']),
    {
      type: 'candidate',
      reason: textField(message, 'stopReason') || undefined,
      sequence: textField(message, 'stopSequence'),
      details: field(message, 'stopDetails'),
    },
    ...usageEvents(addCounts({}, objectField(message, 'usage'))),
    ...tierEvents(message),
  ];
}

/** The service tier that a message names, in its usage or beside it. */
export function tierEvents(message: JsonObject): ReplyEvent[] {
  const usage = objectField(message, 'usage');
  const tier = (usage && textField(usage, 'serviceTier')) ?? textField(message, 'serviceTier');
  return tier ? [{ type: 'tier', tier }] : [];
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

/** The blocks of a message, or a plain string (deviation 43). What is no block is skipped. */
function blockEvents(content: JsonValue | undefined): ReplyEvent[] {
  if (typeof content === 'string') return content === '' ? [] : wholeBlock({ type: 'text', text: content });
  if (!Array.isArray(content)) return [];
  return content.flatMap((raw) => {
    if (typeof raw === 'string') return wholeBlock({ type: 'text', text: raw });
    return isObject(raw) ? wholeBlock(raw) : [];
  });
}

function wholeBlock(raw: JsonObject): ReplyEvent[] {
  return [{ type: 'block-start', raw }, { type: 'block-stop' }];
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

/** The counts as all formats name them. The total counts the cache too, which inputTokens of this format leaves out (formats 3). */
export function usageEvents(counts: MessageCounts): ReplyEvent[] {
  const { input, output, thinking, cacheRead, cacheWrite } = counts;
  if (Object.values(counts).every((count) => count === undefined)) return [];
  const isKnown = input !== undefined && output !== undefined;
  const usage: Usage = {
    inputTokens: input,
    outputTokens: output,
    thinkingTokens: thinking,
    cachedInputTokens: cacheRead,
    ...(cacheWrite !== undefined && { cacheWriteInputTokens: cacheWrite }),
    totalTokens: isKnown ? input + output + (cacheRead ?? 0) + (cacheWrite ?? 0) : undefined,
  };
  return [{ type: 'usage', usage }];
}
