import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { serveExtraReplies } from './extra-replies.ts';
import { createPause } from '../../helpers/scripted-server.ts';
import { open, post, serve } from './post.ts';

const requests = 120;

/** The requests that got the reply of another. */
async function wrongOnes(url: string, atOnce: number): Promise<number[]> {
  const transport = open();
  const wrong: number[] = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < requests) {
        const n = next++;
        const { text, error } = await post(url, { transport, body: { n } });
        if (error !== undefined) throw error;
        if (text !== JSON.stringify({ n })) wrong.push(n);
      }
    }),
  );
  return wrong;
}

const delays = [0, 1, 2, 5];
const cases = delays.flatMap((againMs) => [1, 4].map((atOnce) => ({ againMs, atOnce })));

test.each(cases)(
  'an extra reply after $againMs ms is not read as the next one, $atOnce at once',
  async ({ againMs, atOnce }) => {
    const url = await serveExtraReplies({ replyMs: 6, againMs }, (body) => body);
    expect(await wrongOnes(url, atOnce)).toEqual([]);
  },
);

test.each([
  { what: 'sent one reply too many', hangsUp: false },
  { what: 'hung up', hangsUp: true },
])('a connection whose server $what while this process was busy is not used again', async ({ hangsUp }) => {
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const server = new Worker(new URL('late-server.js', import.meta.url), { workerData: { shared, hangsUp } });
  onTestFinished(async () => void (await server.terminate()));
  Atomics.wait(shared, 0, 0, 20_000);
  const url = `http://127.0.0.1:${shared[1]}/`;
  const transport = open();
  expect(await post(url, { transport, body: { n: 1 } })).toMatchObject({ text: '{"n":1}' });
  Atomics.store(shared, 0, 2);
  Atomics.notify(shared, 0);
  Atomics.wait(shared, 0, 2, 20_000);
  expect(await post(url, { transport, body: { n: 2 } })).toMatchObject({ text: '{"n":2}' });
});

test('after a reply too many between two requests, no connection of its server is used twice', async () => {
  const server = await serve();
  const transport = open();
  const pause = createPause();
  const reply = 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx';
  server.raw(reply, pause.until, reply);
  expect(await post(server.url, { transport })).toMatchObject({ text: 'x' });
  pause.release();
  await server.requests[0]?.closed;
  // A pool that kept them would be full after five, and use one again.
  for (const connections of [2, 3, 4, 5, 6, 7, 8]) {
    server.reply({ body: 'y' });
    expect(await post(server.url, { transport })).toMatchObject({ text: 'y' });
    expect(server.connections).toBe(connections);
  }
});
