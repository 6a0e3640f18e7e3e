import { isObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { decodeBlock } from './block.ts';
import type { Block } from './types.ts';

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
    return JSON.parse(json) as JsonValue;
  } catch {
    return json;
  }
}
