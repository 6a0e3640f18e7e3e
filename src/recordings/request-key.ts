import { createHash, hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { codeOf, usageError } from '../errors.ts';
import { isObject, type JsonValue } from '../json.ts';
import type { HttpRequest, RequestBody } from '../transport/types.ts';
import { base64Length, isUpload, type Upload } from '../upload.ts';

/** Base64 up to this length stands in a recording as it is, in characters. */
const shortBase64 = 1024;

/** JSON that is nested deeper is not taken apart. */
const mostDepth = 500;

/** A request as it is looked up and shown. */
export interface RequestKey {
  /** SHA-256 of `text`, in hex. */
  hash: string;
  /** Canonical JSON of a RecordedRequest. */
  text: string;
  /**
   * SHA-256 in hex of who was asked: the base URL, the headers that the user set, and the versions of the interface that the
   * request names. Credentials are left out.
   */
  scope: string;
  /** Words for the file's name: operation and model. */
  label: string;
}

/**
 * Describes a request below a base URL. Files are read once, a piece at a time, for their digests.
 * Throws GatewayError usage when one cannot be read.
 */
export async function describeRequest(request: HttpRequest, base: URL): Promise<RequestKey> {
  const { method, url, body } = request;
  const path = pathBelow(url, base);
  const content = await readBody(body);
  const text = requestText(path, content, method);
  return { hash: sha256(text), text, scope: scopeOf(request, base), label: labelOf(path, content) };
}

function scopeOf({ headers, ownHeaders = {} }: HttpRequest, base: URL): string {
  const counted = Object.entries({ ...ownHeaders, ...headers })
    .filter(([name]) => name in ownHeaders || versionName.test(name))
    .filter(([name]) => !secretWord.test(name))
    .map(([name, value]) => [name, value] as const);
  const sorted = Object.fromEntries(counted.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return sha256(JSON.stringify([base.origin, base.pathname.replace(/\/$/, ''), sorted]));
}

/** Names of headers that carry the version of an interface; an SDK tells its own version and its runtime's too. */
const versionName = /^(?!x-stainless-).*-(?:version|beta)$/;

/** Names under which requests and replies carry credentials. */
export const secretWord = /cookie|authenticat|authorization|api-?key|secret|(?:^|-)token$|session/;

/** The text whose hash is a request's. */
export function requestText(path: string, body: JsonValue, method = 'POST'): string {
  return canonicalJson({ method, path, body });
}

/** Path and query; the base URL's prefix and a key in the query are no part of the request. */
function pathBelow({ pathname, searchParams }: URL, base: URL): string {
  const prefix = base.pathname.replace(/\/$/, '');
  const path = pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) : pathname;
  const query = new URLSearchParams([...searchParams].filter(([name]) => name !== 'key'));
  query.sort();
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

async function readBody(body: RequestBody): Promise<JsonValue> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const pieces: string[] = [];
  try {
    for (const segment of body.segments) {
      pieces.push(isUpload(segment) ? await uploadText(segment) : decoder.decode(segment, { stream: true }));
    }
    const value = JSON.parse(pieces.join('') + decoder.decode()) as JsonValue;
    canonicalJson(value);
    return value;
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError)) throw error;
    return foreignBody(body);
  }
}

/** What is not JSON that can be shown: nobody needs to read it to replay it. */
function foreignBody({ segments, bytes }: RequestBody): string {
  const sum = createHash('sha256');
  for (const segment of segments) if (!isUpload(segment)) sum.update(segment);
  return digestText(bytes, sum.digest('hex'));
}

async function uploadText({ source, bytes }: Upload): Promise<string> {
  const isShort = base64Length(bytes) <= shortBase64;
  if (typeof source !== 'string')
    return isShort ? Buffer.from(source).toString('base64') : digestText(bytes, sha256(source));
  try {
    if (isShort) return await readFile(source, 'base64');
    const sum = createHash('sha256');
    for await (const block of createReadStream(source)) sum.update(block as Buffer);
    return digestText(bytes, sum.digest('hex'));
  } catch (error) {
    throw usageError(`cannot read ${source} (${codeOf(error) ?? 'unknown error'})`, undefined, error);
  }
}

function labelOf(path: string, body: JsonValue): string {
  const [, model, action] = /\/models\/([^/?]+):([A-Za-z]+)/.exec(path) ?? [];
  const named = isObject(body) ? body['model'] : undefined;
  const place = path.startsWith('/v1/messages') ? 'messages' : (path.split('?')[0] ?? '');
  const words = action === undefined ? [place, typeof named === 'string' ? named : ''] : [action, model ?? ''];
  const plain = words
    .join('-')
    .slice(0, 80)
    .replaceAll(/[^A-Za-z0-9.]+/g, '-');
  return plain.replace(/^[-.]+/, '').replace(/[-.]+$/, '');
}

/**
 * JSON with the members of every object in order of their names, and each long Base64 string as its size and SHA-256: equal
 * requests have equal texts, whoever wrote them. Throws RangeError for what is nested too deeply.
 */
function canonicalJson(value: JsonValue, depth = 0): string {
  if (depth > mostDepth) throw new RangeError('nested too deeply');
  if (typeof value === 'string') return JSON.stringify(shortened(value));
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, depth + 1)).join(',')}]`;
  // JSON has no such number: to write null for it would make two requests equal.
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError('a number is out of range');
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] as JsonValue, depth + 1)}`);
  return `{${members.join(',')}}`;
}

/** What stands for bytes that are too long to show: `sha256sum` of the file gives the same digest. */
function digestText(bytes: number, sha256: string): string {
  return `<${bytes} bytes, sha256 ${sha256}>`;
}

/** SHA-256 in hex. */
export function sha256(content: string | Uint8Array): string {
  return hash('sha256', content);
}

/** The same value with each long Base64 string as its size and SHA-256. */
export function shortenedJson(value: JsonValue): JsonValue {
  return JSON.parse(canonicalJson(value)) as JsonValue;
}

function shortened(text: string): string {
  if (text.length <= shortBase64 || text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return text;
  const bytes = Buffer.from(text, 'base64');
  // Another text of the same bytes is another request.
  if (bytes.toString('base64') !== text) return text;
  return digestText(bytes.length, sha256(bytes));
}
