import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** The timing of a server that sometimes sends an extra reply. */
interface Timing {
  /** How long a reply takes, in ms. */
  replyMs: number;
  /** Time from the reply to its extra copy, in ms; 0 sends both in one write. */
  againMs: number;
}

/** Sends every tenth reply twice. `answer` makes the reply from the request's body. */
export async function serveExtraReplies(
  { replyMs, againMs }: Timing,
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
