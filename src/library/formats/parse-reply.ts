import { badReply, GatewayError, quoteForeign } from '../errors.ts';
import { countValues, isObject, type JsonObject, parseFlat, valueCost } from '../json.ts';
import { closeCutJson } from './cut-json.ts';
import { parseOrNothing } from './error-body.ts';
import { readFailedReply } from './failure.ts';
import { findErrorInReply, formatFacts, holdsAnswer, type ReplyHead } from './format.ts';
import type { FormatName } from './types.ts';

/** Largest part of a body without its images, in bytes. */
export const maxBytes = 256 * 1024 * 1024;

/** Values of one text of JSON: parsed, it takes no more memory than the largest text. */
const maxValues = maxBytes / valueCost;

/** The limit is far below the length of a string in V8 (512 Mi): a document has the text several times, with escapes. */
const maxCharacters = 64 * 1024 * 1024;

/** Values of one event: parsed, it takes no more memory than the longest answer. */
const maxEventValues = maxCharacters / valueCost;

/** The text of a body, or of an event in it. */
export interface ReadText {
  text: string;
  /** The error that cut the text, if there was one. */
  cut: GatewayError | undefined;
  /** The bytes are not all UTF-8: the text has replacements in their places. */
  damage?: GatewayError | undefined;
}

/**
 * Parses a JSON reply. A body that only lacks its end gives its parts, with an error, and so does an answer with an error beside
 * it. Throws bad-reply, and the error of a body that has nothing else.
 */
export function parseReply(
  body: ReadText,
  reply: ReplyHead,
  format: FormatName,
): { value: unknown; cut: GatewayError | undefined } {
  const text = body.text.trim();
  if (text === '') {
    if (body.cut) return { value: undefined, cut: body.cut };
    throw badReply('the reply is empty', { status: reply.status });
  }
  if (text.length > maxValues && countValues(text) > maxValues)
    throw new GatewayError('bad-reply', `the reply holds more than ${maxValues} values`, { sent: 'yes' });
  const failure = (): GatewayError => readFailedReply({ ...reply, body: text, format });
  try {
    const value = parseFlat(text);
    if (!findErrorInReply(value)) return { value, cut: body.damage };
    // An answer beside the error was paid for, like the answer of a stream which fails later.
    if (holdsAnswer(value)) return { value, cut: failure().withDetails({ billed: 'unknown' }) };
    throw failure();
  } catch (error) {
    if (error instanceof GatewayError) throw error;
  }
  const closed = closeCutJson(text);
  if (closed === undefined && body.cut === undefined) throw failure();
  const value: unknown = closed && parseFlat(closed.json);
  if (body.cut) return { value, cut: body.cut };
  if (closed?.isWrong) return { value, cut: failure() };
  const early = new GatewayError('incomplete', 'the reply ends in the middle', { status: reply.status, sent: 'yes' });
  return { value, cut: early };
}

/**
 * The lines of a body that has a JSON object in each line: pieces of a stream, without the field names around them. Throws
 * GatewayError bad-reply for lines of Ollama's own format.
 */
export function jsonLines(text: string): string[] | undefined {
  const start = text.trimStart();
  const end = start.indexOf('\n');
  if (end < 0 || !start.startsWith('{') || start.slice(end).trim() === '') return undefined;
  const first = parseOrNothing(start.slice(0, end));
  const lines = isObject(first) ? start.split('\n').filter((line) => line.trim() !== '') : [];
  if (lines.length < 2) return undefined;
  if (isOllamas(first)) throw ollamasReply();
  return lines;
}

function isOllamas(piece: unknown): boolean {
  return isObject(piece) && 'done' in piece && ('message' in piece || 'response' in piece);
}

function ollamasReply(): GatewayError {
  return badReply("the reply is in Ollama's own format", { reason: 'ollama-path' });
}

/** Parses the data of an event. Throws GatewayError bad-reply if it is not JSON, or holds too many values. */
export function parseEventData(text: string): unknown {
  // A short text cannot hold that many values.
  if (text.length > maxEventValues && countValues(text) > maxEventValues)
    throw badReply(`an event of the stream holds more than ${maxEventValues} values`);
  try {
    return parseFlat(text);
  } catch (error) {
    throw badReply(`an event of the stream is not JSON: ${quoteForeign(text)}`, { cause: error });
  }
}

/** Whether the data of an event lacks only its end, since the body ended in it (deviation 33). */
export function isCutData(data: string): boolean {
  return '[DONE]'.startsWith(data) || closeCutJson(data)?.isWrong === false;
}

/** Throws GatewayError bad-reply for a reply that is larger than any answer. */
export function limitAnswer(characters: number): void {
  if (characters > maxCharacters) throw badReply(`the answer is longer than ${maxCharacters} characters`);
}

/** The reply in a JSON value: alone, first in a list, or in an object around it, at one of these keys (deviation 20). */
export function findReply(
  json: unknown,
  isReply: (value: JsonObject) => boolean,
  around: readonly string[] = ['response'],
): JsonObject | undefined {
  const value: unknown = Array.isArray(json) ? json[0] : json;
  if (!isObject(value)) return undefined;
  return [value, ...around.map((name) => value[name])].filter(isObject).find(isReply);
}

/** JSON that is not a reply of a format. */
export function foreignReply(json: unknown, format: FormatName): GatewayError {
  const piece: unknown = Array.isArray(json) ? json[0] : json;
  if (isOllamas(piece)) return ollamasReply();
  const keys = isObject(piece) ? Object.keys(piece).slice(0, 8).join(', ') : '';
  const found = keys === '' ? '' : `: it holds ${quoteForeign(keys)}`;
  return badReply(`the reply is JSON, but not a reply of ${formatFacts[format].title}${found}`, { reason: 'address' });
}
