import { constants } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from '../files/temp-file.ts';
import { writeAnew, writeFully } from '../files/temp-file.ts';
import type { StoredBlob } from '../images/types.ts';
import { type KeptReply, recoverySchema } from './types.ts';

/** Bytes read at once; a multiple of three, so that pieces of Base64 join without padding. */
const blockBytes = 192 * 1024;
/** Shorter than any string that a reader takes for a picture. */
const pieceLength = 8 * 1024;

/**
 * Writes the reply to the first folder that takes it, as one file `<id>.json` that only its owner may read, and returns
 * its path. Pictures flow from file to file. Throws what the last folder said when none takes it; nothing is left then.
 */
export async function writeRecovery(
  reply: KeptReply,
  { folders, id }: { folders: readonly string[]; id: string },
): Promise<string> {
  let last: unknown = new Error('there is no folder for it');
  for (const folder of folders) {
    try {
      await makeFolder(folder, 0o700);
      const path = join(folder, `${id}.json`);
      await writeAnew(path, (handle) => fill(handle, reply));
      return path;
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

async function fill(handle: FileHandle, { images, body, document, ...head }: KeptReply): Promise<void> {
  const write = (text: string): Promise<void> => writeFully(handle, Buffer.from(text));
  const known = JSON.stringify({
    schema: recoverySchema,
    ...head,
    document: piecesOf(JSON.stringify(document ?? null)),
  });
  await write(`${known.slice(0, -1)},\n"images":[`);
  for (const [index, { declaredType, candidate, blob }] of images.entries()) {
    const facts = JSON.stringify({ declaredType, candidate, bytes: blob.bytes, sha256: blob.sha256 });
    await write(`${index === 0 ? '' : ','}\n${facts.slice(0, -1)},"data":"`);
    await writeBase64(blob, write);
    await write('"}');
  }
  await write(']');
  if (body) {
    await write(',\n"body":"');
    await writeBase64(body, write);
    await write('"');
  }
  await write('}\n');
}

/** Text in short strings: a reader that diverts long Base64 would take a long one for a picture. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += pieceLength) pieces.push(text.slice(at, at + pieceLength));
  return pieces;
}

async function writeBase64(
  { content }: Pick<StoredBlob, 'content'>,
  write: (text: string) => Promise<void>,
): Promise<void> {
  if ('data' in content) {
    for (let at = 0; at < content.data.byteLength; at += blockBytes)
      await write(Buffer.from(content.data.subarray(at, at + blockBytes)).toString('base64'));
    return;
  }
  const from = await open(content.file, constants.O_RDONLY);
  try {
    for (let at = 0; ;) {
      const block = await readFully(from, at);
      if (block.byteLength === 0) return;
      await write(block.toString('base64'));
      at += block.byteLength;
    }
  } finally {
    await from.close();
  }
}

/** A whole block but at the end of the file, for only whole ones join without padding. */
async function readFully(from: FileHandle, position: number): Promise<Buffer> {
  const block = Buffer.allocUnsafe(blockBytes);
  let filled = 0;
  while (filled < blockBytes) {
    const { bytesRead } = await from.read(block, filled, blockBytes - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return block.subarray(0, filled);
}

/**
 * The last resort where no folder takes a recovery file: the temporary files get names that nobody cleans up. It needs no
 * room on the disk. Returns their paths.
 */
export async function leaveTempFiles({ images, body }: KeptReply, id: string): Promise<string[]> {
  const left: string[] = [];
  for (const { content } of [...images.map((image) => image.blob), ...(body ? [body] : [])]) {
    if (!('file' in content)) continue;
    const path = join(dirname(content.file), `gateway-cli-${id}-${left.length + 1}`);
    try {
      await rename(content.file, path);
      left.push(path);
    } catch {
      // A file that cannot be renamed is gone, or will be: there is nothing left to try.
    }
  }
  return left;
}
