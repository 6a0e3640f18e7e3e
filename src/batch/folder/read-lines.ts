import { isAscii, isUtf8 } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { codeOf } from '../../errors.ts';

/** One line of a file, without its end. */
export interface Line {
  /** From 1, at the offset where reading began. */
  number: number;
  text: string;
  /** Whether all its bytes are UTF-8; other bytes are U+FFFD in the text. */
  isUtf8: boolean;
  /** Whether a line feed ends it: the last line of a torn file has none. */
  whole: boolean;
  /** Where it begins, in bytes. */
  offset: number;
  /** Its length with its end. */
  bytes: number;
  /** It is longer than a reader takes, and its text is left out. */
  isTooLong: boolean;
}

const blockBytes = 256 * 1024;
/** A longer line would not fit into memory beside the others, and its text not into a string of V8. */
const mostLineBytes = 256 * 1024 * 1024;
const lineFeed = 10;

/**
 * The lines of an open file from an offset on, those of one block together: a promise for each line would take most of the time.
 * The text of a line of more than `mostBytes` is left out.
 */
export async function* readLines(
  handle: FileHandle,
  { from = 0, mostBytes = mostLineBytes }: { from?: number; mostBytes?: number } = {},
): AsyncGenerator<Line[], void> {
  const block = Buffer.allocUnsafe(blockBytes);
  let [number, offset] = [1, from];
  // The beginning of a line that continues in the next block.
  let [begun, begunBytes]: [Buffer[], number] = [[], 0];
  function endLine(part: Buffer, whole: boolean): Line {
    const bytes = begunBytes + part.length;
    const isTooLong = bytes > mostBytes;
    const content = isTooLong ? Buffer.alloc(0) : begunBytes > 0 ? Buffer.concat([...begun, part]) : part;
    const line = { number: number++, ...decodeLine(content, whole), whole, offset, bytes, isTooLong };
    offset += bytes;
    [begun, begunBytes] = [[], 0];
    return line;
  }
  for (let position = from; ;) {
    const { bytesRead } = await handle.read(block, 0, blockBytes, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const read = block.subarray(0, bytesRead);
    const lines: Line[] = [];
    let start = 0;
    for (let end = read.indexOf(lineFeed) + 1; end > 0; end = read.indexOf(lineFeed, start) + 1) {
      lines.push(endLine(read.subarray(start, end), true));
      start = end;
    }
    begunBytes += bytesRead - start;
    if (begunBytes > mostBytes) begun = [];
    else if (start < bytesRead) begun.push(Buffer.from(read.subarray(start)));
    yield lines;
  }
  if (begunBytes > 0) yield [endLine(Buffer.alloc(0), false)];
}

function decodeLine(bytes: Buffer, whole: boolean): Pick<Line, 'text' | 'isUtf8'> {
  const length = bytes.length - (whole ? 1 : 0);
  const isPlain = isAscii(bytes);
  const text = bytes.toString(isPlain ? 'latin1' : 'utf8', 0, length);
  return { text: whole && text.endsWith('\r') ? text.slice(0, -1) : text, isUtf8: isPlain || isUtf8(bytes) };
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

/** The lines of a file, those of one block together; without the file none. */
export async function* readFileLines(path: string, from = 0): AsyncGenerator<Line[], void> {
  const handle = await openIfThere(path);
  if (handle === undefined) return;
  try {
    yield* readLines(handle, { from });
  } finally {
    await handle.close();
  }
}
