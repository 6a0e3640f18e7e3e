import { isObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
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
export function decodeBlock(block: JsonObject): Block {
  const raw = withoutNulls(block);
  const type = textField(raw, 'type') ?? '';
  if (type === 'text') return { kind: 'text', text: textField(raw, 'text') ?? '', raw };
  if (type === 'thinking') return { kind: 'thinking', text: textField(raw, 'thinking') ?? '', raw };
  if (type === 'tool_use') return callBlock(raw);
  return (type === 'image' ? imageBlock(raw) : undefined) ?? { kind: 'other', type, raw };
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

/** An image block is of no official reply; gateways add it (deviation 5). */
function imageBlock(raw: JsonObject): Block | undefined {
  const source = objectField(raw, 'source');
  const data = source && textField(source, 'data');
  if (!source || data === undefined) return undefined;
  return { kind: 'image', mimeType: textField(source, 'mediaType') ?? textField(source, 'mimeType'), data, raw };
}

/** Null is absent (deviation 9), and a later turn that repeated it would be refused. */
function withoutNulls(block: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(block).filter(([, value]) => value !== null));
}
