import { isUtf8 } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { codeOf } from '../../errors.ts';

/** One line of a file, without its end. */
export interface Line {
  /** From 1. */
  number: number;
  text: string;
  /** Whether all its bytes are: what is not stands as U+FFFD in the text. */
  isUtf8: boolean;
  /** Whether a line feed ends it: the last line of a file that was torn has none. */
  whole: boolean;
  /** Where it begins, in bytes. */
  offset: number;
  /** Its length with its end. */
  bytes: number;
  /** It was longer than a reader takes, and its text is left out. */
  isTooLong?: true;
}

const blockBytes = 256 * 1024;
/** A longer line would not fit into memory beside the others, and its text not into a string of V8. */
const mostLineBytes = 256 * 1024 * 1024;
const lineFeed = 10;

/** The lines of an open file from its beginning; may be run through several times. The text of one that is too long is left out. */
export async function* readLines(handle: FileHandle, mostBytes = mostLineBytes): AsyncGenerator<Line, void> {
  const block = Buffer.allocUnsafe(blockBytes);
  let [number, offset] = [1, 0];
  /** The beginning of a line whose end was not read yet. */
  let [held, bytes]: [Buffer[], number] = [[], 0];
  function lineUpTo(part: Buffer, whole: boolean): Line {
    const isTooLong = bytes + part.length > mostBytes;
    const content = isTooLong ? Buffer.alloc(0) : held.length > 0 ? Buffer.concat([...held, part]) : part;
    const place = { number: number++, offset, bytes: bytes + part.length };
    const line: Line = { ...place, ...textOf(content, whole), whole, ...(isTooLong && { isTooLong }) };
    offset += line.bytes;
    [held, bytes] = [[], 0];
    return line;
  }
  for (let position = 0; ;) {
    const { bytesRead } = await handle.read(block, 0, blockBytes, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    let rest = block.subarray(0, bytesRead);
    for (let end = rest.indexOf(lineFeed) + 1; end > 0; end = rest.indexOf(lineFeed) + 1) {
      yield lineUpTo(rest.subarray(0, end), true);
      rest = rest.subarray(end);
    }
    bytes += rest.length;
    if (bytes > mostBytes) held = [];
    else if (rest.length > 0) held.push(Buffer.from(rest));
  }
  if (bytes > 0) yield lineUpTo(Buffer.alloc(0), false);
}

function textOf(bytes: Buffer, whole: boolean): Pick<Line, 'text' | 'isUtf8'> {
  const text = bytes.toString('utf8', 0, bytes.length - (whole ? 1 : 0));
  return { text: whole && text.endsWith('\r') ? text.slice(0, -1) : text, isUtf8: isUtf8(bytes) };
}

/** The file for reading, or undefined where there is none. */
export async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The lines of a file; without the file none. */
export async function* readFileLines(path: string): AsyncGenerator<Line, void> {
  const handle = await openIfThere(path);
  if (handle === undefined) return;
  try {
    yield* readLines(handle);
  } finally {
    await handle.close();
  }
}
