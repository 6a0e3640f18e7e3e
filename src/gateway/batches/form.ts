import { buffer } from 'node:stream/consumers';
import { checkLength } from '../http/body.ts';
import { Problem } from '../problem.ts';
import type { GatewayRequest } from '../types.ts';
import { createSpool, type Spool } from './spool.ts';

/** A field of a form: the part of a spool that is its value. */
interface FormPart {
  name: string;
  /** The name of a file; undefined for plain fields. */
  filename: string | undefined;
  start: number;
  end: number;
}

/** A form that may be too large for the memory. */
export interface SpooledForm {
  spool: Spool;
  file: FormPart | undefined;
  /** Plain fields, of 4 KiB at most. */
  fields: Readonly<Record<string, string>>;
}

/** Longest head of a part, and longest value of a plain field, bytes. */
const shortPart = 4096;

/** Writes a body to a spool. Throws Problem 413 past the limit. */
export async function spoolBody(
  { body, length }: Pick<GatewayRequest, 'body' | 'length'>,
  limit: number,
  { spool = createSpool(), onChunk }: { spool?: Spool; onChunk?: (chunk: Buffer, at: number) => void } = {},
): Promise<Spool> {
  checkLength(length, limit);
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

/** Reads a form into a spool. Throws Problem 400 and 413. */
export async function spoolForm(
  request: Pick<GatewayRequest, 'body' | 'length'>,
  contentType: string,
  limit: number,
): Promise<SpooledForm> {
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
