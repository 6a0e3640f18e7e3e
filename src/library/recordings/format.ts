import { isUtf8 } from 'node:buffer';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { splitNow } from '../files/lines.ts';
import { isObject, type JsonObject, type JsonValue, parseObject } from '../json.ts';

/** The end of an exchange: complete, by an early end of the connection, by a reset, or because its reader stopped. */
const endings = ['end', 'cut', 'reset', 'left'] as const;
export type RecordingEnd = (typeof endings)[number];

/** A request in a recording: members sorted by name, each long Base64 as its size and SHA-256. */
export interface RecordedRequest {
  method: string;
  /** The path below the base URL, with the query but without a key. */
  path: string;
  body: JsonValue;
}

/** First line of a recording. */
export interface RecordingHead {
  /** The digest of the gateway, as in `RequestName`. */
  scope: string;
  /** When the request was sent, ms since 1970. No two of one process have the same. */
  at: number;
  request: RecordedRequest;
}

/** A further line of a recording. */
export type RecordingLine =
  | { kind: 'reply'; status: number; headers: Record<string, string> }
  | { kind: 'chunk'; bytes: Uint8Array }
  | { kind: 'ended'; ended: RecordingEnd };

/** Encodes the first line; `request` is canonical JSON. */
export function encodeHead({ scope, at }: Pick<RecordingHead, 'scope' | 'at'>, request: string): string {
  return `{"recording":1,"scope":"${scope}","at":${at},"request":${request}}\n`;
}

/** Encodes a further line. A chunk is text if its bytes are UTF-8, otherwise Base64. */
export function encodeLine(line: RecordingLine): string {
  return `${JSON.stringify(listMembers(line))}\n`;
}

/** Names every member, so that no other property of an object is written. */
function listMembers(line: RecordingLine): JsonObject {
  if (line.kind === 'reply') return { status: line.status, headers: { ...line.headers } };
  if (line.kind === 'ended') return { ended: line.ended };
  const bytes = Buffer.from(line.bytes.buffer, line.bytes.byteOffset, line.bytes.byteLength);
  return isUtf8(bytes) ? { text: bytes.toString('utf8') } : { base64: bytes.toString('base64') };
}

/** Parses the first line; undefined if it is not one. */
export function parseHead(text: string): RecordingHead | undefined {
  const { recording, scope, at, request } = parseObject(text);
  if (recording !== 1 || !isObject(request)) return undefined;
  if (typeof scope !== 'string' || typeof at !== 'number') return undefined;
  const { method, path, body } = request;
  if (typeof method !== 'string' || typeof path !== 'string' || body === undefined) return undefined;
  // No sent request has control characters there.
  if (/\p{Cc}/u.test(method + path)) return undefined;
  return { scope, at, request: { method, path, body } };
}

/** Parses a further line; undefined if it is not one. */
export function parseRecordingLine(text: string): RecordingLine | undefined {
  const object = parseObject(text);
  const { text: chunk, base64, status, headers } = object;
  if (typeof chunk === 'string') return { kind: 'chunk', bytes: Buffer.from(chunk) };
  if (typeof base64 === 'string') return { kind: 'chunk', bytes: Buffer.from(base64, 'base64') };
  const ended = endings.find((ending): ending is RecordingEnd => ending === object['ended']);
  if (ended !== undefined) return { kind: 'ended', ended };
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599) return undefined;
  if (!isObject(headers)) return undefined;
  const entries = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return { kind: 'reply', status, headers: Object.fromEntries(entries) };
}

const blockBytes = 64 * 1024;

/**
 * The content of a file. Each block is read synchronously: turns through Node's threads take several times as long. The file is
 * closed before the last block is given, which is often the first: a reader that goes no further leaves none open.
 */
function* readBlocks(path: string): Generator<Buffer> {
  const fd = openSync(path, 'r');
  let block: Buffer;
  try {
    for (let left = fstatSync(fd).size; ; left -= block.length) {
      block = Buffer.allocUnsafe(Math.min(left, blockBytes));
      block = block.subarray(0, readSync(fd, block));
      if (block.length === 0 || block.length === left) break;
      yield block;
    }
  } finally {
    closeSync(fd);
  }
  yield block;
}

/**
 * The lines of a file, split only at line feeds: the text of a chunk can contain other separators. At most one line is in
 * memory. Throws errors of the system.
 */
export async function* readRecordingLines(path: string): AsyncGenerator<string> {
  let turnedAt = 0;
  for (const { text, offset } of splitNow(readBlocks(path))) {
    yield text;
    if (offset - turnedAt < blockBytes) continue;
    // Signals and other requests have their turn here.
    turnedAt = offset;
    await nextTurn();
  }
}

/** The first line of a file; empty if there is none. */
export function readFirstLine(path: string): string {
  for (const { text } of splitNow(readBlocks(path))) return text;
  return '';
}
