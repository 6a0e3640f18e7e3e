import type { IncomingMessage } from 'node:http';
import { isObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import { Problem } from '../problem.ts';
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

/** Refuses a body whose declared length is over the limit, before a byte of it is read. Throws Problem 413. */
export function checkLength({ headers }: IncomingMessage, limit: number): void {
  const length = Number(headers['content-length'] ?? 0);
  if (length > limit) throw tooLarge(limit, length);
}

/** The whole body. Throws Problem 413 when it grows past the limit (bytes). */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  checkLength(request, limit);
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) return void chunks.push(chunk);
      request.removeAllListeners('data').pause();
      reject(tooLarge(limit, size));
    });
    request.on('end', () => resolve(Buffer.concat(chunks, size)));
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
