import { type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { usageError } from '../../errors.ts';
import { spool } from '../../images/input.ts';
import type { Context } from '../../cli/context.ts';
import { unreadable } from '../../cli/input/input-files.ts';

/** What a file is for, in messages. */
interface Purpose {
  /** `--prompts`, or what stands in its place: `jobs` */
  label: string;
  /** What to do about a folder: `name a file of JSON Lines`. */
  instead: string;
}

/** Opens a file that is read more than once: what comes through stdin (`-`) or a pipe goes to a file first. Throws GatewayError usage. */
export async function openLines(path: string, { label, instead }: Purpose, context: Context): Promise<FileHandle> {
  if (path === '-') return openSpooled(context.stdin.claim(label), context);
  const handle = await open(resolve(context.io.cwd, path), 'r').catch((error: unknown) => {
    throw unreadable(label, path, error);
  });
  context.atEnd(() => handle.close());
  const stats = await handle.stat();
  if (stats.isFile()) return handle;
  if (stats.isDirectory()) throw usageError(`${label} '${path}' is a folder`, instead);
  return openSpooled(handle.createReadStream({ autoClose: false }), context);
}

async function openSpooled(stream: AsyncIterable<Uint8Array>, context: Context): Promise<FileHandle> {
  const spooled = await spool(stream);
  context.atEnd(spooled.cleanup);
  const handle = await open(spooled.path, 'r');
  context.atEnd(() => handle.close());
  return handle;
}

/** Nothing is replaced behind the user's back. */
export function notUtf8(place: string, text: string): Error {
  const from = text.includes('\0') ? 'it looks like UTF-16: iconv -f UTF-16 -t UTF-8' : 'iconv -t UTF-8';
  return usageError(`${place}: it is not UTF-8 text`, `convert the file: ${from}`);
}

/** The text of a file from its beginning on, in pieces. Throws GatewayError usage where it is not UTF-8. */
export async function* textOf(handle: FileHandle, name: string): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const block = Buffer.allocUnsafe(256 * 1024);
  for (let position = 0; ;) {
    const { bytesRead } = await handle.read(block, 0, block.length, position);
    position += bytesRead;
    const bytes = block.subarray(0, bytesRead);
    let text: string;
    try {
      text = decoder.decode(bytes, { stream: bytesRead > 0 });
    } catch {
      throw notUtf8(name, bytes.toString('latin1'));
    }
    if (text !== '') yield text;
    if (bytesRead === 0) return;
  }
}
