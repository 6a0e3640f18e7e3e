import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { untilAborted } from '../clock.ts';
import { getErrorCode, GatewayError, usageError } from '../errors.ts';
import { describeReadError, describeWriteError } from '../files/file-reason.ts';
import { openOnce } from '../files/open-once.ts';
import { lookAtHint } from '../shell-word.ts';
import { imageFacts } from './image-type.ts';
import { createTempFile, removeFile, writeFully } from '../files/temp-file.ts';

/** An input image, of which only the first bytes were read. */
interface InputImage {
  /** The media type, from the bytes. */
  mimeType: string;
  bytes: number;
  /** Lower-case hex; only if requested. */
  sha256: string | undefined;
  width: number | undefined;
  height: number | undefined;
}

/** Options for reading an input. */
interface InputOptions {
  /** The name in messages (`-i -`); by default the path. */
  label?: string | undefined;
  /** Computes the SHA-256 too, which reads the whole file. */
  hash?: boolean | undefined;
  /** The type that its host declared, for messages. */
  declaredType?: string | undefined;
  /** The advice for a file that is not an image. */
  instead?: string | undefined;
}

const headBytes = 256 * 1024;
const mebibyte = 1024 * 1024;

/** Largest copy of a stream: a device such as /dev/zero never ends. */
const maxSpooledMebibytes = 512;

/** Reads the type and size of an input image by its bytes. Throws GatewayError usage: unreadable, empty, or not an image. */
export async function readInputImage(path: string, options: InputOptions = {}): Promise<InputImage> {
  const label = options.label ?? JSON.stringify(path);
  const handle = await open(path, 'r').catch((error: unknown) => {
    throw asUnreadable(label, error, path);
  });
  try {
    const { size } = await handle.stat();
    const head = await readFirstBytes(handle);
    const { mimeType, width, height } = imageFacts(head);
    if (head.length === 0) throw usageError(`${label} is empty`, 'name an image file');
    if (mimeType === undefined)
      throw usageError(
        `${label} is ${describeOther(options)}`,
        options.instead ?? 'PNG, JPEG, WebP, GIF, AVIF, HEIC, BMP and TIFF are known',
      );
    const sha256 = options.hash ? await hashFile(handle) : undefined;
    return { mimeType, bytes: size, sha256, width, height };
  } catch (error) {
    throw asUnreadable(label, error, path);
  } finally {
    await handle.close().catch(() => undefined);
  }
}

/** Describes a file that is not an image, with the type that its host declared. */
function describeOther({ declaredType }: InputOptions): string {
  if (declaredType === undefined || declaredType.startsWith('image/')) return 'not an image of a known type';
  return declaredType === 'text/html' ? 'a web page (text/html), not an image' : `${declaredType}, not an image`;
}

/** Options for copying a stream to a temporary file. */
export interface Spooling {
  /** The name in messages. */
  label?: string | undefined;
  /** The most that is copied; by default 512. */
  capMebibytes?: number | undefined;
  /** Ends the copying; the promise rejects with its reason. Without it, the stream ends by itself. */
  signal?: AbortSignal | undefined;
  /** Registers the removal of the file, before it is there. */
  atEnd: (remove: () => Promise<void>) => void;
}

/** A file that can be read repeatedly: the path itself, or a copy if the path names a pipe or device. Throws GatewayError usage. */
export async function makeRereadable(path: string, spooling: Spooling): Promise<string> {
  const { label = JSON.stringify(path), signal } = spooling;
  const stream = await openOnce(path, signal).catch((error: unknown) => {
    throw asUnreadable(label, error, path);
  });
  return stream === undefined ? path : spool(stream, { ...spooling, label });
}

/**
 * Writes a stream to a temporary file, so that its size is known; returns its path. Throws GatewayError usage: unreadable, too
 * large, disk full; no file is left then.
 */
export function spool(stream: AsyncIterable<Uint8Array>, spooling: Spooling): Promise<string> {
  const copying = copyToTemp(stream, spooling);
  spooling.atEnd(() => copying.then(removeFile, () => undefined));
  return copying;
}

async function copyToTemp(
  stream: AsyncIterable<Uint8Array>,
  { label = 'stdin', capMebibytes: cap = maxSpooledMebibytes, signal }: Spooling,
): Promise<string> {
  const file = await createTempFile(tmpdir()).catch((error: unknown) => {
    throw usageError(
      `cannot keep ${label} in ${JSON.stringify(tmpdir())}: ${describeWriteError(error)}`,
      'set TMPDIR to a folder that can be written',
      error,
    );
  });
  const source = stream[Symbol.asyncIterator]();
  const readNext = () => untilAborted(source.next(), signal);
  let bytes = 0;
  try {
    for (let next = await readNext(); !next.done; next = await readNext()) {
      const chunk = next.value;
      if (bytes + chunk.byteLength > cap * mebibyte)
        throw usageError(`${label} holds more than ${cap} MiB`, 'send less, or save it to a file and name that');
      await writeFully(file.handle, chunk, bytes);
      bytes += chunk.byteLength;
    }
    await file.handle.close();
    return file.path;
  } catch (error) {
    // The end of the source is not awaited: a source that is silent may never return.
    void source.return?.().catch(() => undefined);
    await file.handle.close();
    await removeFile(file.path);
    throw asUnreadable(label, error);
  }
}

/** The head of a file, from which its type is known. */
export async function readFirstBytes(handle: FileHandle): Promise<Uint8Array> {
  const head = Buffer.alloc(headBytes);
  let size = 0;
  while (size < headBytes) {
    const { bytesRead } = await handle.read(head, size, headBytes - size, size);
    if (bytesRead === 0) break;
    size += bytesRead;
  }
  return head.subarray(0, size);
}

async function hashFile(handle: FileHandle): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of handle.createReadStream({ start: 0, highWaterMark: headBytes }))
    hash.update(chunk as Uint8Array);
  return hash.digest('hex');
}

/** An error of the system as a usage error; an abort and a GatewayError stay as they are. */
function asUnreadable(label: string, error: unknown, path?: string): unknown {
  if (error instanceof GatewayError) return error;
  const code = getErrorCode(error);
  if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) return error;
  const hint =
    path !== undefined ? lookAtHint(path, code) : code === 'ENOSPC' ? 'set TMPDIR to a folder with room' : undefined;
  return usageError(
    `${label}: ${code === 'ENOSPC' ? 'the disk for temporary files is full' : describeReadError(error)}`,
    hint,
    error,
  );
}
