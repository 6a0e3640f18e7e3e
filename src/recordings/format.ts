import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { isObject, type JsonObject, type JsonValue, parseObject } from '../json.ts';

/** How an exchange ended: by itself, by an early end of the connection, by a reset, or because the reader left. */
const endings = ['end', 'cut', 'reset', 'left'] as const;
export type Ended = (typeof endings)[number];

/** A request as a recording shows it: members in order of their names, each long Base64 as its size and SHA-256. */
export interface RecordedRequest {
  method: string;
  /** Below the base URL, with the query but without a key. */
  path: string;
  body: JsonValue;
}

/** First line of a recording. */
export interface RecordingHead {
  /** SHA-256 of the request line as it stands here, in hex, before anything in it was masked. */
  hash: string;
  /** Who was asked, as `RequestKey` has it; the first recordings do not tell. */
  scope: string | undefined;
  /** When the request went out, ms since 1970; the first recordings do not tell. */
  at: number | undefined;
  request: RecordedRequest;
}

/** Every further line; `delay` is the time since the line before, in ms. */
export type RecordingLine =
  | { kind: 'reply'; status: number; headers: Record<string, string>; delay: number }
  | { kind: 'chunk'; bytes: Uint8Array; delay: number }
  | { kind: 'ended'; ended: Ended; delay: number };

/** The first line; `request` is canonical JSON, kept as it is. */
export function encodeHead({ hash, scope, at }: Pick<RecordingHead, 'hash' | 'scope' | 'at'>, request: string): string {
  return `{"recording":1,"hash":"${hash}","scope":"${scope}","at":${at},"request":${request}}\n`;
}

/** One line of a recording. A chunk is text where its own bytes are UTF-8, else Base64. */
export function encodeLine(line: RecordingLine): string {
  return `${JSON.stringify(membersOf(line))}\n`;
}

/** Names every member: nothing else that an object may carry gets into a file. */
function membersOf(line: RecordingLine): JsonObject {
  const { delay } = line;
  if (line.kind === 'reply') return { status: line.status, headers: { ...line.headers }, delay };
  if (line.kind === 'ended') return { ended: line.ended, delay };
  const bytes = Buffer.from(line.bytes.buffer, line.bytes.byteOffset, line.bytes.byteLength);
  return isUtf8(bytes) ? { delay, text: bytes.toString('utf8') } : { delay, base64: bytes.toString('base64') };
}

/** Reads the first line; undefined when it is none. */
export function parseHead(text: string): RecordingHead | undefined {
  // The member was called cassette at first.
  const { cassette, recording = cassette, hash, scope, at, request } = parseObject(text);
  if (recording !== 1 || typeof hash !== 'string' || !isObject(request)) return undefined;
  const { method, path, body } = request;
  if (typeof method !== 'string' || typeof path !== 'string' || body === undefined) return undefined;
  return {
    hash,
    scope: typeof scope === 'string' ? scope : undefined,
    at: typeof at === 'number' ? at : undefined,
    request: { method, path, body },
  };
}

/** Reads a further line; undefined when it is none. */
export function parseLine(text: string): RecordingLine | undefined {
  const object = parseObject(text);
  const { delay = 0 } = object;
  if (typeof delay !== 'number' || !(delay >= 0)) return undefined;
  if (typeof object['text'] === 'string') return { kind: 'chunk', bytes: Buffer.from(object['text']), delay };
  if (typeof object['base64'] === 'string') {
    return { kind: 'chunk', bytes: Buffer.from(object['base64'], 'base64'), delay };
  }
  const ended = endings.find((ending): ending is Ended => ending === object['ended']);
  if (ended !== undefined) return { kind: 'ended', ended, delay };
  return parseReply(object, delay);
}

function parseReply({ status, headers }: JsonObject, delay: number): RecordingLine | undefined {
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599) return undefined;
  if (!isObject(headers)) return undefined;
  const entries = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return { kind: 'reply', status, headers: Object.fromEntries(entries), delay };
}

/**
 * The lines of a file, split at line feeds alone: the text of a chunk may hold other separators. One line at most waits in
 * memory. Throws what the system says.
 */
export async function* readLines(path: string): AsyncGenerator<string> {
  let pieces: Buffer[] = [];
  for await (const block of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = block.indexOf(10); at >= 0; at = block.indexOf(10, from)) {
      yield Buffer.concat([...pieces, block.subarray(from, at)]).toString('utf8');
      pieces = [];
      from = at + 1;
    }
    if (from < block.length) pieces.push(block.subarray(from));
  }
  if (pieces.length > 0) yield Buffer.concat(pieces).toString('utf8');
}

/** The first line of a file, or nothing. */
export async function readFirstLine(path: string): Promise<string> {
  for await (const line of readLines(path)) return line;
  return '';
}
