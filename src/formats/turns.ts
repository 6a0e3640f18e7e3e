import { usageError } from '../errors.ts';
import { isObject, type JsonObject } from '../json.ts';
import { type BodyValue, setFields } from '../body.ts';
import type { Ask, Media } from './ask.ts';

/*
 * A conversation in the words of no service. Its blocks are written as the messages format writes them, which has the most
 * kinds: text, image, document, tool_use, tool_result, thinking. A session file holds such turns.
 */

/** One turn. A string is one text. */
export interface Turn {
  role: 'user' | 'assistant';
  content: string | readonly BodyValue[];
  /** The service that wrote it: signatures go back to that one alone. */
  service?: string | undefined;
}

/** The turns of a list that the user wrote. Throws GatewayError usage for an entry that is not a turn. */
export function readTurns(list: readonly unknown[], place: string): Turn[] {
  const wrong = list.findIndex((entry) => !isTurn(entry));
  if (wrong < 0) return list as Turn[];
  throw usageError(
    `${place}: message ${wrong + 1} is not one of user or assistant with a content of text or blocks`,
    'for example: {"role":"user","content":"…"}; a system instruction is given apart from them',
  );
}

function isTurn(entry: unknown): boolean {
  if (!isObject(entry)) return false;
  const { role, content } = entry;
  const isContent = typeof content === 'string' || (Array.isArray(content) && content.every(isObject));
  return (role === 'user' || role === 'assistant') && isContent;
}

/** The blocks of a turn; what is not a block is left out. */
export function blocksOf({ content }: Pick<Turn, 'content'>): JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return content.filter((block): block is JsonObject => isObject(block));
}

/**
 * The content of the user's last turn, as a session keeps it; undefined where there is nothing in it. Images and documents are
 * in front of the text that speaks of them, as the documents of the messages format advise.
 */
export function lastTurn({
  prompt,
  media = [],
  results = [],
}: Pick<Ask, 'prompt' | 'media' | 'results'>): Turn['content'] | undefined {
  if (media.length === 0 && results.length === 0) return prompt;
  const text = prompt === undefined ? [] : [{ type: 'text', text: prompt }];
  return [...results, ...media.map(mediaBlock), ...text];
}

function mediaBlock({ mimeType, data, title }: Media): BodyValue {
  if (typeof data === 'string') {
    return setFields({ type: 'document', source: { type: 'text', media_type: 'text/plain', data } }, { title });
  }
  const source = { type: 'base64', media_type: mimeType, data };
  if (mimeType.toLowerCase().startsWith('image/')) return { type: 'image', source };
  return setFields({ type: 'document', source }, { title });
}
