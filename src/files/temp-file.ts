import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, GatewayError } from '../errors.ts';
import { writeReason } from './file-reason.ts';

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

/** What the file system of a folder says of a new file there, which is gone again then. Throws what the system says. */
export async function statNewFile(folder: string, options?: { nonce?: Nonce; mode?: number }): Promise<Stats> {
  const { path, handle } = await createTempFile(folder, options);
  try {
    return await handle.stat();
  } finally {
    await handle.close();
    await removeFile(path);
  }
}

/** Writes a temporary file whole and forces it to the disk; returns its path. Throws what the system or `fill` says, and leaves nothing then. */
export async function writeTempFile(
  folder: string,
  fill: (handle: FileHandle) => Promise<void>,
  { nonce = randomNonce, mode = 0o600 }: { nonce?: Nonce; mode?: number } = {},
): Promise<string> {
  const path = join(folder, partName(nonce()));
  await writeNew(path, fill, mode);
  return path;
}

/** Writes a file that was not there, and forces it to the disk. Throws what the system or `fill` says, and leaves nothing then. */
export async function writeNew(path: string, fill: (handle: FileHandle) => Promise<void>, mode = 0o666): Promise<void> {
  const handle = await open(path, 'wx+', mode);
  try {
    await fill(handle);
    await handle.datasync();
    await handle.close();
  } catch (error) {
    await handle.close().catch(() => {});
    await removeFile(path);
    throw error;
  }
}

/** Writes a file anew, whole or not at all: what has its name stays until then. Throws what the system or `fill` says. */
export async function writeAnew(
  path: string,
  fill: (handle: FileHandle) => Promise<void>,
  options: { nonce?: Nonce; mode?: number } = {},
): Promise<void> {
  const temp = await writeTempFile(dirname(path), fill, options);
  try {
    await rename(temp, path);
  } catch (error) {
    await removeFile(temp);
    throw error;
  }
}

/** Makes a name last that was just given; not every system can (Windows). The file stands either way. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close().catch(() => {});
}

/** Writes all bytes at a position, else behind the last ones: one write may take fewer without saying so. */
export async function writeFully(handle: FileHandle, bytes: Uint8Array, position?: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength;) {
    const to = position === undefined ? null : position + done;
    const { bytesWritten } = await handle.write(bytes, done, bytes.byteLength - done, to);
    if (bytesWritten === 0) throw new Error('nothing could be written');
    done += bytesWritten;
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

/** The name of a file or a folder that is not finished; the nonce is nobody else's. */
export function partName(nonce: string): string {
  return `.gateway-cli-${nonce}.part`;
}

/** Whether a name is one of those with a random nonce: nobody but who holds the folder writes them. */
export function isPartName(name: string): boolean {
  return /^\.gateway-cli-[0-9a-f]{24}\.part$/.test(name);
}
