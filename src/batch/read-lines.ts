import type { FileHandle } from 'node:fs/promises';
import { GatewayError } from '../errors.ts';

/** One line of a file, without its end. */
export interface Line {
  /** From 1. */
  number: number;
  text: string;
  /** Whether a line feed ends it: the last line of a file that was torn has none. */
  whole: boolean;
  /** Where it begins, in bytes. */
  offset: number;
  /** Its length with its end. */
  bytes: number;
}

const blockBytes = 256 * 1024;
/** A longer line is no JSON line of ours, and would not fit into memory beside the others. */
const mostLineBytes = 256 * 1024 * 1024;

/** The lines of an open file from its beginning; may be run through several times. Throws GatewayError usage: a line that is too long. */
export async function* readLines(handle: FileHandle): AsyncGenerator<Line, void> {
  for await (const lines of readLineBlocks(handle)) for (const line of lines) yield line;
}

/** The same, as many at a time as one read of the file brings: for who has thousands and waits for none of them. */
export async function* readLineBlocks(handle: FileHandle): AsyncGenerator<readonly Line[], void> {
  const block = Buffer.allocUnsafe(blockBytes);
  let held: Buffer[] = [];
  let heldBytes = 0;
  let number = 1;
  let offset = 0;
  let position = 0;
  const take = (part: Buffer, whole: boolean): Line => {
    const bytes = heldBytes === 0 ? part : Buffer.concat([...held, part]);
    const length = bytes.length + (whole ? 1 : 0);
    const line = { number: number++, text: textOf(bytes, whole), whole, offset, bytes: length };
    offset += length;
    held = [];
    heldBytes = 0;
    return line;
  };
  for (;;) {
    const { bytesRead } = await handle.read(block, 0, blockBytes, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const lines: Line[] = [];
    let from = 0;
    for (let end = block.indexOf(10, from); end >= 0 && end < bytesRead; end = block.indexOf(10, from)) {
      lines.push(take(block.subarray(from, end), true));
      from = end + 1;
    }
    yield lines;
    if (from === bytesRead) continue;
    heldBytes += bytesRead - from;
    if (heldBytes > mostLineBytes) throw new GatewayError('usage', `line ${number} is longer than 256 MiB`);
    held.push(Buffer.from(block.subarray(from, bytesRead)));
  }
  if (heldBytes > 0) yield [take(Buffer.alloc(0), false)];
}

function textOf(bytes: Buffer, whole: boolean): string {
  const end = whole && bytes.at(-1) === 13 ? bytes.length - 1 : bytes.length;
  return bytes.toString('utf8', 0, end);
}
