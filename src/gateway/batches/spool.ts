import { createReadStream, mkdtempSync, openSync, rmSync, writeSync, closeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonValue } from '../../json.ts';
import { Problem } from '../problem.ts';

/** Bytes that are written once and read in ranges. Short ones stay in memory, the others are in a temporary file. */
export interface Spool {
  readonly size: number;
  append(bytes: Uint8Array): void;
  /** The bytes from `start` to before `end`. */
  read(start?: number, end?: number): AsyncIterable<Buffer>;
  close(): void;
}

/** What a spool holds in memory, bytes. */
const inMemory = 64 * 1024;
/** Longest line, bytes: as long as the largest body of a single request. */
const longestLine = 128 * 2 ** 20;

export function createSpool(): Spool {
  let file: number | undefined;
  let inFile = 0;
  let size = 0;
  let tail: Uint8Array[] = [];
  const flush = (): void => {
    file ??= openNameless();
    for (const piece of tail) {
      for (let at = 0; at < piece.length;) at += writeSync(file, piece, at, piece.length - at, inFile + at);
      inFile += piece.length;
    }
    tail = [];
  };
  async function* read(start = 0, end = size): AsyncGenerator<Buffer> {
    let at = inFile;
    const pieces = [...tail];
    if (file !== undefined && start < Math.min(at, end)) {
      yield* createReadStream('', { fd: file, start, end: Math.min(at, end) - 1, autoClose: false });
    }
    for (const piece of pieces) {
      const part = piece.subarray(Math.max(0, start - at), Math.max(0, end - at));
      if (part.length > 0) yield Buffer.from(part.buffer, part.byteOffset, part.length);
      at += piece.length;
    }
  }
  return {
    get size() {
      return size;
    },
    append(bytes) {
      tail.push(bytes);
      size += bytes.length;
      if (size - inFile > inMemory) flush();
    },
    read,
    close() {
      if (file !== undefined) closeSync(file);
      file = undefined;
      tail = [];
    },
  };
}

/** A temporary file that is deleted as soon as it is open, so that nothing of it is left however the process ends. */
function openNameless(): number {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-cli-spool-'));
  try {
    return openSync(join(folder, 'spool'), 'wx+', 0o600);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The lines of a file that are not empty. Throws Problem where one is too long. */
export async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  let length = 0;
  const take = (last: Buffer): string => {
    const line = Buffer.concat([...rest, last])
      .toString()
      .trim();
    rest = [];
    length = 0;
    return line;
  };
  for await (const chunk of bytes) {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, start)) {
      const line = take(chunk.subarray(start, end));
      if (line !== '') yield line;
      start = end + 1;
    }
    rest.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > longestLine) throw new Problem(413, `a line is longer than ${longestLine} bytes`);
  }
  const line = take(Buffer.alloc(0));
  if (line !== '') yield line;
}

/** Values as lines of JSON that can be read once. */
export function linesOnce(values: readonly JsonValue[]): () => AsyncGenerator<string> {
  const spool = createSpool();
  for (const value of values) spool.append(Buffer.from(`${JSON.stringify(value)}\n`));
  return async function* read() {
    try {
      yield* linesOf(spool.read());
    } finally {
      spool.close();
    }
  };
}
