import { chmod, lstat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { codeOf, GatewayError } from '../errors.ts';
import { freeNumber, newFileMode, placeFile, type Placing } from '../files/temp-file.ts';
import type { CandidateNames } from './naming.ts';
import { type Nonce, notWritten, randomNonce, removeFile, writeFully, writeTempFile } from '../files/temp-file.ts';
import type { StoredBlob } from '../images/types.ts';
import type { JsonObject } from '../json.ts';

/** How a picture is published. */
export interface PublishOptions extends Pick<Placing, 'nonce' | 'linkFile'> {
  /** The current folder, against which names are read. */
  cwd: string;
  /** Names that the user gave may replace a file. */
  force: boolean;
}

/** So often somebody else may take the name that was free. */
const mostTries = 1000;

/**
 * Gives a stored blob the first of the names that is free, and returns it. A name appears only with all its bytes, and
 * takes the place of a file only where the user gave that name and `force`. Throws GatewayError not-written: then the
 * blob's own file is still there.
 */
export async function publish(blob: StoredBlob, names: CandidateNames, options: PublishOptions): Promise<string> {
  const isTaken = (at: number): Promise<boolean> => isThere(names(at)?.path, options.cwd);
  let last = '';
  let temp: string | undefined;
  try {
    for (let at = 0, tries = 0; tries < mostTries; tries++) {
      const name = names(at);
      if (name === undefined) break;
      last = name.path;
      const final = resolve(options.cwd, last);
      temp ??= await readyFile(blob, dirname(final), options.nonce ?? randomNonce);
      const replace = name.given && options.force;
      if (await tryName(temp, final, { ...options, bytes: blob.bytes, replace })) return last;
      at = await freeNumber(at + 1, isTaken);
    }
  } catch (error) {
    await removeOwn(temp, blob);
    throw notWritten(last, error);
  }
  await removeOwn(temp, blob);
  throw new GatewayError('not-written', `cannot write ${JSON.stringify(last)}: it already exists`, {
    sent: 'yes',
    retryable: false,
  });
}

/** What cannot be looked at is told by whoever writes there. */
async function isThere(path: string | undefined, cwd: string): Promise<boolean> {
  if (path === undefined) return false;
  return lstat(resolve(cwd, path)).then(
    () => true,
    () => false,
  );
}

/** False when the name is taken. */
async function tryName(temp: string, final: string, placing: Placing): Promise<boolean> {
  try {
    await placeFile(temp, final, placing);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** The blob as a file with the mode of a finished one: its own, or one beside the final name for bytes in memory. */
async function readyFile({ content }: StoredBlob, folder: string, nonce: Nonce): Promise<string> {
  if ('data' in content) return writeBeside(folder, content.data, nonce);
  await chmod(content.file, await newFileMode(folder, nonce));
  return content.file;
}

/** A temporary copy of bytes is of no use after a failure; the blob's own file is. */
async function removeOwn(temp: string | undefined, { content }: StoredBlob): Promise<void> {
  if (temp !== undefined && 'data' in content) await removeFile(temp);
}

/** Writes bytes to a finished temporary file in a folder. Throws what the system says, and leaves nothing then. */
function writeBeside(folder: string, bytes: Uint8Array, nonce: Nonce = randomNonce): Promise<string> {
  return writeTempFile(folder, (handle) => writeFully(handle, bytes, 0), { nonce, mode: 0o666 });
}

/** The name of a picture's sidecar. */
export function sidecarPath(imagePath: string): string {
  return `${imagePath}.json`;
}

/**
 * Writes `<image>.json` and returns its path. What has that name is replaced with `force` only.
 * Throws GatewayError not-written.
 */
export async function writeSidecar(
  imagePath: string,
  facts: JsonObject,
  { cwd, force }: { cwd: string; force: boolean },
): Promise<string> {
  const path = sidecarPath(imagePath);
  const final = resolve(cwd, path);
  const bytes = Buffer.from(`${JSON.stringify(facts, null, 2)}\n`);
  let temp: string | undefined;
  try {
    temp = await writeBeside(dirname(final), bytes);
    await placeFile(temp, final, { bytes: bytes.length, replace: force });
  } catch (error) {
    if (temp !== undefined) await removeFile(temp);
    throw notWritten(path, error);
  }
  return path;
}
