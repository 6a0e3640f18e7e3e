import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../errors.ts';
import { countValues, valueCost } from '../formats/count-values.ts';
import { closeCutJson } from '../formats/cut-json.ts';
import { failureOf } from '../formats/failure.ts';
import { findErrorInReply } from '../formats/error-body.ts';
import { isObject } from '../json.ts';
import { divertBase64 } from '../scan/json-scan.ts';
import type { Base64Diversion, HttpReply } from '../transport/types.ts';

/** What a body held, and the error that ended it early. */
export interface ReadBody {
  text: string;
  /** Set when the connection ended before the body did. */
  cut: GatewayError | undefined;
  /** Set when bytes of it are no UTF-8: the text has replacements in their places. */
  damage?: GatewayError | undefined;
}

/** Largest part of a body that is no picture, in bytes. */
const mostBytes = 256 * 1024 * 1024;

/** Reads a body whose long Base64 strings go to the store; what is left is small. Throws bad-reply, not-written, or the abort. */
export async function readDiverted(chunks: AsyncIterable<Uint8Array>, store: Base64Diversion): Promise<ReadBody> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  let cut: GatewayError | undefined;
  try {
    for await (const part of divertBase64(chunks, store)) {
      bytes += part.byteLength;
      if (bytes > mostBytes)
        throw new GatewayError('bad-reply', `the reply is larger than ${mostBytes} bytes`, { sent: 'yes' });
      parts.push(new Uint8Array(part));
    }
  } catch (error) {
    if (!isCut(error)) throw error;
    cut = error;
  }
  const whole = Buffer.concat(parts);
  const damage =
    cut || isUtf8(whole)
      ? undefined
      : new GatewayError('bad-reply', 'the reply is not UTF-8', { sent: 'yes', retryable: false });
  return { text: new TextDecoder().decode(whole), cut, damage };
}

/** Values of one text of JSON: parsed, it takes no more memory than the largest text. */
const mostValues = mostBytes / valueCost;

/** Whether the connection ended before the reply did. */
export function isCut(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.class === 'incomplete';
}

/** Parses a JSON reply. A body that only lacks its end gives what came, with the error that says so. Throws bad-reply. */
export function parseReply(
  body: ReadBody,
  reply: HttpReply,
  format: 'content' | 'messages',
): { value: unknown; cut: GatewayError | undefined } {
  const text = body.text.trim();
  if (text === '') {
    if (body.cut) return { value: undefined, cut: body.cut };
    throw new GatewayError('bad-reply', 'the reply is empty', { status: reply.status, sent: 'yes', retryable: false });
  }
  if (text.length > mostValues && countValues(text) > mostValues)
    throw new GatewayError('bad-reply', `the reply holds more than ${mostValues} values`, { sent: 'yes' });
  try {
    const value: unknown = JSON.parse(text);
    throwErrorInside(value, { text, reply, format });
    return { value, cut: body.damage };
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    return parseCut(text, body.cut, { reply, format });
  }
}

function throwErrorInside(
  value: unknown,
  { text, reply, format }: { text: string; reply: HttpReply; format: 'content' | 'messages' },
): void {
  if (findErrorInReply(value)) throw failureOf({ status: reply.status, headers: reply.headers, body: text, format });
}

function parseCut(
  text: string,
  cut: GatewayError | undefined,
  { reply, format }: { reply: HttpReply; format: 'content' | 'messages' },
) {
  const closed = closeCutJson(text);
  if (closed === undefined && cut === undefined) throw failureOf({ ...reply, body: text, format });
  const value: unknown = closed && JSON.parse(closed.json);
  if (cut) return { value, cut };
  if (closed?.isWrong) return { value, cut: failureOf({ ...reply, body: text, format }) };
  const early = new GatewayError('incomplete', 'the reply ends in the middle', { status: reply.status, sent: 'yes' });
  return { value, cut: early };
}

/** Nothing, or the `{}` that is left of a reply that was cut at its beginning. */
export function isBare(value: unknown): boolean {
  return value === undefined || (isObject(value) && Object.keys(value).length === 0);
}
