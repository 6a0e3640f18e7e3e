import { createHash } from 'node:crypto';
import { isUpload, type RequestBody } from '../body.ts';
import { isObject, type JsonValue } from '../json.ts';
import { describeBytes, describeUpload, digestText, keyRequest, readUpload, type RequestKey } from '../request-key.ts';
import type { HttpRequest } from '../transport/types.ts';

/** The name of a request in recordings. */
export interface RequestName {
  /** The folder of the request's recordings: operation, model and key, `generateContent-some-model-<key>`. */
  folder: string;
  /** The canonical JSON of a RecordedRequest. */
  text: string;
  /**
   * A digest of what identifies the gateway: the base URL, the headers that the user set, and the API versions in the request's
   * headers, without credentials.
   */
  scope: string;
}

/** Names a request. Files are read for their digests. Throws GatewayError usage if one cannot be read. */
export async function nameRequest(request: HttpRequest): Promise<RequestName> {
  const { method, url, body, base = new URL(url.origin) } = request;
  const path = pathBelow(url, base);
  const { key, text, content } = await keyBody({ method, path }, body);
  const label = makeLabel(path, content);
  return { folder: `${label}${label === '' ? '' : '-'}${key}`, text, scope: getScope(request, base) };
}

/** The key of a request by the body as it is sent. */
async function keyBody(
  asked: { method: string | undefined; path: string },
  body: RequestBody,
): Promise<RequestKey & { content: JsonValue }> {
  // The field `store` says whether Google may keep a request. It does not shape the answer, and this program sets it by itself.
  const without = modelPath.test(asked.path) ? ['store'] : [];
  try {
    const content = await readJson(body);
    return { ...keyRequest({ ...asked, body: content }, without), content };
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError)) throw error;
    const content = await digestBody(body);
    return { ...keyRequest({ ...asked, body: content }), content };
  }
}

/** Throws SyntaxError or TypeError for a body that is not JSON. */
async function readJson({ segments }: RequestBody): Promise<JsonValue> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const pieces: string[] = [];
  for (const segment of segments)
    pieces.push(isUpload(segment) ? await describeUpload(segment) : decoder.decode(segment, { stream: true }));
  return JSON.parse(pieces.join('') + decoder.decode()) as JsonValue;
}

/** The digest of a body that is not JSON, or is nested beyond the stack. */
async function digestBody({ segments, bytes }: RequestBody): Promise<string> {
  const sum = createHash('sha256');
  for (const segment of segments) {
    if (!isUpload(segment)) sum.update(segment);
    // A form has the bytes of a file unchanged.
    else if (segment.file) for await (const block of readUpload(segment)) sum.update(block);
    else sum.update(await describeUpload(segment));
  }
  return describeBytes(bytes, sum.digest('hex'));
}

function getScope({ headers, ownHeaders = {} }: HttpRequest, base: URL): string {
  const counted = Object.entries({ ...ownHeaders, ...headers })
    .filter(([name]) => name in ownHeaders || versionName.test(name))
    .filter(([name]) => !secretWord.test(name))
    .map(([name, value]) => [name, value] as const);
  const sorted = Object.fromEntries(counted.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return digestText(JSON.stringify([base.origin, base.pathname.replace(/\/$/, ''), sorted]));
}

/** Names of headers with an API version, without those of an SDK's own version and runtime. */
const versionName = /^(?!x-stainless-).*-(?:version|beta)$/;

/** Names of headers and parameters with credentials. */
export const secretWord = /cookie|authenticat|authorization|api-?key|secret|(?:^|-)token$|session|^(?:code|sig)$/;

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

/**
 * The model that a request names, or ''. A name with control characters is no name: a recording can come from a stranger, and the
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
