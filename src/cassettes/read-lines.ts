import { createReadStream } from 'node:fs';

/**
 * The lines of a file, split at line feeds alone: the text of a chunk may hold other separators. One line at most waits in
 * memory. Throws what the system says.
 */
export async function* readLines(path: string): AsyncGenerator<string> {
  let pieces: Buffer[] = [];
  for await (const block of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = block.indexOf(10); at >= 0; at = block.indexOf(10, from)) {
      yield Buffer.concat([...pieces, block.subarray(from, at)]).toString('utf8');
      pieces = [];
      from = at + 1;
    }
    if (from < block.length) pieces.push(block.subarray(from));
  }
  if (pieces.length > 0) yield Buffer.concat(pieces).toString('utf8');
}

/** The first line of a file, or nothing. */
export async function readFirstLine(path: string): Promise<string> {
  for await (const line of readLines(path)) return line;
  return '';
}
