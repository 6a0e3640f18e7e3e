import {
  describeReadError,
  GatewayError,
  getErrorCode,
  isObject,
  type JsonObject,
  type JsonValue,
  type KnownFiles,
  lookAtHint,
  openOnce,
  shellWord,
  usageError,
} from '../../library/index.ts';
import { isUtf8 } from 'node:buffer';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { InputContext } from '../context.ts';
import type { FileOrJson } from '../flags/fields.ts';
import { parseJson, quoteWord } from '../flags/flag.ts';
import type { ImageInputFlags } from './stray-files.ts';

/** Largest text on stdin or in a pipe, in bytes. */
const maxBytes = 64 * 1024 * 1024;

/** Whether a path is stdin. The system's names for it count, too: they cannot be opened if stdin is a socket. */
export function isStdin(path: string): boolean {
  return path === '-' || path === '/dev/stdin' || path === '/dev/fd/0' || path === '/proc/self/fd/0';
}

/** The text of a file flag; `-` is stdin. Throws GatewayError usage: unreadable, too large, not UTF-8. */
export async function readTextFlag(flag: string, path: string, context: InputContext): Promise<string> {
  if (isStdin(path))
    return decodeText(await readBounded(context.stdin.claim(flag), `${flag} -: stdin`), `${flag}: stdin`);
  const { known = readAgain, io } = context;
  return known(resolve(io.cwd, path), 'text', async () =>
    decodeText(await readUserFile(flag, path, io.cwd), `${flag}: ${quoteWord(path)}`),
  );
}

/** Reads a file each time and keeps nothing, for commands that read each file once. */
export const readAgain: KnownFiles = (_path, _what, read) => read();

/** The bytes of a file that the user named. */
export async function readUserFile(flag: string, path: string, cwd: string): Promise<Uint8Array> {
  try {
    return await readFileOrPipe(resolve(cwd, path));
  } catch (error) {
    throw unreadableFile(flag, path, error);
  }
}

/** The bytes of a file, a pipe or a device. Throws errors of the system, and GatewayError usage for a stream that is too large. */
export async function readFileOrPipe(path: string): Promise<Uint8Array> {
  const stream = await openOnce(path);
  return stream === undefined ? readFile(path) : readBounded(stream, quoteWord(path));
}

/** The error for a file that cannot be read. Its words are the same for all flags. */
export function unreadableFile(flag: string, path: string, error: unknown): Error {
  if (error instanceof GatewayError) return error;
  if (isUrl(path)) return urlForFile(flag, path);
  const code = getErrorCode(error);
  if (/^\s*[[{]/.test(path) && (code === 'ENOENT' || code === 'ENAMETOOLONG')) {
    const json = path.length > 60 ? "'…'" : shellWord(path);
    return usageError(`${flag}: a file is needed, not JSON`, `for example: ${flag} <(echo ${json})`, error);
  }
  // The system's error has the resolved path.
  const real = error instanceof Error && 'path' in error && typeof error.path === 'string' ? error.path : path;
  return usageError(`${flag} ${quoteWord(path)}: ${describeReadError(error)}`, lookAtHint(real, code), error);
}

/** Whether a path is a URL. */
export function isUrl(path: string): boolean {
  return /^(https?|ftp|s3|gs):\/\//i.test(path);
}

/** An input that is a URL, as it was typed, and its flag. */
export interface InputUrl {
  flag: string;
  typed: string;
}

export function inputUrls({ image = [], attach = [], mask }: ImageInputFlags & { mask?: string }): InputUrl[] {
  const inputs = [
    ...image.map((typed) => ({ flag: '-i', typed })),
    ...attach.map((typed) => ({ flag: '--attach', typed })),
    ...(mask === undefined ? [] : [{ flag: '--mask', typed: mask }]),
  ];
  return inputs.filter(({ typed }) => isUrl(typed));
}

/** A URL for messages, without its query, which may contain a secret. */
export function shownUrl({ origin, pathname }: URL): string {
  return origin + pathname;
}

/** The error for a URL in a place that needs a file. */
export function urlForFile(flag: string, url: string): GatewayError {
  const hint = /^(https?|ftp):/i.test(url) ? `fetch it first: curl -fsSLO ${shellWord(url)}` : 'fetch it first';
  return usageError(`${flag} takes a file, and ${quoteWord(url)} is a URL`, hint);
}

async function readBounded(stream: AsyncIterable<Uint8Array>, label: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw usageError(`${label} holds more than 64 MiB`, 'send less, or use --attach');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The JSON of a file flag. */
export async function readJsonFlag(flag: string, path: FileOrJson, context: InputContext): Promise<JsonValue> {
  if (typeof path !== 'string') return path;
  if (/^\s*(?:\{[\s\S]*\}|\[[\s\S]*\])\s*$/.test(path)) return parseJson(flag, path);
  // A file may have such a name, half of a JSON text has none.
  if (/^\s*[[{]/.test(path) && (await stat(resolve(context.io.cwd, path)).catch(() => undefined)) === undefined)
    return parseJson(flag, path);
  return parseJson(`${flag} ${path}`, (await readTextFlag(flag, path, context)).replace(/^\uFEFF/, ''));
}

/** The JSON object of a file flag. */
export async function readObjectFlag(flag: string, path: FileOrJson, context: InputContext): Promise<JsonObject> {
  const value = await readJsonFlag(flag, path, context);
  if (isObject(value)) return value;
  throw usageError(`${flagAndPath(flag, path)}: a JSON object is needed`, 'it begins with { and ends with }');
}

/** The JSON array of a file flag, or of an object's key `key`. */
export async function readListFlag(
  flag: string,
  path: FileOrJson,
  { key, context }: { key: string; context: InputContext },
): Promise<JsonValue[]> {
  const value = await readJsonFlag(flag, path, context);
  const list = isObject(value) && Array.isArray(value[key]) ? value[key] : value;
  if (Array.isArray(list)) return list;
  throw usageError(`${flagAndPath(flag, path)}: a JSON array is needed`, 'it begins with [ and ends with ]');
}

function flagAndPath(flag: string, path: FileOrJson): string {
  return typeof path === 'string' ? `${flag} ${path}` : flag;
}

/**
 * The text of the user's input, `name` in messages, without a byte order mark; CRLF stays. Throws GatewayError usage with the
 * offset (from 0) of the first byte that is not UTF-8: nothing is replaced silently.
 */
export function decodeText(bytes: Uint8Array, name: string): string {
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  const convert = isUtf16(bytes)
    ? 'it looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8'
    : 'convert it to UTF-8, for example with iconv';
  throw usageError(`${name} is not UTF-8 text: invalid byte at offset ${invalidOffset(bytes)}`, convert);
}

/** Whether bytes begin with the mark of UTF-16. */
export function isUtf16(bytes: Uint8Array): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
}

/**
 * The place of the first invalid byte. Every invalid sequence decodes to U+FFFD: the place is the first U+FFFD that is not in the
 * bytes.
 */
function invalidOffset(bytes: Uint8Array): number {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  let offset = 0;
  for (let from = 0; ;) {
    const at = text.indexOf('\uFFFD', from);
    if (at === -1) return offset;
    offset += Buffer.byteLength(text.slice(from, at));
    if (!(bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd)) return offset;
    offset += 3;
    from = at + 1;
  }
}
