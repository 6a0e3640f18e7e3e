import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import { GatewayError } from '../errors.ts';

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
  let next: Place = { number: 1, offset: 0 };
  let position = 0;
  for (;;) {
    const { bytesRead } = await handle.read(block, 0, blockBytes, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const end = block.lastIndexOf(10, bytesRead - 1) + 1;
    if (end > 0) {
      const lines = linesOf(Buffer.concat([...held, block.subarray(0, end)]), next);
      next = { number: next.number + lines.length, offset: next.offset + heldBytes + end };
      held = [];
      heldBytes = 0;
      yield lines;
    }
    if (end === bytesRead) continue;
    heldBytes += bytesRead - end;
    if (heldBytes > mostLineBytes) throw new GatewayError('usage', `line ${next.number} is longer than 256 MiB`);
    held.push(Buffer.from(block.subarray(end, bytesRead)));
  }
  if (heldBytes === 0) return;
  const torn = Buffer.concat(held);
  yield [{ ...next, text: torn.toString(), isUtf8: isUtf8(torn), whole: false, bytes: heldBytes }];
}

/** Where a line begins. */
type Place = Pick<Line, 'number' | 'offset'>;

/** A block of whole lines. Decoded and cut all at once, which takes a fifth of the time. */
function linesOf(block: Buffer, { number, offset }: Place): Line[] {
  const text = block.toString('utf8', 0, block.length - 1);
  const texts = text.split('\n');
  const lengths = texts.length === 1 ? [block.length - 1] : lengthsOf(block, text, texts);
  const allUtf8 = isUtf8(block);
  const lines: Line[] = [];
  let at = offset;
  for (let index = 0; index < texts.length; index++) {
    const line = texts[index] as string;
    const bytes = (lengths[index] as number) + 1;
    lines.push({
      number: number + index,
      text: line.endsWith('\r') ? line.slice(0, -1) : line,
      isUtf8: allUtf8 || isUtf8(block.subarray(at - offset, at - offset + bytes)),
      whole: true,
      offset: at,
      bytes,
    });
    at += bytes;
  }
  return lines;
}

/** In bytes. Characters are bytes where there are as many; elsewhere Latin-1 makes one of each. */
function lengthsOf(block: Buffer, text: string, texts: readonly string[]): number[] {
  const rows = text.length === block.length - 1 ? texts : block.toString('latin1', 0, block.length - 1).split('\n');
  return rows.map(({ length }) => length);
}
