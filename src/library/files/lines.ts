import { type FileHandle, open } from 'node:fs/promises';
import { isAscii, isUtf8 } from 'node:buffer';
import { getErrorCode } from '../errors.ts';
import { parseObject } from '../json.ts';
import { cannotWrite } from './synced-file.ts';
import { createTempFile, writeFully } from './temp-file.ts';

/** One line of a file, without its end. */
export interface Line {
  /** The number of the line, from 1 at the offset where reading began. */
  number: number;
  text: string;
  /** Whether all its bytes are UTF-8; other bytes are U+FFFD in the text. */
  isUtf8: boolean;
  /** Whether the line ends with a line feed: the last line of a torn file has none. */
  whole: boolean;
  /** The byte offset of its beginning. */
  offset: number;
  /** The length of the line with its line break. */
  bytes: number;
  /** The line is longer than `maxBytes`, and its text is left out. */
  isTooLong: boolean;
}

const firstBlockBytes = 16 * 1024;
const blockBytes = 256 * 1024;

/** A longer line would not fit into memory beside the others, and its text not into a string of V8. */
export const maxLineBytes = 256 * 1024 * 1024;

const lineFeed = 10;

interface LineOptions {
  from?: number;
  maxBytes?: number;
  /** Whether a block inside a line is left out of its text; `before` is the block before it. */
  leavesOut?: ((block: Buffer, before: Buffer) => boolean) | undefined;
}

/**
 * The lines of an open file from an offset on. The lines of one block come together: a promise for each line would take most of
 * the time. Each line is made when it is read, so they must be read one after another. The text of a line of more than `maxBytes`
 * is left out.
 */
export function readLines(handle: FileHandle, options: LineOptions = {}): AsyncGenerator<Iterable<Line>, void> {
  return splitIntoLines(readBlocks(handle, options.from), options);
}

/** The content of an open file from an offset on; each block is valid until the next one. */
export async function* readBlocks(handle: FileHandle, from = 0): AsyncGenerator<Buffer, void> {
  // Thousands of small files with a large block each would be a gigabyte of garbage.
  let block = Buffer.allocUnsafe(firstBlockBytes);
  for (let position = from; ;) {
    const { bytesRead } = await handle.read(block, 0, block.length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield block.subarray(0, bytesRead);
    if (bytesRead === firstBlockBytes) block = Buffer.allocUnsafe(blockBytes);
  }
}

async function* splitIntoLines(
  chunks: AsyncIterable<Uint8Array>,
  options: LineOptions,
): AsyncGenerator<Iterable<Line>, void> {
  const { split, rest } = createLineSplitter(options);
  for await (const chunk of chunks) yield split(chunk);
  yield rest();
}

/** Splits chunks into lines. The lines of a chunk must be read before the next chunk is split. */
function createLineSplitter({ from = 0, maxBytes = maxLineBytes, leavesOut }: LineOptions) {
  let [number, offset] = [1, from];
  // The beginning of a line that continues in the next chunk.
  let [begun, begunBytes]: [Buffer[], number] = [[], 0];
  function finishLine(part: Buffer, whole: boolean): Line {
    const bytes = begunBytes + part.length;
    const isTooLong = bytes > maxBytes;
    const content = isTooLong ? Buffer.alloc(0) : begunBytes > 0 ? Buffer.concat([...begun, part]) : part;
    const line = { number: number++, ...decodeLine(content, whole), whole, offset, bytes, isTooLong };
    offset += bytes;
    [begun, begunBytes] = [[], 0];
    return line;
  }
  function* finishLines(chunk: Buffer): Generator<Line, void> {
    // The lines of a text are parts of it, which are no copies.
    const text = isAscii(chunk) ? chunk.toString('latin1') : undefined;
    let start = 0;
    for (let end = chunk.indexOf(lineFeed) + 1; end > 0; end = chunk.indexOf(lineFeed, start) + 1) {
      const bytes = end - start;
      if (text === undefined || begunBytes > 0 || bytes > maxBytes) yield finishLine(chunk.subarray(start, end), true);
      else {
        const line = withoutReturn(text.slice(start, end - 1));
        yield { number: number++, text: line, isUtf8: true, whole: true, offset, bytes, isTooLong: false };
        offset += bytes;
      }
      start = end;
    }
  }
  return {
    /** The lines that end in a chunk. */
    *split({ buffer, byteOffset, byteLength }: Uint8Array): Generator<Line, void> {
      const chunk = Buffer.from(buffer, byteOffset, byteLength);
      const start = chunk.lastIndexOf(lineFeed) + 1;
      if (start > 0) yield* finishLines(chunk.subarray(0, start));
      begunBytes += byteLength - start;
      const before = start === 0 ? begun.at(-1) : undefined;
      // The rest of a line that is too long is counted, and not kept.
      if (begunBytes > maxBytes) begun = [];
      else if (before && leavesOut?.(chunk, before)) return;
      // A reader can use the memory of the chunk again.
      else if (start < byteLength) begun.push(Buffer.from(chunk.subarray(start)));
    },
    /** The last line, if it has no end. */
    *rest(): Generator<Line, void> {
      if (begunBytes > 0) yield finishLine(Buffer.alloc(0), false);
    },
  };
}

function decodeLine(bytes: Buffer, whole: boolean): Pick<Line, 'text' | 'isUtf8'> {
  const length = bytes.length - (whole ? 1 : 0);
  const isPlain = isAscii(bytes);
  const text = bytes.toString(isPlain ? 'latin1' : 'utf8', 0, length);
  return { text: whole ? withoutReturn(text) : text, isUtf8: isPlain || isUtf8(bytes) };
}

function withoutReturn(text: string): string {
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}

/** The lines of a stream, each as soon as it is there; the last line also without an end. */
export async function* arrivingLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes = maxLineBytes,
): AsyncGenerator<Line, void> {
  for await (const lines of splitIntoLines(chunks, { maxBytes })) yield* lines;
}

/** The lines of a file that is read synchronously: for files so short that promises take most of the time. */
export function* splitNow(blocks: Iterable<Buffer>, from = 0): Generator<Line, void> {
  const { split, rest } = createLineSplitter({ from, maxBytes: Infinity });
  for (const block of blocks) yield* split(block);
  yield* rest();
}

/** The file, open for reading; undefined if it does not exist. */
export async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The lines of a file; the lines of one block come together. Empty if there is no file. */
export async function* readFileLines(path: string, options: LineOptions = {}): AsyncGenerator<Iterable<Line>, void> {
  const handle = await openIfThere(path);
  if (handle === undefined) return;
  try {
    yield* readLines(handle, options);
  } finally {
    await handle.close().catch(() => undefined);
  }
}

/**
 * The lines of a file of JSON that only grows. When the power fails, some file systems keep a later write and leave a hole in place
 * of an earlier one, which reads as NULs: a line that is not whole because of that is empty here, as it was not synced.
 */
export async function* readAppendedLines(path: string, from = 0): AsyncGenerator<Iterable<Line>, void> {
  for await (const lines of readFileLines(path, { from })) yield withoutHoles(lines);
}

function* withoutHoles(lines: Iterable<Line>): Generator<Line, void> {
  for (const line of lines) yield line.text.includes('\0') ? { ...line, text: withoutHole(line.text) } : line;
}

/** The JSON object behind the last hole of a line; empty if that is only the rest of one. JSON has no NUL of its own. */
export function withoutHole(text: string): string {
  // Nearly all lines are without, and a search for the last NUL takes ten times as long.
  if (!text.includes('\0')) return text;
  const rest = text.slice(text.lastIndexOf('\0') + 1);
  const isWhole = Object.keys(parseObject(rest)).length > 0;
  return isWhole ? rest : '';
}

/** A temporary file in the folder of a batch, to which lines are appended. Its methods throw GatewayError not-written. */
interface GatheredFile {
  path: string;
  handle: FileHandle;
  /** Bytes that were appended so far. */
  readonly bytes: number;
  /** Gathers small blocks into large writes. The block must not change after that. */
  append(block: Buffer): Promise<void>;
  /** Writes the gathered blocks. */
  flush(): Promise<void>;
  /** Begins again: the next lines replace everything before them. */
  restart(): void;
}

const gatheredBytes = 256 * 1024;

export async function createGatheredFile(folder: string): Promise<GatheredFile> {
  const throwNotWritten = (error: unknown): never => {
    throw cannotWrite(folder, error);
  };
  const { path, handle } = await createTempFile(folder).catch(throwNotWritten);
  const gathered: Buffer[] = [];
  let [bytes, written] = [0, 0];

  async function flush(): Promise<void> {
    const [first, ...rest] = gathered.splice(0);
    if (first === undefined) return;
    const block = rest.length === 0 ? first : Buffer.concat([first, ...rest]);
    await writeFully(handle, block, written).catch(throwNotWritten);
    written += block.byteLength;
  }

  return {
    path,
    handle,
    get bytes() {
      return bytes;
    },
    async append(block) {
      gathered.push(block);
      bytes += block.byteLength;
      if (bytes - written > gatheredBytes) await flush();
    },
    flush,
    restart() {
      gathered.length = 0;
      [bytes, written] = [0, 0];
    },
  };
}
