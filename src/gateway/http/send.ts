import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GatewayReply } from '../types.ts';

const resetDelayMs = 50;

/** The unread rest of a refused body is read and dropped up to this size, so that the caller gets to see the reply. */
const lingerBytes = 16 * 2 ** 20;
const lingerMs = 2000;

/** A longer body is waited for: its caller may leave before it has all. */
const longBody = 64 * 1024;

/**
 * Writes a reply, with back-pressure, to its ending. Returns the number of body bytes; throws only the errors of the body, and
 * stops quietly when the caller has left.
 */
export async function sendReply(
  request: IncomingMessage,
  response: ServerResponse,
  reply: GatewayReply,
): Promise<number> {
  if (reply.head === false) return (endAbruptly(response, reply), 0);
  const { body } = reply;
  const length = typeof body === 'string' ? Buffer.byteLength(body) : undefined;
  const headers: Record<string, string | number> = {
    // Browsers must not take a reply for a page, and must not keep it.
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    ...(length !== undefined && { 'content-length': length }),
    ...reply.headers,
  };
  response.writeHead(reply.status, headers);
  if (length !== undefined && length < longBody && request.complete && reply.ending === undefined) {
    // Head, body and end leave in one write.
    response.end(body);
    return length;
  }
  const written = await writeReplyBody(response, body, Number(headers['content-length']));
  // The ending of a reply can be known only now.
  if (reply.ending !== undefined) {
    await handOver(response);
    endAbruptly(response, reply);
    return written;
  }
  await dropRest(request);
  response.end();
  return written;
}

/** Replies whose every byte, by their `content-length`, the system took, though their body has not ended yet. */
const taken = new WeakSet<ServerResponse>();

/** Whether the caller had the whole reply when its connection closed. */
export function wasReceived(response: ServerResponse): boolean {
  return response.writableFinished || taken.has(response);
}

async function writeReplyBody(response: ServerResponse, body: GatewayReply['body'], length: number): Promise<number> {
  let written = 0;
  const { socket } = response;
  // Each chunk is framed here: Node takes four writes for a frame, and Node 26 makes the chunks of one turn one frame.
  const isFramed = response.chunkedEncoding;
  response.chunkedEncoding = false;
  // Node reports no error for bytes that were unsent when the connection was closed.
  const noteTaken = (error: unknown): void => {
    if (!error && socket?.destroyed === false) taken.add(response);
  };
  /** Whether the next chunk may come at once. */
  const writeChunk = (chunk: string | Uint8Array): boolean => {
    if (chunk.length === 0) return true;
    const size = Buffer.byteLength(chunk);
    written += size;
    if (!isFramed) return response.write(chunk, written === length ? noteTaken : undefined);
    const begin = `${size.toString(16)}\r\n`;
    if (typeof chunk === 'string') return response.write(`${begin}${chunk}\r\n`);
    response.write(begin);
    response.write(chunk);
    return response.write('\r\n');
  };
  // Chunks that are there already are written at once: to await each would take as long as to write it.
  if (typeof body !== 'string' && Symbol.asyncIterator in body) {
    for await (const chunk of body) {
      if (response.destroyed) break;
      if (!writeChunk(chunk)) await waitForRoom(response);
    }
  } else {
    for (const chunk of typeof body === 'string' ? [body] : body) {
      if (response.destroyed) break;
      if (!writeChunk(chunk)) await waitForRoom(response);
    }
  }
  // Node writes the last, empty frame.
  response.chunkedEncoding = isFramed;
  return written;
}

/** Waits until the caller has taken all written bytes, or left. */
async function waitForRoom(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

/** Waits until the system has all that was written: an end in the same tick would overtake it, on Node 26 the whole reply. */
async function handOver(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  await new Promise<void>((resolve) => {
    response.once('close', resolve);
    response.flushHeaders();
    response.write('', () => resolve());
  });
}

function endAbruptly(response: ServerResponse, { ending }: GatewayReply): void {
  const { socket } = response;
  // A reset discards data in flight, so the caller gets time to read it first.
  if (ending === 'reset') setTimeout(() => socket?.resetAndDestroy(), resetDelayMs);
  else socket?.end();
}

/** Discards the unread rest of a body; a caller that does not stop sending is cut off. */
async function dropRest(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return;
  let left = lingerBytes;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, lingerMs);
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    request.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) done();
    });
    for (const event of ['end', 'close', 'error']) request.once(event, done);
  });
}
