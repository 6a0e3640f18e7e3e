import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GatewayReply } from '../types.ts';

const resetDelayMs = 50;

/** The unread rest of a refused body is read and dropped up to this size, so that the caller gets to see the reply. */
const lingerBytes = 16 * 2 ** 20;
const lingerMs = 2000;

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
  const headers: Record<string, string | number> = {
    // Browsers must not take a reply for a page, and must not keep it.
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    ...(typeof body === 'string' && { 'content-length': Buffer.byteLength(body) }),
    ...reply.headers,
  };
  response.writeHead(reply.status, headers);
  let written = 0;
  for await (const chunk of typeof body === 'string' ? [body] : body) {
    if (response.destroyed) break;
    written += Buffer.byteLength(chunk);
    if (!response.write(chunk)) await waitForRoom(response);
    // A caller that has the declared length has the whole reply, though the body can end later.
    if (written === Number(headers['content-length']) && request.complete) response.end();
  }
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
