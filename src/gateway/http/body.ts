import type { IncomingMessage, ServerResponse } from 'node:http';
import { isObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import { Problem } from '../problem.ts';
import type { Budget } from './budget.ts';
import { isDeeperThan } from './nesting.ts';

/** The body must be JSON, not compressed (spec.md 4). Throws Problem 415. */
export function checkContentType({ headers }: IncomingMessage): void {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';');
  if (type.trim() !== 'application/json') throw new Problem(415, 'the Content-Type must be application/json');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) throw new Problem(415, 'the body must be UTF-8');
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') throw new Problem(415, 'a compressed body is not accepted');
}

/** The length that a body declares, in bytes; undefined where it comes in chunks. A request without a body has none. */
export function declaredLength({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}

/** Refuses a body whose declared length is over the limit, before a byte of it is read. Throws Problem 413. */
export function checkLength(request: IncomingMessage, limit: number): void {
  const length = declaredLength(request) ?? 0;
  if (length > limit) throw tooLarge(limit, length);
}

/** Bodies that are no longer are not counted: as many as connections may come hold little. */
const uncounted = 64 * 1024;

/** How bodies are read. */
interface BodyRules {
  /** Largest body, bytes. */
  limit: number;
  /** What all bodies hold together. */
  budget: Budget;
  /** Aborts when the caller leaves. */
  left: { readonly signal: AbortSignal };
}

/** The whole body; its part of the budget is given back when the exchange is over. Throws Problem 413 past the limit. */
export async function readBody(exchange: Exchange, { limit, budget, left }: BodyRules): Promise<Buffer> {
  const { request, response } = exchange;
  checkLength(request, limit);
  const length = declaredLength(request);
  if (length === undefined || length > uncounted) {
    response.once('close', await budget.take(length ?? limit, left.signal));
  }
  return length === undefined ? readChunked(request, limit) : readSized(request, length);
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

async function readSized(request: IncomingMessage, length: number): Promise<Buffer> {
  const body = Buffer.allocUnsafe(length);
  let size = 0;
  await readChunks(request, (chunk) => {
    size += chunk.copy(body, size);
  });
  return body.subarray(0, size);
}

async function readChunked(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  await readChunks(request, (chunk) => {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit, size);
    chunks.push(chunk);
  });
  return Buffer.concat(chunks, size);
}

function readChunks(request: IncomingMessage, take: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      try {
        take(chunk);
      } catch (error) {
        request.removeAllListeners('data').pause();
        reject(error);
      }
    });
    request.on('end', resolve);
    request.on('error', reject);
    request.on('close', () => reject(new Error('the caller left')));
  });
}

/** Whoever reads a body calls itself for each level. */
const mostLevels = 200;

/** The body as a JSON object. Throws Problem 400 where it is empty, nested too deeply, not UTF-8, not JSON or no object. */
export function parseBody(bytes: Buffer): JsonObject {
  if (bytes.length === 0) throw new Problem(400, 'the body is empty; a JSON object is required');
  if (isDeeperThan(mostLevels, bytes)) throw new Problem(400, `the body is nested deeper than ${mostLevels} levels`);
  const json = parseJson(bytes);
  if (!isObject(json)) throw new Problem(400, 'the body must be a JSON object');
  return json;
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    const reason = error instanceof SyntaxError ? `not valid JSON: ${error.message.slice(0, 200)}` : 'not valid UTF-8';
    throw new Problem(400, `the body is ${reason}`);
  }
}

function tooLarge(limit: number, size: number): Problem {
  const message = `Maximum request body size ${limit} exceeded, actual body size ${size}`;
  return new Problem(413, message, { headers: { connection: 'close' } });
}
