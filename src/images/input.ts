import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { codeOf, GatewayError, usageError } from '../errors.ts';
import { readReason, writeReason } from '../files/file-reason.ts';
import { lookAt } from '../shell-word.ts';
import { imageFacts } from './image-type.ts';
import { createTempFile, removeFile, writeFully } from '../files/temp-file.ts';

/** An input image, of which only the first bytes were read. */
export interface InputImage {
  /** From the bytes. */
  mimeType: string;
  bytes: number;
  /** Lower-case hex; only if requested. */
  sha256: string | undefined;
  /** The file with the bytes, which can be read repeatedly. */
  path: string;
  width: number | undefined;
  height: number | undefined;
  /** Removes the temporary file of a pipe; does nothing for a file of the user. */
  cleanup(): Promise<void>;
}

/** How an input is read. */
export interface InputOptions {
  /** The name in messages (`-i -`); by default the path. */
  label?: string | undefined;
  /** Computes the SHA-256 too, which reads the whole file. */
  hash?: boolean | undefined;
  /** The type that its host declared, for messages. */
  declaredType?: string | undefined;
}

const headBytes = 256 * 1024;
const mebibyte = 1024 * 1024;

/**
 * Reads the type and size of an input image by its bytes. A pipe, such as bash's `<(…)`, is written to a temporary file first.
 * Throws GatewayError usage: unreadable, empty, or not an image.
 */
export async function readInputImage(path: string, options: InputOptions = {}): Promise<InputImage> {
  const label = options.label ?? JSON.stringify(path);
  const handle = await open(path, 'r').catch((error: unknown) => {
    throw asUnreadable(label, error, path);
  });
  const stats = await handle.stat();
  // With the same handle: a FIFO that is closed and opened again has lost its writer.
  if (!stats.isFile() && !stats.isDirectory()) return readPipe(handle, { ...options, label });
  try {
    const head = await readHead(handle);
    const { mimeType, width, height } = await imageFacts(head);
    if (head.length === 0) throw usageError(`${label} is empty`, 'name an image file');
    if (mimeType === undefined)
      throw usageError(
        `${label} is ${describeOther(options)}`,
        'PNG, JPEG, WebP, GIF, AVIF, HEIC, BMP and TIFF are known',
      );
    const sha256 = options.hash ? await hashFile(handle) : undefined;
    return { mimeType, bytes: stats.size, sha256, path, width, height, cleanup: () => Promise.resolve() };
  } catch (error) {
    throw asUnreadable(label, error, path);
  } finally {
    await handle.close();
  }
}

/** Describes a file that is not an image, with the type that its host declared. */
function describeOther({ declaredType }: InputOptions): string {
  if (declaredType === undefined || declaredType.startsWith('image/')) return 'not an image of a known type';
  return declaredType === 'text/html' ? 'a web page (text/html), not an image' : `${declaredType}, not an image`;
}

async function readPipe(handle: FileHandle, options: InputOptions & { label: string }): Promise<InputImage> {
  const spooled = await spool(handle.createReadStream(), options);
  try {
    return { ...(await readInputImage(spooled.path, options)), cleanup: spooled.cleanup };
  } catch (error) {
    await spooled.cleanup();
    throw error;
  }
}

/**
 * Writes a stream to a temporary file, so that its size is known. Its `cleanup` can be called twice. Throws GatewayError usage:
 * unreadable, larger than `capMebibytes`, disk full.
 */
export async function spool(
  stream: AsyncIterable<Uint8Array>,
  { capMebibytes: cap = Infinity, label = 'stdin' }: { capMebibytes?: number; label?: string | undefined } = {},
): Promise<{ path: string; cleanup(): Promise<void> }> {
  const file = await createTempFile(tmpdir()).catch((error: unknown) => {
    throw usageError(
      `cannot keep ${label} in ${JSON.stringify(tmpdir())}: ${writeReason(error)}`,
      'set TMPDIR to a folder that can be written',
      error,
    );
  });
  const cleanup = (): Promise<void> => removeFile(file.path);
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      if (bytes + chunk.byteLength > cap * mebibyte)
        throw usageError(`${label} holds more than ${cap} MiB`, 'send less');
      await writeFully(file.handle, chunk, bytes);
      bytes += chunk.byteLength;
    }
    await file.handle.close();
    return { path: file.path, cleanup };
  } catch (error) {
    await file.handle.close();
    await cleanup();
    throw asUnreadable(label, error);
  }
}

async function readHead(handle: FileHandle): Promise<Uint8Array> {
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
  const code = codeOf(error);
  if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) return error;
  const hint =
    path !== undefined ? lookAt(path, code) : code === 'ENOSPC' ? 'set TMPDIR to a folder with room' : undefined;
  return usageError(
    `${label}: ${code === 'ENOSPC' ? 'the disk for temporary files is full' : readReason(error)}`,
    hint,
    error,
  );
}
