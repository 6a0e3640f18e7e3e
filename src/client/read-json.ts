import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../errors.ts';
import { field } from '../formats/fields.ts';
import { isObject, parseFlat } from '../json.ts';
import { divertBase64 } from '../scan/json-scan.ts';
import type { Base64Diversion } from '../transport/types.ts';

/** What a body held, and the error that ended it early. */
export interface ReadBody {
  text: string;
  /** Set when the connection ended before the body did. */
  cut: GatewayError | undefined;
  /** Set when bytes of it are no UTF-8: the text has replacements in their places. */
  damage?: GatewayError | undefined;
}

/** Largest part of a body that is no picture, in bytes. */
export const mostBytes = 256 * 1024 * 1024;

/** Characters of a reply that cannot hold too many values. */
const mostPlain = 1024 * 1024;

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

/** Whether the connection ended before the reply did. */
export function isCut(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.class === 'incomplete';
}

/** A reply of the content format with nothing odd about it; undefined for all others. */
export function readPlain({ text, cut, damage }: ReadBody): { value: unknown; cut: undefined } | undefined {
  if (cut !== undefined || damage !== undefined || text.length > mostPlain) return undefined;
  try {
    const value = parseFlat(text);
    const isPlain = isObject(value) && field(value, 'candidates') !== undefined && !isObject(value['error']);
    return isPlain ? { value, cut: undefined } : undefined;
  } catch {
    return undefined;
  }
}

/** Nothing, or the `{}` that is left of a reply that was cut at its beginning. */
export function isBare(value: unknown): boolean {
  return value === undefined || (isObject(value) && Object.keys(value).length === 0);
}
