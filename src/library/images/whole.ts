import { type FileHandle, open } from 'node:fs/promises';
import { sniffType } from './image-type.ts';
import type { StoredBlob } from './types.ts';

/** Reads a part of an image; fewer bytes at its end. */
type ReadPart = (offset: number, length: number) => Promise<Buffer>;

/** Whether a PNG, JPEG, WebP or GIF ends before its end: the bytes came whole, but the service or a relay had cut them. */
export async function isCutImage(blob: StoredBlob): Promise<boolean> {
  const endsEarly = endings[sniffType(blob.head) ?? ''];
  if (endsEarly === undefined) return false;
  const { content, bytes } = blob;
  if ('data' in content) {
    const data = Buffer.from(content.data.buffer, content.data.byteOffset, content.data.byteLength);
    return endsEarly(async (offset, length) => data.subarray(offset, offset + length), bytes);
  }
  const handle = await open(content.file, 'r');
  try {
    return await endsEarly(createPartReader(handle), bytes);
  } finally {
    await handle.close().catch(() => undefined);
  }
}

function createPartReader(handle: FileHandle): ReadPart {
  return async (position, length) => {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(length), position });
    return buffer.subarray(0, bytesRead);
  };
}

const endings: Readonly<Record<string, (read: ReadPart, bytes: number) => Promise<boolean>>> = {
  'image/png': pngEndsEarly,
  'image/jpeg': async (read, bytes) => !(await readTail(read, bytes)).includes('\xff\xd9', 0, 'latin1'),
  'image/webp': async (read, bytes) => {
    const size = await read(4, 4);
    return size.length < 4 || bytes < size.readUInt32LE() + 8;
  },
  'image/gif': async (read, bytes) => !(await readTail(read, bytes)).includes(';'),
};

/** Bytes at the end of a file in which the end of the image is searched: other data can follow it. */
const tailBytes = 64 * 1024;

function readTail(read: ReadPart, bytes: number): Promise<Buffer> {
  return read(Math.max(0, bytes - tailBytes), tailBytes);
}

/** More chunks than encoders write: an image with more counts as whole. */
const mostChunks = 100_000;

async function pngEndsEarly(read: ReadPart, bytes: number): Promise<boolean> {
  for (let at = 8, chunks = 0; chunks < mostChunks; chunks++) {
    const head = await read(at, 8);
    if (head.length < 8) return true;
    at += 12 + head.readUInt32BE();
    if (at > bytes) return true;
    if (head.toString('latin1', 4) === 'IEND') return false;
  }
  return false;
}
