import { randomUUID } from 'node:crypto';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { codeOf, GatewayError, settingError, usageError } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import { type AuthUse, keyFacts } from '../formats/format.ts';
import type { AuthForm } from '../services.ts';
import { base64Length, type Body, type BodyValue, isUpload, type Upload } from '../body.ts';
import type { RequestBody } from './types.ts';

const versions = ['/v1', '/v1beta'];

/**
 * Parses a base URL for `joinUrl`: keeps a path prefix, removes trailing slashes and one trailing `/v1` or `/v1beta`.
 * Throws GatewayError usage; the message never repeats the text, which may contain a password.
 */
export function parseBaseUrl(text: string): { url: URL; warnings: string[] } {
  const hint = 'it looks like https://host or https://host/prefix';
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (url === undefined || url.host === '') throw usageError('the base URL is not a URL', hint);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw usageError(`the base URL begins with ${url.protocol}//, not with https://`, hint);
  }
  if (url.username !== '' || url.password !== '') {
    throw usageError('the base URL holds a user name or password', 'the key goes into GATEWAY_API_KEY');
  }
  if (text.includes('?')) throw usageError('the base URL has a query', hint);
  if (text.includes('#')) throw usageError('the base URL has a fragment', hint);
  const path = withoutSlashes(url.pathname);
  const version = versions.find((suffix) => path.endsWith(suffix));
  if (version === undefined) {
    url.pathname = path;
    return { url, warnings: [] };
  }
  url.pathname = withoutSlashes(path.slice(0, -version.length));
  const warnings = [`${version} at the end of the base URL is cut: the paths of the service begin with it`];
  return { url, warnings };
}

function withoutSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}

/** The URL of a path below a base URL. Throws GatewayError usage if the URL would be another one (`..`, `?`, `#`). */
export function joinUrl(base: URL, path: string): URL {
  const pathname = withoutSlashes(base.pathname) + path;
  const url = new URL(base.origin);
  url.pathname = pathname;
  // The URL class resolves dots silently, even percent-encoded ones.
  if (url.pathname !== pathname) {
    throw usageError(
      'the path of the request is not plain',
      'a model is one name, without slashes, dots alone, ? or #',
    );
  }
  return url;
}

/** Host names as URL normalises them: 127.0.0.0/8 as four numbers, or mapped into IPv6. */
const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/;

/** Whether an http(s) URL points to this machine: localhost, 127.0.0.0/8 or ::1. */
export function isLoopback(url: URL): boolean {
  return loopback.test(url.hostname);
}

/** Throws GatewayError usage if a key would be sent unencrypted. */
export function requireSafeUrl(url: URL, { allowHttp, hasKey }: { allowHttp: boolean; hasKey: boolean }): void {
  if (url.protocol === 'https:' || !hasKey || allowHttp || isLoopback(url)) return;
  throw settingError(`the key would go to ${url.origin} unencrypted`, { reason: 'insecure' });
}

/** Names of headers that differ from one service to another. */
export interface HeaderNames {
  /** The header of the form `api-key`, where the format has none of its own. */
  apiKey: string;
  /** The header of the version of the messages format. */
  version: string;
}

const messagesVersion = '2023-06-01';

interface AuthOptions {
  use: AuthUse;
  form: AuthForm;
  names: HeaderNames;
  key: string;
}

/** The headers of the key, with lower-case names. Whitespace around the key is removed. Throws GatewayError auth, without the key in it. */
export function authHeaders({ use, form, names, key }: AuthOptions): Record<string, string> {
  const value = checkedKey(key.trim());
  const { form: own, header = names.apiKey } = keyFacts[use];
  const headers: Record<string, string> =
    (form === 'auto' ? own : form) === 'bearer'
      ? { authorization: `Bearer ${value}` }
      : { [header.toLowerCase()]: value };
  return { ...headers, ...versionHeaders(use, names) };
}

/** The header of the version of the messages format, which is sent without a key too. */
export function versionHeaders(use: AuthUse, names: HeaderNames): Record<string, string> {
  return use === 'messages' ? { [names.version.toLowerCase()]: messagesVersion } : {};
}

/** Only visible ASCII is allowed: anything else breaks the header, or was copied by mistake. */
function checkedKey(key: string): string {
  if (key === '') throw authError('the key is empty');
  for (let index = 0; index < key.length; index++) {
    const code = key.charCodeAt(index);
    if (code < 0x21 || code > 0x7e) throw authError(`the key has an invalid character at position ${index + 1}`);
  }
  return key;
}

function authError(message: string): GatewayError {
  return new GatewayError('auth', message, {
    reason: 'key-characters',
    sent: 'no',
    retryable: false,
  });
}

/** A multiple of three, so that only the last block needs padding. */
const blockBytes = 192 * 1024;

/**
 * Serialises a body as JSON, cut where uploads belong, so that its length is known before a file is read. The place of an upload
 * is marked by a random word made for this body, so that a string of the user is never mistaken for one. Throws GatewayError
 * usage for a number that JSON cannot represent, such as 1e999.
 */
export function segmentBody(body: Body): RequestBody {
  const mark = randomUUID();
  const uploads: Upload[] = [];
  const json = JSON.stringify(body, (key, value: BodyValue) => {
    // JSON would have null instead.
    if (typeof value === 'number' && !Number.isFinite(value))
      throw usageError(`the number '${key}' of the request is too large`, 'the largest is about 1.8e308');
    return isUpload(value) ? (uploads.push(value), `${value.prefix ?? ''}${mark}`) : value;
  });
  const texts = uploads.length === 0 ? [json] : json.split(mark);
  const segments = texts.flatMap((text, index) => [Buffer.from(text), ...uploads.slice(index, index + 1)]);
  return withLength(segments);
}

/** The body of segments. */
export function withLength(segments: RequestBody['segments']): RequestBody {
  return { segments, bytes: segments.reduce((sum, segment) => sum + lengthOf(segment), 0) };
}

function lengthOf(segment: Uint8Array | Upload): number {
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
    const { size } = await stat(source).catch((error: unknown) => unreadable(source, error));
    if (size !== bytes) throw changed(source);
  }
}

/** The whole body if it has no upload: one buffer is sent with the head in one write. */
export function plainBody(body: RequestBody): Uint8Array | undefined {
  const plain = body.segments.filter((segment): segment is Uint8Array => !isUpload(segment));
  if (plain.length !== body.segments.length) return undefined;
  return plain.length === 1 ? plain[0] : Buffer.concat(plain);
}

function* encodeBytes(bytes: Uint8Array): Generator<Uint8Array> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const out = Buffer.allocUnsafe((blockBytes / 3) * 4);
  for (let at = 0; at < buffer.length; at += blockBytes) yield encode(buffer.subarray(at, at + blockBytes), out);
}

/** The bytes of a file as Base64, or those of a form as they are. */
async function* readFile(path: string, { bytes, file: form }: Upload): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r').catch((error: unknown) => unreadable(path, error));
  try {
    const before = await file.stat();
    if (before.size !== bytes) throw changed(path);
    let block = Buffer.allocUnsafe(blockBytes);
    const out = Buffer.allocUnsafe((blockBytes / 3) * 4);
    let left = bytes;
    let reading = readBlock(file, block, left);
    while (left > 0) {
      const length = await reading.catch((error: unknown) => unreadable(path, error));
      left -= length;
      if (length < Math.min(blockBytes, left + length)) throw changed(path);
      const encoded = form ? block.subarray(0, length) : encode(block.subarray(0, length), out);
      // What goes out as it is must not be overwritten.
      if (form) block = Buffer.allocUnsafe(blockBytes);
      if (left > 0) {
        // The next block is read while this one is sent.
        reading = readBlock(file, block, left);
        reading.catch(() => {});
      } else if ((await file.stat()).mtimeMs !== before.mtimeMs) throw changed(path);
      yield encoded;
    }
  } finally {
    await file.close();
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

function encode(bytes: Buffer, out: Buffer): Uint8Array {
  return out.subarray(0, out.write(bytes.toString('base64'), 'latin1'));
}

function changed(path: string): Error {
  return usageError(`${path} changed while it was read`, 'run the command again when nothing writes to it');
}

function unreadable(path: string, error: unknown): never {
  throw usageError(`cannot read ${path} (${codeOf(error) ?? 'unknown error'})`, undefined, error);
}
