import { usageError } from '../errors.ts';
import type { BlobStore } from '../images/types.ts';
import { isObject, type JsonObject, parseFlat } from '../json.ts';
import { divertBase64 } from '../scan/json-scan.ts';
import { type KeptImage, type KeptReply, recoverySchema } from './types.ts';

/** Most bytes of a recovery file that are no picture. */
const mostBytes = 300 * 1024 * 1024;

/**
 * Reads a recovery file; pictures flow to the store. Throws GatewayError usage for what is none, and what the chunks and
 * the store throw (bad-reply where a picture is damaged).
 */
export async function readRecovery(chunks: AsyncIterable<Uint8Array>, store: BlobStore): Promise<KeptReply> {
  const value = parse(await readText(chunks, store));
  if (!isObject(value) || value['schema'] !== recoverySchema) throw notOurs('it is not a recovery file');
  const document: unknown = parse(textOf(value['document']));
  const images: KeptImage[] = [];
  for (const image of Array.isArray(value['images']) ? value['images'] : []) {
    if (isObject(image)) images.push(await imageOf(image, store));
  }
  const body = value['body'];
  return {
    savedAt: stringOf(value['savedAt']),
    command: stringOf(value['command']),
    printsText: value['printsText'] === true,
    document,
    images,
    body: typeof body === 'string' ? await store.resolve(body) : undefined,
  };
}

async function readText(chunks: AsyncIterable<Uint8Array>, store: BlobStore): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of divertBase64(chunks, store, { mode: 'json' })) {
    bytes += part.byteLength;
    if (bytes > mostBytes) throw notOurs('it is too large');
    parts.push(Uint8Array.from(part));
  }
  return Buffer.concat(parts).toString('utf8');
}

async function imageOf(image: JsonObject, store: BlobStore): Promise<KeptImage> {
  const { declaredType, candidate, data, sha256 } = image;
  const blob = await store.resolve(stringOf(data));
  if (blob.sha256 !== sha256) throw notOurs('a picture in it is damaged');
  return {
    declaredType: typeof declaredType === 'string' ? declaredType : undefined,
    candidate: typeof candidate === 'number' ? candidate : 0,
    blob,
  };
}

function parse(text: string): unknown {
  try {
    return parseFlat(text);
  } catch (error) {
    throw notOurs('it is not a recovery file', error);
  }
}

function textOf(pieces: unknown): string {
  return Array.isArray(pieces) ? pieces.map(stringOf).join('') : '';
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function notOurs(reason: string, cause?: unknown): Error {
  return usageError(
    `cannot recover the reply: ${reason}`,
    'name the recovery file that stderr showed with exit code 12',
    cause,
  );
}
