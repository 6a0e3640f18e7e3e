import { createHash, hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { getErrorCode, usageError } from '../errors.ts';
import { isObject, type JsonValue } from '../json.ts';
import type { HttpRequest } from '../transport/types.ts';
import { base64Length, isUpload, type RequestBody, type Upload } from '../body.ts';

/** Base64 up to this length is recorded unchanged, in characters. */
const shortBase64 = 1024;

/** JSON that is nested deeper is recorded as a digest. */
const maxDepth = 500;

/** The key of a request among recordings. */
export interface RequestKey {
  /** SHA-256 of `text`, in hex. */
  hash: string;
  /** Canonical JSON of a RecordedRequest. */
  text: string;
  /**
   * SHA-256 in hex of what identifies the gateway: the base URL, the headers that the user set, and the API versions in the
   * request's headers, without credentials.
   */
  scope: string;
  /** For the file name: operation and model. */
  label: string;
}

/** Describes a request. Files are read for their digests. Throws GatewayError usage if one cannot be read. */
export async function describeRequest(request: HttpRequest): Promise<RequestKey> {
  const { method, url, body, base = new URL(url.origin) } = request;
  const path = pathBelow(url, base);
  const content = await readBodyJson(body);
  const text = requestText(path, withoutStore(path, content), method);
  return { hash: sha256(text), text, scope: getScope(request, base), label: makeLabel(path, content) };
}

/** Whether the service may keep a request does not shape its answer. */
function withoutStore(path: string, body: JsonValue): JsonValue {
  if (!isObject(body) || body['store'] !== false || !modelPath.test(path)) return body;
  const { store: _, ...rest } = body;
  return rest;
}

function getScope({ headers, ownHeaders = {} }: HttpRequest, base: URL): string {
  const counted = Object.entries({ ...ownHeaders, ...headers })
    .filter(([name]) => name in ownHeaders || versionName.test(name))
    .filter(([name]) => !secretWord.test(name))
    .map(([name, value]) => [name, value] as const);
  const sorted = Object.fromEntries(counted.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return sha256(JSON.stringify([base.origin, base.pathname.replace(/\/$/, ''), sorted]));
}

/** Names of headers with an API version, without those of an SDK's own version and runtime. */
const versionName = /^(?!x-stainless-).*-(?:version|beta)$/;

/** Names of headers and parameters with credentials. */
export const secretWord = /cookie|authenticat|authorization|api-?key|secret|(?:^|-)token$|session|^(?:code|sig)$/;

/** The text whose hash identifies a request. */
export function requestText(path: string, body: JsonValue, method = 'POST'): string {
  return canonicalJson({ method, path, body });
}

/** Path and query, without the base URL's prefix and a key in the query. */
function pathBelow({ pathname, searchParams }: URL, base: URL): string {
  const prefix = base.pathname.replace(/\/$/, '');
  const below = pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) : pathname;
  const path = withoutVersion.test(below) ? `/v1${below}` : below;
  const query = new URLSearchParams(
    [...searchParams].filter(([name]) => name !== 'key' && !secretWord.test(name.toLowerCase())),
  );
  query.sort();
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

/** Operations of OpenAI's formats behind a base URL that has the version, or none: they are the same as those behind `/v1`. */
const withoutVersion = /^\/(?:chat\/completions|responses|images\/(?:generations|edits))(?:\/|$)/;

async function readBodyJson(body: RequestBody): Promise<JsonValue> {
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
    return otherBody(body);
  }
}

/** A body that is not JSON, or cannot be shown, as a digest. */
async function otherBody({ segments, bytes }: RequestBody): Promise<string> {
  const sum = createHash('sha256');
  for (const segment of segments) {
    if (!isUpload(segment)) sum.update(segment);
    // A form has the bytes of a file as they are.
    else if (segment.file) for await (const block of readUpload(segment)) sum.update(block);
    else sum.update(await uploadText(segment));
  }
  return describeBytes(bytes, sum.digest('hex'));
}

async function uploadText(upload: Upload): Promise<string> {
  const isShort = base64Length(upload.bytes) <= shortBase64;
  const blocks: Uint8Array[] = [];
  const sum = createHash('sha256');
  for await (const block of readUpload(upload)) {
    if (isShort) blocks.push(block);
    else sum.update(block);
  }
  return isShort ? Buffer.concat(blocks).toString('base64') : describeBytes(upload.bytes, sum.digest('hex'));
}

async function* readUpload({ source }: Upload): AsyncGenerator<Uint8Array> {
  if (typeof source !== 'string') return yield source;
  try {
    yield* createReadStream(source) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw usageError(`cannot read ${source} (${getErrorCode(error) ?? 'unknown error'})`, undefined, error);
  }
}

/**
 * The model that a request names, or ''. A name with control characters is none: a recording can come from a stranger, and the
 * name goes into variables, lists and commands to paste.
 */
export function findRequestModel(path: string, body: unknown): string {
  const [, model] = modelPath.exec(path) ?? [];
  const name = model === undefined ? findModelName(body) : decodeOrEmpty(model);
  return /\p{Cc}/u.test(name) ? '' : name;
}

function decodeOrEmpty(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}

const modelPath = /\/models\/([^/?]+):([A-Za-z]+)/;

function findModelName(body: unknown): string {
  const model = isObject(body) ? body['model'] : undefined;
  return typeof model === 'string' ? model : '';
}

function makeLabel(path: string, body: JsonValue): string {
  const [, model = '', action] = modelPath.exec(path) ?? [];
  const place = path.startsWith('/v1/messages') ? 'messages' : (path.split('?')[0] ?? '');
  const words = action === undefined ? [place, findModelName(body)] : [action, model];
  const plain = words
    .join('-')
    .slice(0, 80)
    .replaceAll(/[^A-Za-z0-9.]+/g, '-');
  return plain.replace(/^[-.]+/, '').replace(/[-.]+$/, '');
}

/**
 * JSON with the members of every object sorted by name, and each long Base64 string as its size and SHA-256, so that equal
 * requests have equal texts. Throws RangeError if it is nested too deeply.
 */
function canonicalJson(value: JsonValue, depth = 0): string {
  if (depth > maxDepth) throw new RangeError('nested too deeply');
  if (typeof value === 'string') return JSON.stringify(shortenBase64(value));
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, depth + 1)).join(',')}]`;
  // JSON would have null, which would make two requests equal.
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError('a number is out of range');
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] as JsonValue, depth + 1)}`);
  return `{${members.join(',')}}`;
}

/** Replaces bytes that are too long to show: `sha256sum` of the file gives the same digest. */
function describeBytes(bytes: number, sha256: string): string {
  return `<${bytes} bytes, sha256 ${sha256}>`;
}

/** SHA-256 in hex. */
export function sha256(content: string | Uint8Array): string {
  return hash('sha256', content);
}

function shortenBase64(text: string): string {
  const [prefix = ''] = /^data:[^,]{0,200};base64,/.exec(text) ?? [];
  const data = text.slice(prefix.length);
  if (data.length <= shortBase64 || data.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return text;
  const bytes = Buffer.from(data, 'base64');
  // Another encoding of the same bytes is another request.
  if (bytes.toString('base64') !== data) return text;
  return prefix + describeBytes(bytes.length, sha256(bytes));
}
