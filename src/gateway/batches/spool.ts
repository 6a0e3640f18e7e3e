import { createReadStream, mkdtempSync, openSync, rmSync, writeSync, closeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { JsonValue } from '../../json.ts';
import { checkBodyLength } from '../http/body.ts';
import { Problem } from '../problem.ts';
import type { GatewayRequest } from '../types.ts';

/** What a spool holds in memory, bytes. */
const inMemory = 64 * 1024;
/** Longest line, bytes: as long as the largest body of a single request. */
const longestLine = 128 * 2 ** 20;

/** Bytes that are written once and read in ranges. Short ones stay in memory, the others are in a temporary file. */
export type Spool = ReturnType<typeof createSpool>;

export function createSpool() {
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
  /** The bytes from `start` to before `end`. */
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
    get size(): number {
      return size;
    },
    append(bytes: Uint8Array): void {
      tail.push(bytes);
      size += bytes.length;
      if (size - inFile > inMemory) flush();
    },
    read,
    close(): void {
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

/** The lines of a file that are not empty. Throws Problem if one is too long. */
export async function* readSpoolLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  let length = 0;
  const takeLineText = (last: Buffer): string => {
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
      const line = takeLineText(chunk.subarray(start, end));
      if (line !== '') yield line;
      start = end + 1;
    }
    rest.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > longestLine) throw new Problem(413, `a line is longer than ${longestLine} bytes`);
  }
  const line = takeLineText(Buffer.alloc(0));
  if (line !== '') yield line;
}

/** Values as lines of JSON that can be read once. */
export function linesOnce(values: readonly JsonValue[]): () => AsyncGenerator<string> {
  const spool = createSpool();
  for (const value of values) spool.append(Buffer.from(`${JSON.stringify(value)}\n`));
  return async function* read() {
    try {
      yield* readSpoolLines(spool.read());
    } finally {
      spool.close();
    }
  };
}

/** A field of a form: the part of a spool that is its value. */
interface FormPart {
  name: string;
  /** The name of a file; undefined for plain fields. */
  filename: string | undefined;
  start: number;
  end: number;
}

/** Longest head of a part, and longest value of a plain field, bytes. */
const shortPart = 4096;

/** Writes a body to a spool. Throws Problem 413 past the limit. */
export async function spoolBody(
  { body, length }: Pick<GatewayRequest, 'body' | 'length'>,
  limit: number,
  { spool = createSpool(), onChunk }: { spool?: Spool; onChunk?: (chunk: Buffer, at: number) => void } = {},
): Promise<Spool> {
  checkBodyLength(length, limit);
  // If reading stops early, the caller must still get a reply.
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    if (spool.size + chunk.length > limit) {
      spool.close();
      throw new Problem(413, `the body is larger than ${limit} bytes`, { headers: { connection: 'close' } });
    }
    onChunk?.(chunk, spool.size);
    spool.append(chunk);
  }
  return spool;
}

/** Reads a form that may be too large for the memory; its plain `fields` are of 4 KiB at most. Throws Problem 400 and 413. */
export async function spoolForm(
  request: Pick<GatewayRequest, 'body' | 'length'>,
  contentType: string,
  limit: number,
): Promise<{ spool: Spool; file: FormPart | undefined; fields: Readonly<Record<string, string>> }> {
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw new Problem(400, 'the Content-Type must be multipart/form-data with a boundary');
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const places: number[] = [];
  // The first delimiter has no line break before it.
  let carried = Buffer.from('\r\n');
  const spool = await spoolBody(request, limit, {
    onChunk(chunk, at) {
      const window = Buffer.concat([carried, chunk]);
      const base = at - carried.length;
      for (let found = window.indexOf(delimiter); found !== -1; found = window.indexOf(delimiter, found + 1))
        places.push(base + found);
      carried = window.subarray(Math.max(0, window.length - delimiter.length + 1));
    },
  });
  let file: FormPart | undefined;
  const fields: Record<string, string> = {};
  for (const [index, place] of places.slice(0, -1).entries()) {
    const part = await readPart(spool, place + delimiter.length, places[index + 1] ?? spool.size);
    if (part.filename !== undefined) file = part;
    else if (part.end - part.start <= shortPart)
      fields[part.name] = String(await buffer(spool.read(part.start, part.end)));
  }
  return { spool, file, fields };
}

async function readPart(spool: Spool, start: number, end: number): Promise<FormPart> {
  const head = (await buffer(spool.read(start, Math.min(end, start + shortPart)))).toString('latin1');
  const length = head.indexOf('\r\n\r\n');
  if (length === -1) throw new Problem(400, 'the body is not a valid form');
  const [disposition = ''] = /^content-disposition:.*$/im.exec(head.slice(0, length)) ?? [];
  const parameter = (name: string): string | undefined => {
    const value = new RegExp(`;\\s*${name}="((?:[^"\\\\]|\\\\.)*)"`, 'i').exec(disposition)?.[1];
    return value === undefined ? undefined : Buffer.from(value, 'latin1').toString();
  };
  return { name: parameter('name') ?? '', filename: parameter('filename'), start: start + length + 4, end };
}
