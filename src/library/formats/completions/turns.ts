import { isObject, type JsonObject, type JsonValue, objectField, textField, valueCost } from '../../json.ts';
import { type Body, type BodyValue, setFields } from '../../body.ts';
import { customCall } from './calls.ts';
import { encodePart, encodeUserTurn, type PartWords, textParts } from '../openai-parts.ts';
import { getTurnBlocks, toList, type Turn, withTitleAbove } from '../plain-request.ts';

/**
 * A turn as messages of this format: each result of a tool is a message of its own, in front of the user's text. Thinking that a
 * service signed goes back only to that service; other thinking is left out.
 */
export function turnMessages(turn: Turn, service: string): Body[] {
  const blocks = getTurnBlocks(turn);
  if (turn.role === 'assistant') return assistantMessages(blocks, turn.service === service);
  return encodeUserTurn(blocks, resultMessage, chatParts);
}

function assistantMessages(blocks: readonly JsonObject[], isOwn: boolean): Body[] {
  // Services such as OpenRouter take back the pictures that they sent.
  const pictures = isOwn ? blocks.filter(isPicture) : [];
  const images = pictures.flatMap((picture) => encodePart(picture, chatParts));
  const text = blocks
    .filter((block) => !pictures.includes(block))
    .map(flattenToText)
    .join('');
  const isBlank = text.trim() === '';
  const calls = blocks.filter(({ type }) => type === 'tool_use').map((block) => encodeToolCall(block, isOwn));
  if (isBlank && calls.length === 0 && images.length === 0) return [];
  // The format's own documents have `null` for a message that calls tools and has no text.
  const said = {
    role: 'assistant',
    content: isBlank ? null : text,
    ...(images.length > 0 && { images }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const thinking = isOwn ? blocks.find(({ type }) => type === 'thinking') : undefined;
  return [{ ...said, ...(thinking && thinkingFields(thinking, said)) }];
}

/** An image whose bytes are there. */
function isPicture(block: JsonObject): boolean {
  return block['type'] === 'image' && objectField(block, 'source')?.['type'] === 'base64';
}

function encodeToolCall(block: JsonObject, isOwn: boolean): Body {
  const input = block['input'] ?? {};
  const signature = isOwn ? textField(block, 'signature') : undefined;
  if (signature === customCall && isObject(input)) {
    const custom = { name: block['name'] ?? '', input: input['input'] ?? '' };
    return setFields({ type: 'custom', custom }, { id: block['id'] });
  }
  const called = { name: block['name'] ?? '', arguments: typeof input === 'string' ? input : JSON.stringify(input) };
  // Gemini refuses a call of its own that comes back without its signature.
  const extra = signature === undefined ? undefined : { google: { thought_signature: signature } };
  return setFields({ type: 'function', function: called }, { id: block['id'], extra_content: extra });
}

/** A result of a tool is text in this format: an image in it is only mentioned. */
function resultMessage(block: JsonObject): Body {
  const content = block['content'] ?? '';
  const text =
    typeof content === 'string'
      ? content
      : getTurnBlocks({ content: toList(content) })
          .map(flattenToText)
          .join('\n');
  return setFields({ role: 'tool', content: text }, { tool_call_id: block['tool_use_id'] });
}

/** The text of a block, for a place where only text is allowed. */
function flattenToText(block: JsonObject): string {
  const { type } = block;
  if (type === 'text') return textField(block, 'text') ?? '';
  if (type !== 'image' && type !== 'document') return '';
  const source = objectField(block, 'source') ?? {};
  if (source['type'] === 'text') return withTitleAbove(textField(source, 'data') ?? '', textField(block, 'title'));
  return `[${type}: ${textField(source, 'url') ?? textField(source, 'mediaType') ?? 'not shown'}]`;
}

/** The parts of a turn in this format. */
export const chatParts: PartWords = {
  text: 'text',
  stored: (id) => ({ type: 'file', file: { file_id: id } }),
  linked: filePart,
  inline: filePart,
};

function filePart(url: BodyValue, isImage: boolean, title = 'document.pdf'): Body {
  if (isImage) return { type: 'image_url', image_url: { url } };
  return { type: 'file', file: { filename: title, file_data: url } };
}

/**
 * Adds one of OpenRouter's `reasoning_details`. In a stream its text comes in pieces, and its signature with the last piece; they
 * are joined, since the whole detail goes back. Returns how many more characters are kept.
 */
export function addDetail(details: JsonObject[], piece: JsonObject, isWhole: boolean): number {
  const detail = Object.fromEntries(Object.entries(piece).filter(([, value]) => value !== null));
  const last = details.at(-1);
  const key = 'summary' in { ...last, ...detail } ? 'summary' : 'text';
  if (isWhole || !last || 'data' in detail || last['type'] !== piece['type'] || last['index'] !== piece['index'])
    details.push(detail);
  else Object.assign(last, detail, { [key]: (textField(last, key) ?? '') + (textField(detail, key) ?? '') });
  return valueCost + JSON.stringify(detail).length;
}

/** The text of details, for a service that has its thinking only there. */
export function detailsText(details: readonly JsonObject[]): string {
  return details.map((detail) => textField(detail, 'text') ?? textField(detail, 'summary') ?? '').join('');
}

/**
 * The place of the thinking of a completion: one of the fields `reasoning_content` and `reasoning`, the tags of its text, or a
 * part of its content.
 */
export type ThinkingPlace = 'reasoning_content' | 'reasoning' | '<think>' | 'thinking';

/** The signature of a block of thinking, with which it can go back to its service: the details that came with it, or its place. */
export function encodeSignature(details: readonly JsonObject[], place: ThinkingPlace | undefined): string | undefined {
  return details.length > 0 ? JSON.stringify(details) : place;
}

/**
 * The fields of a message in which the thinking of a block goes back. DeepSeek, Moonshot and OpenRouter want it with every message; in
 * the other places it goes with calls alone, from which the model thinks on.
 */
function thinkingFields(block: JsonObject, { content, tool_calls: calls }: SaidParts): Body {
  const { signature, thinking = '' } = block;
  if (typeof signature !== 'string' || typeof thinking !== 'string') return {};
  switch (signature as ThinkingPlace) {
    case 'reasoning_content':
      return { reasoning_content: thinking };
    case 'reasoning':
      return calls ? { reasoning: thinking } : {};
    case '<think>':
      return calls ? { content: `<think>${thinking}</think>${content === null ? '' : `\n\n${content}`}` } : {};
    case 'thinking':
      return calls
        ? {
            content: [
              { type: 'thinking', thinking: textParts(thinking, chatParts) },
              ...textParts(content ?? '', chatParts),
            ],
          }
        : {};
    default:
      return readDetails(signature);
  }
}

interface SaidParts {
  content: string | null;
  tool_calls?: Body[];
}

/** Empty for the signature of another format. */
function readDetails(signature: string): Body {
  try {
    const details: unknown = JSON.parse(signature);
    return Array.isArray(details) ? { reasoning_details: details as JsonValue[] } : {};
  } catch {
    return {};
  }
}

/** DeepSeek refuses a conversation in which one message with calls lacks the field that another has; an empty one will do. */
export function completeThinking(messages: readonly BodyValue[]): BodyValue[] {
  if (!messages.some((message) => hasField(message, 'reasoning_content'))) return [...messages];
  return messages.map((message) => (hasField(message, 'tool_calls') ? { reasoning_content: '', ...message } : message));
}

function hasField(message: BodyValue, name: string): message is Body {
  return isObject(message) && name in message;
}
