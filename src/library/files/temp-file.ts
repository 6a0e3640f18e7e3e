import { randomUUID } from 'node:crypto';
import { closeSync, type Stats } from 'node:fs';
import { type FileHandle, link, lstat, mkdir, open, realpath, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { getErrorCode, GatewayError } from '../errors.ts';
import { describeWriteError } from './file-reason.ts';

/** 90 random bits in hex, from the fastest source that Node has. */
export function randomNonce(): string {
  return randomUUID().replaceAll('-', '').slice(0, 24);
}

/** The name of an unfinished file or folder. */
function partName(nonce: string): string {
  return `.gateway-cli-${nonce}.part`;
}

/** Whether a name is that of an unfinished file of a run: its nonce has no mark of a process. */
export function isPartName(name: string): boolean {
  return /^\.gateway-cli-[0-9a-f]{24}\.part$/.test(name);
}

/** An unfinished file, in the folder of its final name. */
export interface TempFile {
  path: string;
  handle: FileHandle;
}

interface TempFileOptions {
  /** Makes a unique name. */
  nonce?: (() => string) | undefined;
  /** The permissions; by default only the owner may read the file. */
  mode?: number;
}

type Fill = (handle: FileHandle) => Promise<void>;

/** Creates `.gateway-cli-<nonce>.part`, open for reading and writing. Throws errors of the system. */
export async function createTempFile(
  folder: string,
  { nonce = randomNonce, mode = 0o600 }: TempFileOptions = {},
): Promise<TempFile> {
  const path = join(folder, partName(nonce()));
  return { path, handle: await open(path, 'wx+', mode) };
}

/** Creates a file in a folder, removes it again and returns its stats. Throws errors of the system. */
export async function statNewFile(folder: string, options?: TempFileOptions): Promise<Stats> {
  const { path, handle } = await createTempFile(folder, options);
  try {
    return await handle.stat();
  } finally {
    await handle.close().catch(() => undefined);
    await removeFile(path);
  }
}

/** The mode of a new file in a folder: 0666 without the umask, or as the folder's own rules define. */
export async function newFileMode(folder: string): Promise<number> {
  return (await statNewFile(folder, { mode: 0o666 })).mode & 0o777;
}

/** Writes a temporary file and syncs it; returns its path. Throws errors of the system and of `fill`, and leaves no file then. */
export async function writeTempFile(
  folder: string,
  fill: Fill,
  { nonce = randomNonce, mode = 0o600 }: TempFileOptions = {},
): Promise<string> {
  const path = join(folder, partName(nonce()));
  await writeNew(path, fill, mode);
  return path;
}

/** Writes a new file and syncs it. Throws errors of the system and of `fill`, and leaves no file of its own then. */
async function writeNew(path: string, fill: Fill, mode: number): Promise<void> {
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

/** Replaces a file atomically: the old content stays until the new is complete. Throws errors of the system and of `fill`. */
export async function writeAtomically(path: string, fill: Fill, options: TempFileOptions = {}): Promise<void> {
  await requireReplaceable(path);
  const temp = await writeTempFile(dirname(path), fill, options);
  try {
    await rename(temp, path);
  } catch (error) {
    await removeFile(temp);
    throw error;
  }
  await syncFolder(dirname(path));
}

/** The options for giving a temporary file its final name. */
export interface Placing {
  /** Size of the file in bytes. */
  bytes: number;
  /** Replaces an existing regular file, also through a link. */
  replace: boolean;
  /** Replaced in tests of file systems without links. */
  linkFile?: typeof link | undefined;
}

/**
 * Gives a temporary file its final name atomically and removes the temporary name. Without `replace` an existing file stays,
 * even a dangling link: EEXIST. Throws errors of the system.
 */
export async function placeFile(temp: string, final: string, placing: Placing): Promise<void> {
  if (!placing.replace) await linkNew(temp, final, placing);
  else await replaceFile(temp, await resolveLink(final), placing.bytes);
  await syncFolder(dirname(final));
}

/** The file that a link leads to, so that the link stays, as with a shell's `>`. Other paths, and a dangling link, stay as they are. */
async function resolveLink(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

/** The errors of `link` on file systems without links, across disks and on unusual mounts. */
export const linkErrors = new Set(
  'EPERM EACCES ENOTSUP EOPNOTSUPP EXDEV ENOSYS EMLINK EINVAL EISDIR UNKNOWN'.split(' '),
);

async function linkNew(temp: string, final: string, { bytes, linkFile = link }: Placing): Promise<void> {
  try {
    await linkFile(temp, final);
  } catch (error) {
    if (!linkErrors.has(getErrorCode(error) ?? '')) throw error;
    await writeNew(final, (to) => copyFrom(temp, to, bytes), 0o666);
  }
  // The file has its name; the end of the run removes the temporary one again.
  await removeFile(temp).catch(() => {});
}

async function replaceFile(temp: string, final: string, bytes: number): Promise<void> {
  await requireReplaceable(final);
  try {
    await rename(temp, final);
  } catch (error) {
    if (getErrorCode(error) !== 'EXDEV') throw error;
    await writeAtomically(final, (to) => copyFrom(temp, to, bytes), { mode: 0o666 });
    await removeFile(temp);
  }
}

/** Throws the reason in words if a rename would replace something else than a file, such as /dev/null or a pipe that has a reader. */
export async function requireReplaceable(path: string): Promise<void> {
  const old = await lstat(path).catch(() => undefined);
  if (old && !old.isFile() && !old.isSymbolicLink())
    throw new Error(old.isDirectory() ? 'it is a folder' : 'it is a device, a pipe or a socket');
}

async function copyFrom(path: string, to: FileHandle, bytes: number): Promise<void> {
  const from = await open(path, 'r');
  try {
    await copyRange(from, to, { offset: 0, bytes });
  } finally {
    await from.close().catch(() => undefined);
  }
}

/** Writes a file, whole or not at all; only `force` replaces a file. Throws GatewayError not-written, and the exceptions of `fill`. */
export async function writeNewFile(
  output: string,
  fill: (append: (piece: string | Uint8Array) => Promise<void>) => Promise<void>,
  { cwd, force, nonce }: { cwd: string; force: boolean; nonce?: TempFileOptions['nonce'] },
): Promise<void> {
  const path = resolve(cwd, output);
  let bytes = 0;
  let temp: string | undefined;
  const fillTemp: Fill = (handle) =>
    fill(async (piece) => {
      bytes += Buffer.byteLength(piece);
      await handle.appendFile(piece);
    });
  try {
    temp = await writeTempFile(dirname(path), fillTemp, { nonce, mode: 0o666 });
    await placeFile(temp, path, { bytes, replace: force });
  } catch (error) {
    if (temp !== undefined) await removeFile(temp).catch(() => {});
    throw notWritten(output, error);
  }
}

/** A part of a file, in bytes. */
export interface Range {
  offset: number;
  bytes: number;
}

const blockBytes = 512 * 1024;

/** Bytes before the requested part that are read with it: parts are not read quite in the order in which they were written. */
const backBytes = 64 * 1024;

/**
 * Reads parts of a file in any order; parts that are near each other are read together. Returns a Buffer instead of a promise if
 * the part was read with another one.
 */
export function createRangeReader(handle: FileHandle | undefined): (range: Range) => Buffer | Promise<Buffer> {
  let block = { from: 0, bytes: Buffer.alloc(0) };
  const cut = ({ offset, bytes }: Range): Buffer =>
    block.bytes.subarray(offset - block.from, offset - block.from + bytes);
  async function readAt(range: Range): Promise<Buffer> {
    const { offset, bytes } = range;
    const from = Math.max(0, offset - backBytes);
    const buffer = Buffer.allocUnsafe(Math.max(blockBytes, offset - from + bytes));
    const { bytesRead = 0 } = (await handle?.read(buffer, 0, buffer.length, from)) ?? {};
    block = { from, bytes: buffer.subarray(0, bytesRead) };
    return cut(range);
  }
  return (range) => {
    const { offset, bytes } = range;
    const isThere = offset >= block.from && offset + bytes <= block.from + block.bytes.length;
    return isThere ? cut(range) : readAt(range);
  };
}

const copyBytes = 1024 * 1024;

/** Appends a part of one file to another; resolves with its last byte. */
export async function copyRange(
  from: FileHandle,
  to: FileHandle,
  { offset, bytes }: Range,
): Promise<number | undefined> {
  const block = Buffer.allocUnsafe(Math.min(bytes, copyBytes));
  let last: number | undefined;
  for (let at = 0; at < bytes;) {
    const { bytesRead } = await from.read(block, 0, Math.min(block.length, bytes - at), offset + at);
    if (bytesRead === 0) throw new Error('the file is shorter than it was');
    await writeFully(to, block.subarray(0, bytesRead));
    last = block[bytesRead - 1];
    at += bytesRead;
  }
  return last;
}

/** Writes all bytes at a position, by default after the last ones: a single write can be partial. */
export async function writeFully(handle: FileHandle, bytes: Uint8Array, position?: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength;) {
    const to = position === undefined ? null : position + done;
    const { bytesWritten } = await handle.write(bytes, done, bytes.byteLength - done, to);
    if (bytesWritten === 0) throw new Error('nothing could be written');
    done += bytesWritten;
  }
}

/** Makes new names in a folder durable, on systems that support it (not Windows). */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close().catch(() => {});
}

/** Removes a file, if it exists. */
export function removeFile(path: string): Promise<void> {
  return unlink(path).catch(ignoreMissing);
}

/** For `catch`: returns undefined if a file does not exist. Throws other errors. */
export function ignoreMissing(error: unknown): undefined {
  if (getErrorCode(error) !== 'ENOENT') throw error;
}

/** A paid result that could not be written (exit 12). */
export function notWritten(path: string, error: unknown, hint?: string): GatewayError {
  if (error instanceof GatewayError) return hint === undefined ? error : error.withDefaults({ hint });
  return new GatewayError('not-written', `cannot write ${JSON.stringify(path)}: ${describeWriteError(error)}`, {
    cause: error,
    hint,
    sent: 'yes',
    retryable: false,
  });
}

/**
 * Makes a folder and its missing parents. Throws errors of the system. Node's own `recursive` never ends if the parent exists
 * and cannot contain folders (`/proc/x`).
 */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (getErrorCode(error) === 'EEXIST') return requireFolder(path, error);
    if (getErrorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path), mode);
    await mkdir(path, { mode }).catch((again: unknown) => {
      // Another process made the folder meanwhile.
      if (getErrorCode(again) !== 'EEXIST') throw again;
      return requireFolder(path, again);
    });
  }
  await syncFolder(dirname(path));
}

async function requireFolder(path: string, error: unknown): Promise<void> {
  if (!(await stat(path)).isDirectory()) throw error;
}

/** Whether a path is a folder or a link to one; false if that cannot be determined. */
export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

/** Closes a file that was only read, or is synced: an error then means nothing. */
export function closeQuietly(descriptor: number): void {
  try {
    closeSync(descriptor);
  } catch {
    // An error here loses nothing.
  }
}
