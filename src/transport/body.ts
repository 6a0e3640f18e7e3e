import { randomUUID } from 'node:crypto';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { codeOf, usageError } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import { base64Length, type Body, type BodyValue, isUpload, type Upload } from '../upload.ts';
import type { RequestBody } from './types.ts';

/** A multiple of three, so that no block but the last needs padding. */
const blockBytes = 192 * 1024;

/**
 * Writes a body as JSON, cut where uploads stand, so that its length is known before a file is read. No string of the user can
 * be taken for an upload: a random word, made for this body, marks where each of them stands. Throws GatewayError usage for a
 * number that JSON cannot carry, such as 1e999.
 */
export function segmentBody(body: Body): RequestBody {
  const mark = randomUUID();
  const uploads: Upload[] = [];
  const json = JSON.stringify(body, (key, value: BodyValue) => {
    if (typeof value === 'number' && !Number.isFinite(value)) throw outOfRange(key);
    return isUpload(value) ? (uploads.push(value), mark) : value;
  });
  const texts = uploads.length === 0 ? [json] : json.split(mark);
  const segments = texts.flatMap((text, index) => [Buffer.from(text), ...uploads.slice(index, index + 1)]);
  return { segments, bytes: segments.reduce((sum, segment) => sum + lengthOf(segment), 0) };
}

/** JSON would write null for it. */
function outOfRange(key: string): Error {
  return usageError(`the number '${key}' of the request is too large`, 'the largest is about 1.8e308');
}

function lengthOf(segment: Uint8Array | Upload): number {
  return isUpload(segment) ? base64Length(segment.bytes) : segment.byteLength;
}

/** The body as `--dry-run` shows it: an upload becomes `<Base64, N characters>`. */
export function describeBody(body: Body): JsonObject {
  return JSON.parse(JSON.stringify(body, describeUpload)) as JsonObject;
}

function describeUpload(_key: string, value: BodyValue): BodyValue {
  return isUpload(value) ? `<Base64, ${base64Length(value.bytes)} characters>` : value;
}

/**
 * The bytes of a body for one attempt: uploads are read and encoded while they are sent, so memory stays flat.
 * A chunk is valid until the next one is asked for. Throws GatewayError usage when a file cannot be read or has changed.
 */
export async function* streamBody(body: RequestBody): AsyncGenerator<Uint8Array> {
  for (const segment of body.segments) {
    if (!isUpload(segment)) yield segment;
    else if (typeof segment.source === 'string') yield* encodeFile(segment.source, segment.bytes);
    else yield* encodeBytes(segment.source);
  }
}

/** Finds out before anything is sent whether the files are there and as large as they were. Throws GatewayError usage. */
export async function checkUploads(body: RequestBody): Promise<void> {
  for (const segment of body.segments) {
    if (!isUpload(segment) || typeof segment.source !== 'string') continue;
    const { source, bytes } = segment;
    const { size } = await stat(source).catch((error: unknown) => unreadable(source, error));
    if (size !== bytes) throw changed(source);
  }
}

/** The whole body when it holds no upload: one buffer goes out with the head in one write. */
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

async function* encodeFile(path: string, bytes: number): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r').catch((error: unknown) => unreadable(path, error));
  try {
    const before = await file.stat();
    if (before.size !== bytes) throw changed(path);
    const block = Buffer.allocUnsafe(blockBytes);
    const out = Buffer.allocUnsafe((blockBytes / 3) * 4);
    let left = bytes;
    let reading = readBlock(file, block, left);
    while (left > 0) {
      const length = await reading.catch((error: unknown) => unreadable(path, error));
      left -= length;
      if (length < Math.min(blockBytes, left + length)) throw changed(path);
      const encoded = encode(block.subarray(0, length), out);
      if (left > 0) {
        // The next block is read while this one is on its way.
        reading = readBlock(file, block, left);
        reading.catch(() => {});
      } else if ((await file.stat()).mtimeMs !== before.mtimeMs) throw changed(path);
      yield encoded;
    }
  } finally {
    await file.close();
  }
}

/** Fills the block, or takes what is left; fewer bytes mean the file ended early. */
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
