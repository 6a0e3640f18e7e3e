import { type FileHandle, open, stat } from 'node:fs/promises';
import { createHash, randomUUID } from 'node:crypto';
import { getErrorCode, usageError } from './errors.ts';
import { isObject, type JsonObject, type JsonValue } from './json.ts';

const mark = Symbol('upload');

/** Bytes that a request body holds as plain Base64, read only while sending. */
export interface Upload {
  readonly [mark]: true;
  /** Size of the decoded bytes; known beforehand, so that Content-Length is too. */
  readonly bytes: number;
  /** A file's path, or the bytes themselves. */
  readonly source: string | Uint8Array;
  /** Removes the file when the program ends: it is a copy of stdin or of a pipe. */
  readonly isTemporary?: boolean | undefined;
  /** The URL of a file that was or will be fetched: the bytes may be missing still. */
  readonly url?: string | undefined;
  /** The text before the Base64 in its string: `data:image/png;base64,`. */
  readonly prefix?: string | undefined;
  /** The name and type of the file in a form, whose bytes are sent as they are. */
  readonly file?: { readonly name: string; readonly mimeType: string } | undefined;
}

/** The facts of an upload beside its bytes. */
type UploadOrigin = Omit<Upload, typeof mark | 'bytes' | 'source'>;

/** A request body before it is written: JSON in which a string may be an Upload. */
export type BodyValue = JsonValue | Upload | BodyValue[] | { [key: string]: BodyValue };

/** A request body's top level. */
export interface Body {
  [key: string]: BodyValue;
}

/** Marks a file (with its size in bytes) or bytes in memory as the content of a Base64 string. */
export function createUpload(source: string | Uint8Array, bytes: number, origin?: UploadOrigin): Upload;
export function createUpload(source: Uint8Array): Upload;
export function createUpload(source: string | Uint8Array, bytes?: number, origin?: UploadOrigin): Upload {
  return { [mark]: true, source, bytes: bytes ?? (source as Uint8Array).byteLength, ...origin };
}

/** Whether a value is an Upload, not ordinary JSON. */
export function isUpload(value: unknown): value is Upload {
  return typeof value === 'object' && value !== null && mark in value;
}

/** Length of the Base64 text of `bytes` bytes, padding included. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/** A copy of a body with fields set; an undefined field changes nothing. */
export function setFields(body: Body, fields: Record<string, BodyValue | undefined>): Body {
  const set = { ...body };
  for (const key of Object.keys(fields)) if (fields[key] !== undefined) set[key] = fields[key];
  return set;
}

/** The object at a key of a body, or an empty one. */
export function getBodyObject(body: Body, key: string): Body {
  const value = body[key];
  return isBody(value) ? value : {};
}

/** A body, or undefined if it is empty: an empty object is not sent. */
export function unlessEmpty(body: Body): Body | undefined {
  return Object.keys(body).length === 0 ? undefined : body;
}

function isBody(value: BodyValue | undefined): value is Body & JsonObject {
  return isObject(value) && !isUpload(value);
}

/** A request body, cut where uploads belong: bytes are sent as they are, uploads as Base64 of their content. */
export interface RequestBody {
  readonly segments: readonly (Uint8Array | Upload)[];
  /** Content-Length in bytes. */
  readonly bytes: number;
  /** The Content-Type of a body that is not JSON. */
  readonly contentType?: string | undefined;
}

/** A multiple of three, so that only the last block needs padding. */
const blockBytes = 192 * 1024;

/**
 * Serialises a body as JSON, cut where uploads belong, so that its length is known before a file is read. The place of an upload
 * is marked by a random word made for this body, so that a string of the user is never mistaken for a mark. Throws GatewayError
 * usage for a number that JSON cannot represent, such as 1e999.
 */
export function segmentBody(body: Body): RequestBody {
  if (isPlainJson(body)) {
    const bytes = Buffer.from(JSON.stringify(body));
    return { segments: [bytes], bytes: bytes.byteLength };
  }
  let mark = '';
  const uploads: Upload[] = [];
  const json = JSON.stringify(body, (key, value: BodyValue) => {
    // JSON.stringify would write null.
    if (typeof value === 'number' && !Number.isFinite(value))
      throw usageError(`the number '${key}' of the request is too large`, 'the largest is about 1.8e308');
    if (!isUpload(value)) return value;
    mark ||= randomUUID();
    uploads.push(value);
    return `${value.prefix ?? ''}${mark}`;
  });
  const segments = json.split(mark).flatMap((text, index) => [Buffer.from(text), ...uploads.slice(index, index + 1)]);
  return withLength(segments);
}

/** Whether a value has neither an upload nor a number that JSON lacks: then nothing has to be called for each value in it. */
function isPlainJson(value: BodyValue): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  return !isUpload(value) && Object.values(value).every(isPlainJson);
}

/**
 * Writes a body as a form (RFC 7578): one part for each field, and for each item of a list. Its boundary is the digest of the
 * parts, so that equal requests have equal bytes, and no part can contain it.
 */
export function segmentForm(body: Body): RequestBody {
  const parts = listFormFields(body).map(([name, value]) => formPart(name, value));
  const digest = createHash('sha256');
  for (const { head, content } of parts) digest.update(`${head}${isUpload(content) ? content.bytes : content}\n`);
  const boundary = `gateway-cli-${digest.digest('hex').slice(0, 32)}`;
  const segments: (Uint8Array | Upload)[] = [];
  let text = '';
  for (const { head, content } of parts) {
    text += `--${boundary}\r\n${head}\r\n`;
    if (isUpload(content)) segments.push(Buffer.from(text), content);
    text = isUpload(content) ? '\r\n' : `${text}${content}\r\n`;
  }
  segments.push(Buffer.from(`${text}--${boundary}--\r\n`));
  return { ...withLength(segments), contentType: `multipart/form-data; boundary=${boundary}` };
}

/** A field for each value: one inside an object has the name `object[field]`, as OpenAI's own tools write it (npm openai 7.59.0, uploads). */
function listFormFields(body: Body, around = ''): [string, BodyValue][] {
  return Object.entries(body).flatMap(([key, value]): [string, BodyValue][] => {
    const name = around === '' ? key : `${around}[${key}]`;
    if (Array.isArray(value)) return value.map((item): [string, BodyValue] => [name, item]);
    return isBody(value) ? listFormFields(value, name) : [[name, value]];
  });
}

function formPart(name: string, value: BodyValue): { head: string; content: string | Upload } {
  const disposition = `content-disposition: form-data; name="${escapeFormName(name)}"`;
  if (!isUpload(value)) {
    const content = typeof value === 'object' ? JSON.stringify(value) : String(value);
    return { head: `${disposition}\r\n`, content };
  }
  const file = value.file ?? { name: 'file', mimeType: 'application/octet-stream' };
  const head = `${disposition}; filename="${escapeFormName(file.name)}"\r\ncontent-type: ${file.mimeType}\r\n`;
  return { head, content: { ...value, file } };
}

/** Escapes a name in a form as browsers do. */
function escapeFormName(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

/** Adds up the length of a body. */
export function withLength(segments: RequestBody['segments']): RequestBody {
  return { segments, bytes: segments.reduce((sum, segment) => sum + countSegmentBytes(segment), 0) };
}

function countSegmentBytes(segment: Uint8Array | Upload): number {
  if (!isUpload(segment)) return segment.byteLength;
  return segment.file ? segment.bytes : base64Length(segment.bytes);
}

/** The body for people: an upload becomes `<Base64, N characters>`, that of a form `<N bytes>`. */
export function describeBody(body: Body): JsonObject {
  const json = JSON.stringify(body, (_key, value: BodyValue) => {
    if (!isUpload(value)) return value;
    const { bytes, file, prefix = '' } = value;
    return file ? `<${bytes} bytes>` : `${prefix}<Base64, ${base64Length(bytes)} characters>`;
  });
  return JSON.parse(json) as JsonObject;
}

/**
 * The bytes of a body for one attempt: uploads are read and encoded while they are sent, so memory stays constant.
 * A chunk is valid until the next one is requested. Throws GatewayError usage if a file cannot be read or has changed.
 */
export async function* streamBody(body: RequestBody): AsyncGenerator<Uint8Array> {
  for (const segment of body.segments) {
    if (!isUpload(segment)) yield segment;
    else if (typeof segment.source === 'string') yield* readFile(segment.source, segment);
    else if (segment.file) yield segment.source;
    else yield* encodeBytes(segment.source);
  }
}

/** Checks before sending that the files exist and have their size. Throws GatewayError usage. */
export async function checkUploads(body: RequestBody): Promise<void> {
  for (const segment of body.segments) {
    if (!isUpload(segment) || typeof segment.source !== 'string') continue;
    const { source, bytes } = segment;
    const { size } = await stat(source).catch((error: unknown) => throwUnreadable(source, error));
    if (size !== bytes) throw changedFileError(source);
  }
}

/** The whole body if it has no upload: one buffer is sent with the head in one write. */
export function plainBody(body: RequestBody): Uint8Array | undefined {
  const { segments } = body;
  if (segments.some(isUpload)) return undefined;
  const plain = segments as readonly Uint8Array[];
  return plain.length === 1 ? plain[0] : Buffer.concat(plain);
}

function* encodeBytes(bytes: Uint8Array): Generator<Uint8Array> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const out = Buffer.allocUnsafe((blockBytes / 3) * 4);
  for (let at = 0; at < buffer.length; at += blockBytes) yield encodeBase64(buffer.subarray(at, at + blockBytes), out);
}

/** The bytes of a file as Base64, or unencoded if they are a file of a form. */
async function* readFile(path: string, { bytes, file: form }: Upload): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r').catch((error: unknown) => throwUnreadable(path, error));
  try {
    const before = await file.stat();
    if (before.size !== bytes) throw changedFileError(path);
    const block = Buffer.allocUnsafe(blockBytes);
    const out = Buffer.allocUnsafe((blockBytes / 3) * 4);
    for (let left = bytes; left > 0;) {
      const length = await readBlock(file, block, left).catch((error: unknown) => throwUnreadable(path, error));
      left -= length;
      if (length < Math.min(blockBytes, left + length)) throw changedFileError(path);
      // The last block is not sent if the file is another one by now: the request is then not whole.
      if (left === 0 && (await file.stat()).mtimeMs !== before.mtimeMs) throw changedFileError(path);
      yield form ? block.subarray(0, length) : encodeBase64(block.subarray(0, length), out);
    }
  } finally {
    await file.close().catch(() => undefined);
  }
}

/** Fills the block, or reads the rest; fewer bytes mean that the file became shorter. */
async function readBlock(file: FileHandle, block: Buffer, left: number): Promise<number> {
  const wanted = Math.min(block.length, left);
  let filled = 0;
  while (filled < wanted) {
    const { bytesRead } = await file.read(block, filled, wanted - filled, null);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

function encodeBase64(bytes: Buffer, out: Buffer): Uint8Array {
  return out.subarray(0, out.write(bytes.toString('base64'), 'latin1'));
}

function changedFileError(path: string): Error {
  return usageError(`${path} changed while it was read`, 'run the command again when nothing writes to it');
}

function throwUnreadable(path: string, error: unknown): never {
  throw usageError(`cannot read ${path} (${getErrorCode(error) ?? 'unknown error'})`, undefined, error);
}
