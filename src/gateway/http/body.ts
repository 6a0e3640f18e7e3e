import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isObject, isTooDeep, jsonFaultWords, type JsonObject, tooDeepWords } from '../../library/index.ts';
import { Problem } from '../problem.ts';

/** Requires one of the wanted Content-Types, UTF-8, and no compression. Throws Problem 415. */
export function checkContentType({ headers }: Pick<IncomingMessage, 'headers'>, ...wanted: string[]): void {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';');
  if (!wanted.includes(type.trim())) throw new Problem(415, `the Content-Type must be ${wanted.join(' or ')}`);
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) throw new Problem(415, 'the body must be UTF-8');
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') throw new Problem(415, 'a compressed body is not accepted');
}

export function isForm({ 'content-type': type = '' }: IncomingHttpHeaders): boolean {
  return /^multipart\/form-data(?:;|$)/i.test(type);
}

/** Refuses a body whose declared length is over the limit, before a byte of it is read. Throws Problem 413. */
export function checkBodyLength({ headers }: IncomingMessage, limit: number): void {
  const length = Number(headers['content-length'] ?? 0);
  if (length > limit) throw tooLarge(limit, length);
}

/** Reads the whole body. Throws Problem 413 if it is larger than the limit. */
export async function readRequestBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // A request that is refused is not destroyed: the caller must still get a reply.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit, size);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/** The body as a JSON object. Throws Problem 400 if it is empty, nested too deeply, not UTF-8, not JSON or not an object. */
export function parseBody(bytes: Buffer): JsonObject {
  if (bytes.length === 0) throw new Problem(400, 'the body is empty; a JSON object is required');
  const text = decodeUtf8(bytes);
  if (isTooDeep(text)) throw new Problem(400, `the body is ${tooDeepWords}`);
  const json = parseBodyJson(text);
  if (!isObject(json)) throw new Problem(400, 'the body must be a JSON object');
  return json;
}

/** A form as an object: files as data URLs, and a name that ends with `[]` as a list. Throws Problem 400. */
export async function parseForm(bytes: Buffer, contentType: string): Promise<JsonObject> {
  const form = await readForm(bytes, contentType);
  const body: JsonObject = {};
  for (const name of new Set(form.keys())) {
    const values = await Promise.all(form.getAll(name).map(formValue));
    body[name.replace('[]', '')] = name.endsWith('[]') || values.length > 1 ? values : (values[0] ?? '');
  }
  return body;
}

/** Reads a form. Throws Problem 400. */
export async function readForm(bytes: Buffer, contentType: string): Promise<FormData> {
  const reply = new Response(bytes, { headers: { 'content-type': contentType } });
  const form = await reply.formData().catch(() => undefined);
  if (form) return form;
  throw new Problem(400, 'the body is not a valid form');
}

async function formValue(value: string | File): Promise<string> {
  if (typeof value === 'string') return value;
  const data = Buffer.from(await value.arrayBuffer()).toString('base64');
  return `data:${value.type || 'application/octet-stream'};base64,${data}`;
}

function parseBodyJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem(400, `the body is not valid JSON: ${jsonFaultWords(text)}`);
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodeUtf8(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Problem(400, 'the body is not valid UTF-8');
  }
}

function tooLarge(limit: number, size: number): Problem {
  const message = `Maximum request body size ${limit} exceeded, actual body size ${size}`;
  return new Problem(413, message, { headers: { connection: 'close' } });
}
