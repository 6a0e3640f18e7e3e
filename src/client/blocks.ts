import { textField, objectField } from '../formats/fields.ts';
import { isObject, type JsonObject, type JsonValue, parseFlat } from '../json.ts';

/** A content block of a reply, while it arrives and afterwards. */
export interface Block {
  /** `text`, `thinking`, `code`, or the type that the wire gives it. */
  readonly kind: string;
  /** Its text is for people: `text`, `thinking` or `code`. Else `text` is the JSON of a call's input. */
  readonly isText: boolean;
  /** The block as it began. */
  readonly start: JsonObject;
  /** Its number for readers; undefined where they are not shown it. */
  readonly position: number | undefined;
  /** Base64 that came in it, or the placeholder for it, and its type. */
  readonly data?: string | undefined;
  readonly mimeType?: string | undefined;
  text: string;
  signature?: string | undefined;
  citations: JsonValue[];
  /** Begun by its text: the next block without an index ends it. */
  isImplicit?: boolean;
  /** Whether all input of a call came, where the decoder knows it. */
  isWhole?: boolean;
}

/** Begins a block. Null is absent in it (deviation 9), and a later turn that repeated it would be refused. */
export function openBlock(raw: JsonObject, position: number | undefined): Block {
  const start = Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== null));
  const kind = textField(start, 'type') ?? '';
  const isText = kind === 'text' || kind === 'thinking' || kind === 'code';
  const citations = start['citations'];
  return {
    kind,
    isText,
    start,
    position,
    ...blobOf(start),
    text: (isText && kind !== 'code' && textField(start, kind)) || '',
    citations: Array.isArray(citations) ? [...citations] : [],
  };
}

/** A block with bytes, such as an image, is of no official reply; gateways add it (deviation 5). */
function blobOf(start: JsonObject): Pick<Block, 'data' | 'mimeType'> {
  const source = objectField(start, 'source');
  const data = source && textField(source, 'data');
  if (!source || data === undefined || source['type'] === 'text') return {};
  return { data, mimeType: textField(source, 'mediaType') ?? textField(source, 'mimeType') };
}

/** The block as far as it came, in the words of a turn. Tool input that was cut stays the string it was (formats 4). */
export function closeBlock({ kind, start, text, signature, citations }: Block): JsonObject {
  const signed = signature === undefined ? {} : { signature };
  if (kind === 'text') return { ...start, text, ...(citations.length > 0 && { citations }), ...signed };
  if (kind === 'thinking') return { ...start, thinking: text, ...signed };
  if (kind === 'code') return { type: 'text', text };
  const input = 'input' in start || text !== '' || kind === 'tool_use' ? { input: inputOf(text, start['input']) } : {};
  return { ...start, ...input, ...signed };
}

function inputOf(json: string, atStart: JsonValue | undefined): JsonValue {
  if (json.trim() === '') return atStart ?? {};
  try {
    return parseFlat(json) as JsonValue;
  } catch {
    return json;
  }
}

/** Empty text, a call whose input was cut, and pictures of a gateway's own making are refused in an assistant turn. */
export function isReplayable(block: Block): boolean {
  if (block.kind === 'text') return block.text !== '';
  if (block.data !== undefined) return false;
  const { input, id } = closeBlock(block);
  if (block.kind === 'tool_use') return block.isWhole ?? (isObject(input) && id !== undefined);
  return typeof input !== 'string';
}
