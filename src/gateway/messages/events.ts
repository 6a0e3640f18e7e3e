import { isObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { listAt, objectAt, textAt } from '../fields/read.ts';
import { splitWords } from '../models/tokens.ts';

/** One server-sent event: its name is the `type` of its data. */
export interface StreamEvent {
  name: string;
  data: JsonObject;
  /** Sent instead of the event, for faults. */
  literal?: string;
}

const unfinished: JsonObject = { stop_reason: null, stop_sequence: null, stop_details: null };

/** Tool input is streamed in pieces of this many characters. */
const inputPiece = 12;

/**
 * A whole message as the events of its stream, in the order of the format: message_start, a ping after the first block
 * has begun, the deltas of each block, message_delta with the cumulative usage, message_stop.
 */
export function* messageEvents(message: JsonObject): Generator<StreamEvent> {
  const blocks = listAt(message, 'content').filter(isObject);
  const usage = objectAt(message, 'usage') ?? {};
  const { stop_reason, stop_sequence, stop_details } = message;
  const begun = { ...message, content: [], ...unfinished, usage: { ...usage, output_tokens: 1 } };
  yield event({ type: 'message_start', message: begun });
  if (blocks.length === 0) yield event({ type: 'ping' });
  for (const [index, block] of blocks.entries()) {
    yield event({ type: 'content_block_start', index, content_block: openBlock(block) });
    if (index === 0) yield event({ type: 'ping' });
    for (const delta of deltasOf(block)) yield event({ type: 'content_block_delta', index, delta });
    yield event({ type: 'content_block_stop', index });
  }
  const ended = { stop_reason, stop_sequence, stop_details };
  const delta = Object.fromEntries(Object.entries(ended).map(([name, value]) => [name, value ?? null]));
  yield event({ type: 'message_delta', delta, usage: finalUsage(usage) });
  yield event({ type: 'message_stop' });
}

/** An event as its bytes on the wire. JSON has no line breaks, so no text can end a field early. */
export function encodeEvent({ name, data, literal }: StreamEvent): string {
  if (literal !== undefined) return literal;
  const json = name === 'ping' ? '{"type": "ping"}' : JSON.stringify(data);
  return `event: ${name}\ndata: ${json}\n\n`;
}

/** An event whose name is its data's type. */
export function event(data: JsonObject): StreamEvent {
  return { name: textAt(data, 'type') ?? 'message', data };
}

function openBlock(block: JsonObject): JsonObject {
  switch (block['type']) {
    case 'text':
      return { type: 'text', text: '' };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'tool_use':
      return { ...block, input: {} };
    default:
      return block;
  }
}

function deltasOf(block: JsonObject): JsonObject[] {
  switch (block['type']) {
    case 'text':
      return splitWords(textAt(block, 'text') ?? '').map((text) => ({ type: 'text_delta', text }));
    case 'thinking':
      return [
        ...splitWords(textAt(block, 'thinking') ?? '').map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature: block['signature'] ?? '' },
      ];
    case 'tool_use':
      return inputPieces(block['input'] ?? {}).map((piece) => ({ type: 'input_json_delta', partial_json: piece }));
    default:
      return [];
  }
}

/** The first piece is empty, and input without fields stays empty, as on the wire. */
function inputPieces(input: JsonValue): string[] {
  const json = isObject(input) && Object.keys(input).length === 0 ? '' : JSON.stringify(input);
  const count = Math.ceil(json.length / inputPiece);
  return ['', ...Array.from({ length: count }, (_, index) => json.slice(index * inputPiece, (index + 1) * inputPiece))];
}

function finalUsage(usage: JsonObject): JsonObject {
  const names = [
    'input_tokens',
    'cache_creation_input_tokens',
    'cache_read_input_tokens',
    'output_tokens',
    'output_tokens_details',
  ];
  return Object.fromEntries(names.flatMap((name) => (usage[name] === undefined ? [] : [[name, usage[name]]])));
}
