import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { writeFully } from './temp-file.ts';

/** A stretch of a file, in bytes. */
export interface Range {
  offset: number;
  bytes: number;
}

/** So many bytes are copied at once. */
const blockBytes = 1024 * 1024;
const lineFeed = 10;

/** The name of the file beside `results.jsonl` that keeps its lines which nobody can read: `results.aside.jsonl`. */
export function quarantineFile(path: string): string {
  return path.replace(/\.jsonl$/, '.aside.jsonl');
}

/** Opens a file to append to it, creates it where it is missing, and follows no symbolic link. */
export function openToAppend(path: string, mode = 0o666): Promise<FileHandle> {
  // Windows has no such flag.
  const noFollow = (constants.O_NOFOLLOW as number | undefined) ?? 0;
  return open(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | noFollow, mode);
}

/** Appends stretches of a file to the one that keeps what cannot be read. Resolves when the disk has them. */
export async function quarantine(path: string, from: FileHandle, ranges: readonly Range[]): Promise<void> {
  if (ranges.length === 0) return;
  const to = await openToAppend(quarantineFile(path));
  try {
    for (const range of ranges) {
      const last = await copyRange(from, to, range);
      if (last !== lineFeed) await to.appendFile('\n');
    }
    await to.datasync();
  } finally {
    await to.close();
  }
}

/** Appends a stretch of one file to another; resolves with its last byte. */
export async function copyRange(from: FileHandle, to: FileHandle, { offset, bytes }: Range): Promise<number> {
  const block = Buffer.allocUnsafe(Math.min(bytes, blockBytes));
  let last = lineFeed;
  for (let at = 0; at < bytes;) {
    const { bytesRead } = await from.read(block, 0, Math.min(block.length, bytes - at), offset + at);
    if (bytesRead === 0) throw new Error('the file is shorter than it was');
    await writeFully(to, block.subarray(0, bytesRead));
    last = block[bytesRead - 1] as number;
    at += bytesRead;
  }
  return last;
}
