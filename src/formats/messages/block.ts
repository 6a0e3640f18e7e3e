import { isObject, type JsonObject, type JsonValue, parseFlat } from '../../json.ts';
import { objectField, textField } from '../fields.ts';
import type { Block } from './types.ts';

/** Reads the content of a message: blocks, or a plain string (deviation 43). What is no block is skipped. */
export function decodeBlocks(content: JsonValue | undefined): Block[] {
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
