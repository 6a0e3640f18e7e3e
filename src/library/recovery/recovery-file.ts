import { createReadStream } from 'node:fs';
import { type FileHandle, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { usageError } from '../errors.ts';
import { readFileLines } from '../files/lines.ts';
import { makeFolder, writeAtomically, writeFully } from '../files/temp-file.ts';
import type { BlobStore, StoredBlob } from '../images/types.ts';
import { isObject, type JsonObject, parseFlat, parseObject } from '../json.ts';
import { divertBase64 } from '../scan/json-scan.ts';

/** An image of a reply that could not be written to its place. */
interface SavedImage {
  declaredType: string | undefined;
  candidate: number;
  blob: StoredBlob;
}

/** A paid reply that could not be written, as a recovery file contains it. */
export interface SavedReply {
  /** ISO time. */
  savedAt: string;
  /** `image gen` */
  command: string;
  /** The id of the job of a batch. */
  job?: string | undefined;
  /** Whether the text should have been printed and was not. */
  printsText: boolean;
  /** The reply in the JSON document of the run. */
  document: unknown;
  images: SavedImage[];
  /** The unchanged body, for `--raw`. */
  body?: Pick<StoredBlob, 'content'> | undefined;
  batch?: SavedBatch | undefined;
}

/** The batch of a job. */
export interface SavedBatch {
  /** The absolute path of the folder of the batch. */
  folder: string;
  /** Hash of the job's canonical request. */
  request: string;
  /** The document is the job's whole result, of which only the line could not be written: the next run of the batch adds it. */
  isResult: boolean;
}

const schema = 'gateway-cli/recovery@1';

/** The key of bytes in Base64, by which the reader moves them to a store while it reads. */
const dataKey = 'b64_json';

/** The facts of a recovery file in a list. */
export type RecoveryHead = Pick<SavedReply, 'command' | 'job' | 'batch'>;

/** Bytes per write of Base64. */
const blockBytes = 192 * 1024;
/** Shorter than any string that a reader takes for an image. */
const pieceLength = 8 * 1024;

/**
 * Writes a reply to the first folder that can be written, as one file `<id>.json` that only its owner can read, and returns its
 * path. Images are copied from file to file. If no folder can be written, it throws the error of the last one and leaves no file.
 */
export async function writeRecovery(
  reply: SavedReply,
  { folders, id }: { folders: readonly string[]; id: string },
): Promise<string> {
  let last: unknown = new Error('there is no folder for it');
  for (const folder of folders) {
    try {
      await makeFolder(folder, 0o700);
      const path = join(folder, `${id}.json`);
      await writeAtomically(path, (handle) => writeReply(handle, reply));
      return path;
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

async function writeReply(handle: FileHandle, reply: SavedReply): Promise<void> {
  const { images, body, document, ...head } = reply;
  const writePiece = (text: string): Promise<void> => writeFully(handle, Buffer.from(text));
  // A list reads only the first line.
  await writePiece(`${JSON.stringify({ schema, ...head }).slice(0, -1)},\n`);
  await writePiece(`"document":${JSON.stringify(splitText(JSON.stringify(document ?? null)))},\n"images":[`);
  for (const [index, { declaredType, candidate, blob }] of images.entries()) {
    const facts = JSON.stringify({ declaredType, candidate, bytes: blob.bytes, sha256: blob.sha256 });
    await writePiece(`${index === 0 ? '' : ','}\n${facts.slice(0, -1)},"${dataKey}":"`);
    await writeBase64(blob, writePiece);
    await writePiece('"}');
  }
  await writePiece(']');
  if (body) {
    await writePiece(`,\n"body":{"${dataKey}":"`);
    await writeBase64(body, writePiece);
    await writePiece('"}');
  }
  await writePiece('}\n');
}

/** Short strings, because a reader that diverts long Base64 could take a long one for an image. */
function splitText(text: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += pieceLength) pieces.push(text.slice(at, at + pieceLength));
  return pieces;
}

async function writeBase64(
  { content }: Pick<StoredBlob, 'content'>,
  write: (text: string) => Promise<void>,
): Promise<void> {
  if ('file' in content) {
    const text = createReadStream(content.file, { encoding: 'base64', highWaterMark: blockBytes });
    for await (const piece of text) await write(piece as string);
    return;
  }
  for (let at = 0; at < content.data.byteLength; at += blockBytes)
    await write(Buffer.from(content.data.subarray(at, at + blockBytes)).toString('base64'));
}

/**
 * Renames the temporary files, so that they are not removed: it is used if no recovery file can be written, and needs no space on
 * the disk. Returns their paths.
 */
export async function keepTempFiles({ images, body }: SavedReply, id: string): Promise<string[]> {
  const kept: string[] = [];
  for (const { content } of [...images.map((image) => image.blob), ...(body ? [body] : [])]) {
    if (!('file' in content)) continue;
    const path = join(dirname(content.file), `gateway-cli-${id}-${kept.length + 1}`);
    try {
      await rename(content.file, path);
      kept.push(path);
    } catch {
      // A file that cannot be kept must not stop the others.
    }
  }
  return kept;
}

/** Limit of a recovery file without its images, in bytes. */
const maxBytes = 300 * 1024 * 1024;

/**
 * Reads a recovery file; images are written to the store. Throws GatewayError usage for another file, and errors of the chunks
 * and the store (bad-reply for a damaged image).
 */
export async function readRecovery(chunks: AsyncIterable<Uint8Array>, store: BlobStore): Promise<SavedReply> {
  const value = parseRecovery(await readRecoveryText(chunks, store));
  if (!isObject(value) || value['schema'] !== schema) throw cannotRecover('it is not a recovery file');
  const { savedAt, command, printsText, document: pieces, images: saved, body, job, batch } = value;
  const document: unknown = parseRecovery(Array.isArray(pieces) ? pieces.map(requireString).join('') : '');
  const { [dataKey]: bytes } = isObject(body) ? body : {};
  const images: SavedImage[] = [];
  for (const image of Array.isArray(saved) ? saved : []) {
    if (isObject(image)) images.push(await readImage(image, store));
  }
  return {
    savedAt: requireString(savedAt),
    command: requireString(command),
    printsText: printsText === true,
    document,
    images,
    body: typeof bytes === 'string' ? await store.resolve(bytes) : undefined,
    job: typeof job === 'string' ? job : undefined,
    batch: isObject(batch) ? readSavedBatch(batch) : undefined,
  };
}

/** Reads only the first line of a recovery file: the reply itself can have gigabytes. Undefined for another file. */
export async function readRecoveryHead(path: string): Promise<RecoveryHead | undefined> {
  const { schema: own, command, job, batch } = parseObject((await readFirstLine(path)).replace(/,$/, '}'));
  if (own !== schema) return undefined;
  return {
    command: requireString(command),
    job: typeof job === 'string' ? job : undefined,
    batch: isObject(batch) ? readSavedBatch(batch) : undefined,
  };
}

/** Longer than any first line, which has names and paths. */
const longestHead = 1024 * 1024;

/** Empty for a file that cannot be read. */
async function readFirstLine(path: string): Promise<string> {
  try {
    for await (const lines of readFileLines(path, { maxBytes: longestHead })) for (const { text } of lines) return text;
  } catch {
    // What cannot be read is not in a list.
  }
  return '';
}

function readSavedBatch({ folder, request, isResult }: JsonObject): SavedBatch {
  return { folder: requireString(folder), request: requireString(request), isResult: isResult === true };
}

async function readRecoveryText(chunks: AsyncIterable<Uint8Array>, store: BlobStore): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of divertBase64(chunks, store, { mode: 'json' })) {
    bytes += part.byteLength;
    if (bytes > maxBytes) throw cannotRecover('it is too large');
    parts.push(Uint8Array.from(part));
  }
  return Buffer.concat(parts).toString('utf8');
}

async function readImage(image: JsonObject, store: BlobStore): Promise<SavedImage> {
  const { declaredType, candidate, sha256, [dataKey]: data } = image;
  const blob = await store.resolve(requireString(data));
  if (blob.sha256 !== sha256) throw cannotRecover('a picture in it is damaged');
  return {
    declaredType: typeof declaredType === 'string' ? declaredType : undefined,
    candidate: typeof candidate === 'number' ? candidate : 0,
    blob,
  };
}

function parseRecovery(text: string): unknown {
  try {
    return parseFlat(text);
  } catch (error) {
    throw cannotRecover('it is not a recovery file', error);
  }
}

function requireString(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function cannotRecover(reason: string, cause?: unknown): Error {
  return usageError(
    `cannot recover the reply: ${reason}`,
    'name the recovery file that stderr showed with exit code 12',
    cause,
  );
}
