import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { createPause, cut, startScriptedServer } from './scripted-server.ts';

const post = (url: string, body: string): Promise<Response> => fetch(url, { method: 'POST', body });

test('answers in order, records what came and frames chunks', async () => {
  const server = await startScriptedServer();
  const pause = createPause();
  server.reply({ status: 429, headers: { 'Retry-After': '1' }, body: { error: {} } });
  server.reply({
    headers: { 'content-type': 'text/event-stream' },
    chunks: ['data: 1\n\n', pause.until, 'data: 2\n\n'],
  });
  const first = await post(`${server.url}/a?b`, '{"n":1}');
  const second = await post(`${server.url}/c`, '{"n":2}');
  pause.release();
  expect([first.status, await first.text(), first.headers.get('retry-after')]).toEqual([429, '{"error":{}}', '1']);
  expect(await second.text()).toBe('data: 1\n\ndata: 2\n\n');
  expect(server.requests.map((request) => [request.path, request.json()])).toEqual([
    ['/a?b', { n: 1 }],
    ['/c', { n: 2 }],
  ]);
  await server.close();
});

test('writes literal bytes and cuts the connection', async () => {
  const server = await startScriptedServer();
  server.raw('HTTP/1.1 200 OK\r\nContent-Le', cut);
  const socket = connect(server.port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\n\r\n');
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  expect(bytes.toString()).toBe('HTTP/1.1 200 OK\r\nContent-Le');
  await server.requests[0]?.closed;
  await server.close();
});

test('complains of requests and replies that do not match', async () => {
  const missing = await startScriptedServer();
  expect((await post(`${missing.url}/x`, '')).status).toBe(500);
  await expect(missing.close()).rejects.toThrow('unexpected: POST /x');
  const leftover = await startScriptedServer();
  leftover.reply({});
  await expect(leftover.close()).rejects.toThrow('1 queued replies');
});
