import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** How a server answers that sends one reply too many now and then. */
interface Manners {
  /** How long a reply takes, in ms. */
  replyMs: number;
  /** When the reply comes once more, in ms behind the first; with 0 in the same write. */
  againMs: number;
}

/** Every tenth reply is followed by one too many. A reply is what `answer` makes of its request's body. */
export async function serveExtraReplies(
  { replyMs, againMs }: Manners,
  answer: (body: string) => string,
): Promise<string> {
  let replies = 0;
  function respond(socket: Socket, body: string): void {
    const text = answer(body);
    const reply = `HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
    const more = replies++ % 10 === 4 ? reply : '';
    socket.write(againMs === 0 ? reply + more : reply);
    if (more !== '' && againMs > 0) setTimeout(() => socket.write(more), againMs);
  }
  const server = createServer((socket) => {
    socket.setNoDelay(true).on('error', () => {});
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString();
      const head = text.indexOf('\r\n\r\n') + 4;
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
      if (head < 4 || text.length < head + length) return;
      const body = text.slice(head, head + length);
      text = text.slice(head + length);
      setTimeout(respond, replyMs, socket, body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
