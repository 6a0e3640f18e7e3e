import { isUtf8 } from 'node:buffer';
import { badReply, GatewayError } from '../errors.ts';
import { maxBytes, type ReadText } from '../formats/parse-reply.ts';
import { type Base64Diversion, divertBase64, divertedLength } from '../scan/json-scan.ts';
import { toReadableBody } from '../transport/readable-body.ts';

/** Whether the connection ended before the reply did. */
export function isCut(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.class === 'incomplete';
}

/** A body of one chunk. */
export async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** A body that breaks off ends there, and `onCut` gets the error: its last event may be cut and still hold text. */
export async function* untilCut(
  body: AsyncIterable<Uint8Array>,
  onCut: (error: GatewayError) => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    if (!isCut(error)) throw error;
    onCut(error);
  }
}

/** Reads the beginning of a body, until a byte comes that is not whitespace or a BOM. The chunks are added to `seen`. */
export async function peek(body: AsyncIterator<Uint8Array>, seen: Uint8Array[]): Promise<Uint8Array> {
  let head: Uint8Array = new Uint8Array();
  for (let next = await body.next(); !next.done; next = await body.next()) {
    seen.push(Buffer.from(next.value));
    head = joinChunks(seen);
    if (head.byteLength >= enough || utf8.decode(head).trim().length >= longestMark) break;
  }
  return head;
}

/** The limit for white space that is searched before a reply. */
const enough = 4096;
const longestMark = 'event:'.length;

const utf8 = new TextDecoder();

function joinChunks(chunks: readonly Uint8Array[]): Uint8Array {
  const [first, ...others] = chunks;
  return first && others.length === 0 ? first : Buffer.concat(chunks);
}

/** The chunks of a body that were seen, and then the rest. */
export function readOn(seen: Uint8Array[], body: AsyncIterator<Uint8Array>): AsyncIterableIterator<Uint8Array> {
  return toReadableBody(
    () => {
      const value = seen.shift();
      return value === undefined ? body.next() : Promise.resolve({ done: false, value });
    },
    () => body.return?.(),
  );
}

const firstLine = /^(?:(?:event|data|id|retry)?:|error:\s*\{)/;

/**
 * Whether a body is a stream of server-sent events, whatever its Content-Type says (deviations 37 and 38). Needs the first 16
 * bytes, or the whole body if it is shorter; a byte order mark and blank lines are skipped.
 */
export function looksLikeSse(firstBytes: Uint8Array): boolean {
  return firstLine.test(utf8.decode(firstBytes.subarray(0, 64)).trimStart());
}

/**
 * Reads the rest of a body and moves its long Base64 strings to the store; the remaining text is small. `parts` are the chunks
 * before it. Throws bad-reply, not-written, or the abort.
 */
export async function readDiverted(
  body: AsyncIterator<Uint8Array>,
  store: Base64Diversion,
  parts: Uint8Array[] = [],
): Promise<ReadText> {
  let bytes = parts.reduce((sum, part) => sum + part.byteLength, 0);
  let isWhole = false;
  let cut: GatewayError | undefined;
  try {
    while (!isWhole && bytes < divertedLength) {
      const next = await body.next();
      if (!next.done) parts.push(Buffer.from(next.value));
      bytes += next.value?.byteLength ?? 0;
      isWhole = next.done === true;
    }
    // A shorter body has no string that goes to the store.
    if (!isWhole) await divertParts(parts, body, store);
  } catch (error) {
    if (!isCut(error)) throw error;
    cut = error;
  }
  const whole = joinChunks(parts);
  const damage = cut || isUtf8(whole) ? undefined : badReply('the reply is not UTF-8');
  return { text: utf8.decode(whole), cut, damage };
}

/** Reads to the end, and keeps only the parts that do not go to the store. */
async function divertParts(
  parts: Uint8Array[],
  body: AsyncIterator<Uint8Array>,
  store: Base64Diversion,
): Promise<void> {
  let bytes = 0;
  for await (const part of divertBase64(readOn(parts.splice(0), body), store)) {
    bytes += part.byteLength;
    if (bytes > maxBytes)
      throw new GatewayError('bad-reply', `the reply is larger than ${maxBytes} bytes`, { sent: 'yes' });
    parts.push(new Uint8Array(part));
  }
}
