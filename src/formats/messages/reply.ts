import { GatewayError } from '../../errors.ts';
import { isObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import { field, objectField, textField } from '../fields.ts';
import { quote } from '../quote.ts';
import { decodeBlocks } from './block.ts';
import type { Block, MessageReply } from './types.ts';
import { addCounts, usageOf } from './usage.ts';

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
    hint: 'check the base URL and the model',
    reason: 'address',
    sent: 'yes',
    retryable: false,
  });
}
