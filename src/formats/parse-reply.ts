import { GatewayError } from '../errors.ts';
import { countValues, parseFlat, valueCost } from '../json.ts';
import { closeCutJson } from './cut-json.ts';
import { failureOf } from './failure.ts';
import { findErrorInReply, type ReplyHead } from './format.ts';
import type { FormatName } from './types.ts';

/** Largest part of a body without its pictures, in bytes. */
export const maxBytes = 256 * 1024 * 1024;

/** Values of one text of JSON: parsed, it takes no more memory than the largest text. */
const maxValues = maxBytes / valueCost;

/** What a body, or an event of it, held. */
interface ReadText {
  text: string;
  /** Why the text ended early, if it did. */
  cut: GatewayError | undefined;
  /** Bytes of it are not UTF-8. */
  damage?: GatewayError | undefined;
}

/** Parses a JSON reply. A body that only lacks its end gives what came, with the error that says so. Throws bad-reply. */
export function parseReply(
  body: ReadText,
  reply: ReplyHead,
  format: FormatName,
): { value: unknown; cut: GatewayError | undefined } {
  const text = body.text.trim();
  if (text === '') {
    if (body.cut) return { value: undefined, cut: body.cut };
    throw new GatewayError('bad-reply', 'the reply is empty', { status: reply.status, sent: 'yes', retryable: false });
  }
  if (text.length > maxValues && countValues(text) > maxValues)
    throw new GatewayError('bad-reply', `the reply holds more than ${maxValues} values`, { sent: 'yes' });
  try {
    const value: unknown = parseFlat(text);
    throwErrorInside(value, { text, reply, format });
    return { value, cut: body.damage };
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    return parseCut(text, body.cut, { reply, format });
  }
}

function throwErrorInside(
  value: unknown,
  { text, reply, format }: { text: string; reply: ReplyHead; format: FormatName },
): void {
  if (findErrorInReply(value)) throw failureOf({ status: reply.status, headers: reply.headers, body: text, format });
}

function parseCut(
  text: string,
  cut: GatewayError | undefined,
  { reply, format }: { reply: ReplyHead; format: FormatName },
) {
  const closed = closeCutJson(text);
  if (closed === undefined && cut === undefined) throw failureOf({ ...reply, body: text, format });
  const value: unknown = closed && parseFlat(closed.json);
  if (cut) return { value, cut };
  if (closed?.isWrong) return { value, cut: failureOf({ ...reply, body: text, format }) };
  const early = new GatewayError('incomplete', 'the reply ends in the middle', { status: reply.status, sent: 'yes' });
  return { value, cut: early };
}
