import { createHash, hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { base64Length, type BodyValue, isUpload, type Upload } from './body.ts';
import { getErrorCode, usageError } from './errors.ts';
import { isObject, type JsonValue } from './json.ts';

/** The parts of a request that its key depends on. */
interface AskedRequest {
  /** The method; `POST` if absent. */
  method?: string | undefined;
  /**
   * The path, or the whole address. The caller decides which requests are the same: in a batch the path has the origin, in a
   * recording it does not.
   */
  path: string;
  /** The body; parts that are not JSON are described by a text. */
  body: JsonValue;
}

/** The key of a request. */
export interface RequestKey {
  /** 32 hex digits. */
  key: string;
  /** The text whose digest is the key: the request as JSON, its members sorted by name, each long Base64 as its size and SHA-256. */
  text: string;
}

/**
 * The key of a request; requests that ask the same have the same key. A batch finds its answers by it, and a recording its file.
 * `without` are the fields of the body that do not count; `a.b` is the field b of a. Throws RangeError if the body is nested
 * beyond the stack.
 */
export function keyRequest({ method = 'POST', path, body }: AskedRequest, without: readonly string[] = []): RequestKey {
  const text = toCanonicalJson({ body: leaveOut(body, without), method, path });
  return { key: digestText(text), text };
}

/** The first half of the SHA-256 of a text, as 32 hex digits. */
export function digestText(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32);
}

/** A body without some of its fields. If this leaves an object in it empty, the object is left out, too. */
function leaveOut(body: JsonValue, fields: readonly string[]): JsonValue {
  if (fields.length === 0 || !isObject(body)) return body;
  const left = { ...body };
  for (const field of fields) {
    const [name = '', inner] = field.split('.');
    const value = left[name];
    if (inner !== undefined && isObject(value)) {
      const { [inner]: _, ...rest } = value;
      left[name] = rest;
      if (Object.keys(rest).length > 0) continue;
    } else if (inner !== undefined) continue;
    delete left[name];
  }
  return left;
}

/**
 * The canonical JSON of a value. Thousands of keys are made before the first job of a batch is sent: text is joined at once, and no
 * object is made only to be thrown away.
 */
function toCanonicalJson(value: JsonValue): string {
  if (typeof value === 'string') return JSON.stringify(shortenBase64(value));
  // JSON has null for a value that it cannot represent, which would make two requests equal.
  if (typeof value === 'number' && !Number.isFinite(value)) return JSON.stringify(`<${value}>`);
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  let members = '';
  for (const name of Object.keys(value).sort()) {
    const member = value[name];
    if (member !== undefined) members += `${members && ','}${JSON.stringify(name)}:${toCanonicalJson(member)}`;
  }
  return `{${members}}`;
}

/** Base64 up to this length, in characters, stays unchanged. */
const shortBase64 = 1024;

function shortenBase64(text: string): string {
  if (text.length <= shortBase64) return text;
  const [prefix = ''] = /^data:[^,]{0,200};base64,/.exec(text) ?? [];
  const data = text.slice(prefix.length);
  if (data.length <= shortBase64 || data.length % 4 !== 0) return text;
  const bytes = Buffer.from(data, 'base64');
  // Text that is no Base64, and another encoding of the same bytes, are not what these bytes are written as.
  if (bytes.toString('base64') !== data) return text;
  return prefix + describeBytes(bytes.length, hash('sha256', bytes, 'hex'));
}

/** The text in place of bytes that are too long to show: `sha256sum` of the file gives the same digest. */
export function describeBytes(bytes: number, sha256: string): string {
  return `<${bytes} bytes, sha256 ${sha256}>`;
}

/** The way in which files are read for a key. */
export interface Hashing {
  /** Returns the known fact of a file that has not changed; otherwise reads it. */
  known?: ((path: string, fact: 'key', read: () => Promise<string>) => Promise<string>) | undefined;
}

/** A body with a text in place of each upload. Throws GatewayError usage for a file that cannot be read. */
export async function describeUploads(body: BodyValue, hashing?: Hashing): Promise<JsonValue> {
  const texts = new Map<Upload, string>();
  for (const upload of listUploads(body))
    texts.set(upload, `${upload.prefix ?? ''}${await describeUpload(upload, hashing)}`);
  return texts.size === 0 ? (body as JsonValue) : withTexts(body, texts);
}

/** The uploads of a body. */
export function listUploads(value: BodyValue, found: Upload[] = []): Upload[] {
  if (isUpload(value)) found.push(value);
  else if (Array.isArray(value)) for (const item of value) listUploads(item, found);
  else if (isObject(value)) for (const name of Object.keys(value)) listUploads(value[name] as BodyValue, found);
  return found;
}

function withTexts(value: BodyValue, texts: ReadonlyMap<Upload, string>): JsonValue {
  if (isUpload(value)) return texts.get(value) as string;
  if (Array.isArray(value)) return value.map((item) => withTexts(item, texts));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withTexts(item, texts)]));
}

/**
 * The text of an upload without its prefix: equal for equal bytes, wherever they are. A file that is still to be fetched counts
 * by its URL. Throws GatewayError usage for a file that cannot be read.
 */
export async function describeUpload(upload: Upload, { known }: Hashing = {}): Promise<string> {
  const { source, url } = upload;
  if (url !== undefined) return `<from ${url}>`;
  const describe = (): Promise<string> => describeContent(upload);
  return known && typeof source === 'string' ? known(source, 'key', describe) : describe();
}

async function describeContent(upload: Upload): Promise<string> {
  const { bytes } = upload;
  const isShort = base64Length(bytes) <= shortBase64;
  const blocks: Uint8Array[] = [];
  const sum = createHash('sha256');
  for await (const block of readUpload(upload)) {
    if (isShort) blocks.push(block);
    else sum.update(block);
  }
  return isShort ? Buffer.concat(blocks).toString('base64') : describeBytes(bytes, sum.digest('hex'));
}

/** The bytes of an upload. Throws GatewayError usage for a file that cannot be read. */
export async function* readUpload({ source }: Upload): AsyncGenerator<Uint8Array> {
  if (typeof source !== 'string') return yield source;
  try {
    yield* createReadStream(source) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw usageError(`cannot read ${source} (${getErrorCode(error) ?? 'unknown error'})`, undefined, error);
  }
}
