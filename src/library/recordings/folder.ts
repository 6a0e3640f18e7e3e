import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { chmod, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { getErrorCode, settingError } from '../errors.ts';
import { describeReadError } from '../files/file-reason.ts';
import { placeFile } from '../files/temp-file.ts';
import { parseHead, readFirstLine, type RecordingHead } from './format.ts';

/** A file of a folder: `<folder of the request>/1.jsonl`. */
export interface Recording extends RecordingHead {
  path: string;
}

/** The names of the folders of requests, sorted. Throws GatewayError usage if there are none. */
export async function listRequestFolders(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    const words: Record<string, string> = { ENOENT: 'there is no such folder', ENOTDIR: 'it is not a folder' };
    const reason = words[getErrorCode(error) ?? ''] ?? describeReadError(error);
    throw settingError(`'${folder}': ${reason}`, { reason: 'no-recordings', cause: error });
  });
  const found = names.filter((name) => /(?:^|-)[0-9a-f]{32}$/.test(name)).toSorted();
  if (found.length > 0) return found;
  throw settingError(`'${folder}': there is no recording in it`, { reason: 'no-recordings' });
}

/**
 * The files of a request, by their numbers; none if it has no folder that can be read. Links are followed; a pipe or a device would
 * never end. The folder is read synchronously, as recordings are: turns through Node's threads take several times as long.
 */
export function listFiles(folder: string, request: string): string[] {
  return listNumbers(join(folder, request))
    .map((number) => join(folder, request, fileName(number)))
    .filter(isFile);
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The numbers of the files of a request, from the lowest one. */
function listNumbers(path: string): number[] {
  let names: string[];
  try {
    names = readdirSync(path);
  } catch {
    return [];
  }
  const numbers = names.flatMap((name) => /^([1-9]\d{0,8})\.jsonl$/.exec(name)?.[1] ?? []);
  return numbers.map(Number).toSorted((a, b) => a - b);
}

function fileName(number: number): string {
  return `${number}.jsonl`;
}

/** Reads files as recordings, in the order in which they were sent. A file that is no recording, or cannot be read, is passed over. */
export function readRecordings(paths: readonly string[]): Recording[] {
  return paths.flatMap((path) => findRecording(path) ?? []).toSorted((a, b) => a.at - b.at);
}

/** Reads a file as a recording. Undefined if the file is none or cannot be read. */
export function findRecording(path: string): Recording | undefined {
  try {
    const head = parseHead(readFirstLine(path));
    return head && { path, ...head };
  } catch {
    return undefined;
  }
}

/** Whether a file has its end: a copy can be torn. Throws errors of the system. */
export function hasEnd(path: string): boolean {
  const fd = openSync(path, 'r');
  try {
    const tail = Buffer.alloc(64);
    const read = readSync(fd, tail, 0, tail.length, Math.max(0, fstatSync(fd).size - tail.length));
    return /\n\{"ended":"\w+"\}\s*$/.test(tail.toString('latin1', 0, read));
  } finally {
    closeSync(fd);
  }
}

/** Gives a temporary file of `bytes` bytes the next number among the files of a request. Throws errors of the system. */
export async function placeRecording(
  temp: string,
  { folder, request, bytes }: { folder: string; request: string; bytes: number },
): Promise<void> {
  const path = join(folder, request);
  await mkdir(path).catch((error: unknown) => {
    if (getErrorCode(error) !== 'EEXIST') throw error;
  });
  // Another process can take a number meanwhile.
  for (let number = (listNumbers(path).at(-1) ?? 0) + 1; ; number++) {
    const final = join(path, fileName(number));
    try {
      await placeFile(temp, final, { bytes, replace: false });
      // A file system without links gets a copy, with the mode of an ordinary file.
      return await chmod(final, 0o600);
    } catch (error) {
      if (getErrorCode(error) !== 'EEXIST') throw error;
    }
  }
}
