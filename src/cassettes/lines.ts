import { isUtf8 } from 'node:buffer';
import { isObject, type JsonObject, parseObject } from '../json.ts';
import { type CassetteHead, type CassetteLine, type Ended, endings } from './types.ts';

/** The first line; `request` is canonical JSON, kept as it is. */
export function encodeHead(hash: string, request: string): string {
  return `{"cassette":1,"hash":"${hash}","request":${request}}\n`;
}

/** One line of a cassette. A chunk is text where its own bytes are UTF-8, else Base64. */
export function encodeLine(line: CassetteLine): string {
  return `${JSON.stringify(membersOf(line))}\n`;
}

/** Names every member: nothing else that an object may carry gets into a file. */
function membersOf(line: CassetteLine): JsonObject {
  const { delay } = line;
  if (line.kind === 'reply') return { status: line.status, headers: { ...line.headers }, delay };
  if (line.kind === 'ended') return { ended: line.ended, delay };
  const bytes = Buffer.from(line.bytes.buffer, line.bytes.byteOffset, line.bytes.byteLength);
  return isUtf8(bytes) ? { delay, text: bytes.toString('utf8') } : { delay, base64: bytes.toString('base64') };
}

/** Reads the first line; undefined when it is none. */
export function parseHead(text: string): CassetteHead | undefined {
  const { cassette, hash, request } = parseObject(text);
  if (cassette !== 1 || typeof hash !== 'string' || !isObject(request)) return undefined;
  const { method, path, body } = request;
  if (typeof method !== 'string' || typeof path !== 'string' || body === undefined) return undefined;
  return { cassette, hash, request: { method, path, body } };
}

/** Reads a further line; undefined when it is none. */
export function parseLine(text: string): CassetteLine | undefined {
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

function parseReply({ status, headers }: JsonObject, delay: number): CassetteLine | undefined {
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599) return undefined;
  if (!isObject(headers)) return undefined;
  const entries = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return { kind: 'reply', status, headers: Object.fromEntries(entries), delay };
}
