import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { isObject, isTooDeep, jsonFaultWords, type JsonObject, tooDeepWords } from '../../library/index.ts';
import { Problem } from '../problem.ts';
import type { GatewayRequest } from '../types.ts';

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

/** The declared length of a body in bytes, 0 without a body; undefined if the body is sent in chunks. */
export function declaredLength({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}

/** Refuses a body whose declared length is over the limit, before a byte of it is read. Throws Problem 413. */
export function checkBodyLength(length: number | undefined, limit: number): void {
  if (length !== undefined && length > limit) throw tooLarge(limit, length);
}

/** Bodies up to this size, in bytes, are not counted: even one for each connection needs little memory. */
const maxUncounted = 64 * 1024;

/**
 * Reads the whole body. Its bytes count in the budget until the exchange is over. Throws Problem 413 if the body is larger than
 * the limit.
 */
export async function readRequestBody(
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  { limit, budget, left }: { limit: number; budget: ByteBudget; left: GatewayRequest['left'] },
): Promise<Buffer> {
  const length = declaredLength(request);
  checkBodyLength(length, limit);
  if (length === undefined || length > maxUncounted) {
    response.once('close', await budget.take(length ?? limit, left.signal));
  }
  return readWholeBody(request, length, limit);
}

/** Reads the body by its events: by an iterator, a small request would take a tenth longer. */
async function readWholeBody(request: IncomingMessage, length: number | undefined, limit: number): Promise<Buffer> {
  // If the length is known, chunks are copied into one buffer: joining them at the end would hold a large body twice.
  const whole = length === undefined ? undefined : Buffer.allocUnsafe(length);
  const chunks: Buffer[] = [];
  let size = 0;
  await new Promise<void>((resolve, reject) => {
    const take = (chunk: Buffer): void => {
      if (whole) chunk.copy(whole, size);
      else chunks.push(chunk);
      size += chunk.length;
      if (size <= limit) return;
      // The caller must still get a reply.
      request.off('data', take);
      reject(tooLarge(limit, size));
    };
    const close = (): void => {
      if (!request.readableEnded) reject(new Error('the body ended early'));
    };
    if (request.destroyed) close();
    request.on('data', take).once('end', resolve).once('error', reject).once('close', close);
  });
  return whole?.subarray(0, size) ?? Buffer.concat(chunks, size);
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

/** Bytes that all requests together may hold. */
export type ByteBudget = ReturnType<typeof createByteBudget>;

export function createByteBudget(capacity: number) {
  let free = capacity;
  const waiting = new Set<{ bytes: number; start: () => void }>();
  const startNext = (): void => {
    for (const waiter of waiting) {
      if (waiter.bytes > free) return;
      waiting.delete(waiter);
      free -= waiter.bytes;
      waiter.start();
    }
  };
  return {
    /**
     * Waits until there is room, first come, first served; rejects when the signal aborts. A request for more than the whole
     * budget counts as the whole. Returns a function that gives the room back; only its first call counts.
     */
    take: (wanted: number, signal: AbortSignal): Promise<() => void> =>
      new Promise((resolve, reject) => {
        const bytes = Math.min(wanted, capacity);
        let taken = bytes;
        const giveBack = (): void => {
          free += taken;
          taken = 0;
          startNext();
        };
        const startRead = (): void => {
          signal.removeEventListener('abort', leaveQueue);
          resolve(giveBack);
        };
        const waiter = { bytes, start: startRead };
        const leaveQueue = (): void => {
          waiting.delete(waiter);
          startNext();
          reject(new Error('the caller left'));
        };
        if (signal.aborted) return leaveQueue();
        signal.addEventListener('abort', leaveQueue, { once: true });
        waiting.add(waiter);
        startNext();
      }),
  };
}
