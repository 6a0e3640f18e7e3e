import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, GatewayError } from '../errors.ts';
import { writeReason } from './file-reason.ts';
import { partName } from './part-name.ts';

/** Makes names that nobody else has; replaced in tests. */
export type Nonce = () => string;

/** 90 random bits in hex; of all sources Node has them at hand for this one. */
export function randomNonce(): string {
  return randomUUID().replaceAll('-', '').slice(0, 24);
}

/** A file that is not finished yet, in the folder where it will stand: only its owner may read it. */
export interface TempFile {
  path: string;
  handle: FileHandle;
}

/** Creates `.gateway-cli-<nonce>.part`, mode 0600, open for reading and writing. Throws what the system says. */
export async function createTempFile(
  folder: string,
  { nonce = randomNonce, mode = 0o600 }: { nonce?: Nonce; mode?: number } = {},
): Promise<TempFile> {
  const path = join(folder, partName(nonce()));
  return { path, handle: await open(path, 'wx+', mode) };
}

/** Writes a file anew, whole or not at all: what has its name stays until then. Throws what the system or `fill` says. */
export async function writeAnew(
  path: string,
  fill: (handle: FileHandle) => Promise<void>,
  options: { nonce?: Nonce; mode?: number } = {},
): Promise<void> {
  const temp = await createTempFile(dirname(path), options);
  try {
    await fill(temp.handle);
    await temp.handle.datasync();
    await temp.handle.close();
    await rename(temp.path, path);
  } catch (error) {
    await temp.handle.close();
    await removeFile(temp.path);
    throw error;
  }
}

/** Writes all bytes at a position: one write may take fewer without saying so. */
export async function writeFully(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.byteLength - done, position + done);
    if (bytesWritten === 0) throw new Error('nothing could be written');
    done += bytesWritten;
  }
}

/** Copies so many bytes from the start of one open file to another. */
export async function copyBytes(from: FileHandle, to: FileHandle, bytes: number): Promise<void> {
  const block = Buffer.allocUnsafe(Math.max(1, Math.min(bytes, 256 * 1024)));
  for (let at = 0; at < bytes;) {
    const { bytesRead } = await from.read(block, 0, Math.min(block.length, bytes - at), at);
    if (bytesRead === 0) throw new Error('the temporary file is shorter than it was');
    await writeFully(to, block.subarray(0, bytesRead), at);
    at += bytesRead;
  }
}

/** Removes a file of ours; that it is gone already is fine. */
export async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

/** A paid result that could not be written (exit 12); `hint`: what to do about it. */
export function notWritten(path: string, error: unknown, hint?: string): GatewayError {
  if (error instanceof GatewayError) return hint === undefined ? error : error.with({ hint });
  return new GatewayError('not-written', `cannot write ${JSON.stringify(path)}: ${writeReason(error)}`, {
    cause: error,
    hint,
    sent: 'yes',
    retryable: false,
  });
}
