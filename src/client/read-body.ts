import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../errors.ts';
import { field } from '../formats/fields.ts';
import { mostBytes } from '../formats/parse-reply.ts';
import { isObject, parseFlat } from '../json.ts';
import { divertBase64 } from '../scan/json-scan.ts';
import type { Base64Diversion } from '../scan/json-scan.ts';
import type { HttpReply } from '../transport/types.ts';

/** What a body held, and the error that ended it early. */
export interface ReadBody {
  text: string;
  /** Set when the connection ended before the body did. */
  cut: GatewayError | undefined;
  /** Set when bytes of it are no UTF-8: the text has replacements in their places. */
  damage?: GatewayError | undefined;
}

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

/** The first bytes of a body that are no white space (BOM included), and the body from its start. */
export async function peek(
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ head: Uint8Array; chunks: AsyncIterable<Uint8Array> }> {
  const iterator = chunks[Symbol.asyncIterator]();
  const seen: Uint8Array[] = [];
  let head: Uint8Array = new Uint8Array();
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    seen.push(Uint8Array.from(next.value));
    head = Buffer.concat(seen);
    if (head.byteLength >= enough || new TextDecoder().decode(head).trim().length >= longestMark) break;
  }
  return { head, chunks: rest(seen, iterator) };
}

/** White space in front of a reply ends somewhere; the sniffers need no more than this. */
const enough = 4096;

const longestMark = 'event:'.length;

/** No generator: that one would hear of a reader's leave only when the next chunk comes. */
function rest(seen: Uint8Array[], iterator: AsyncIterator<Uint8Array>): AsyncIterableIterator<Uint8Array> {
  return {
    next() {
      const value = seen.shift();
      return value === undefined ? iterator.next() : Promise.resolve({ done: false, value });
    },
    return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

const fieldNames = ['event:', 'data:', 'id:', 'retry:', ':'];

/**
 * Whether a body is a stream of server-sent events, whatever its Content-Type says (deviations 37 and 38).
 * Wants the first 16 bytes, or the whole body where it is shorter; a byte order mark and blank lines are passed over.
 */
export function looksLikeSse(firstBytes: Uint8Array): boolean {
  const start = new TextDecoder().decode(firstBytes.subarray(0, 64)).trimStart();
  return fieldNames.some((name) => start.startsWith(name));
}

/** An error of reading a reply, with where its request went and its status. Failures of this machine stay as they are. */
export function located(error: GatewayError, reply: Pick<HttpReply, 'request' | 'status'>): GatewayError;

export function located(error: unknown, reply: Pick<HttpReply, 'request' | 'status'>): unknown;

export function located(error: unknown, { request, status }: Pick<HttpReply, 'request' | 'status'>): unknown {
  if (
    request === undefined ||
    !(error instanceof GatewayError) ||
    error.details.sent !== 'yes' ||
    error.class === 'not-written'
  )
    return error;
  return error.with({ request, status });
}
