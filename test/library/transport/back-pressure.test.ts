import { expect, test } from 'vitest';
import { open, requestTo, serve } from './post.ts';

const mebibyte = 1024 * 1024;

test('reads no more from the socket than a slow reader takes, whatever the size of the chunks', async () => {
  const server = await serve();
  const transport = open();
  const frame = Buffer.alloc(27_000, 'x');
  let sent = 0;
  async function* endless(): AsyncGenerator<Buffer> {
    for (;;) {
      sent += frame.length;
      yield frame;
    }
  }
  server.reply({ chunks: endless() });
  const { body } = await transport.fetch(requestTo(server.url), { signal: new AbortController().signal });
  let read = 0;
  for await (const chunk of body) {
    read += chunk.byteLength;
    if (read > 60 * mebibyte) break;
    await new Promise((resolve) => setImmediate(resolve));
  }
  // The kernel's buffers on loopback, and the small one of the client.
  expect(sent - read).toBeLessThan(20 * mebibyte);
});
