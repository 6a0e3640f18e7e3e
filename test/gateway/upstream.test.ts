import { once } from 'node:events';
import { expect, describe } from 'vitest';
import { createApp } from '../../src/gateway/app.ts';
import { listen } from '../../src/gateway/listen.ts';
import type { Handler, LogEntry } from '../../src/gateway/types.ts';
import { createPause, cut, reset } from '../helpers/scripted-server.ts';
import { key } from './gateway-under-test.ts';
import { openPost, path, post, readSocket, test, upstreamKey } from './upstream-under-test.ts';

describe('a request that is passed on', () => {
  test('keeps path, query, headers and body, and shows the upstream key alone', async ({ server, gateway }) => {
    server.reply({ body: '{}' });
    const headers = {
      cookie: 'a=1',
      origin: gateway.url,
      'x-goog-api-key': 'x',
      'anthropic-beta': 'b-1',
      te: 'trailers',
      'x-http-method-override': 'DELETE',
    };
    await post(gateway, { path: `${path}?alt=sse&key=${key}`, headers });
    const [request] = server.requests;
    expect(request).toMatchObject({ method: 'POST', path: `/prefix${path}?alt=sse` });
    expect(request?.json()).toEqual({ contents: [] });
    expect(request?.headers).toMatchObject({
      'x-api-key': upstreamKey,
      'anthropic-beta': 'b-1',
      'content-type': 'application/json',
      'content-length': '15',
      'accept-encoding': 'identity',
    });
    const names = Object.keys(request?.headers ?? {});
    const kept = ['authorization', 'cookie', 'origin', 'x-goog-api-key', 'te', 'sec-fetch-mode'];
    for (const name of [...kept, 'x-http-method-override']) expect(names).not.toContain(name);
    expect(JSON.stringify(request?.rawHeaders)).not.toContain(key);
  });

  describe('to an address that every call shares', () => {
    const shared = new URL('http://127.0.0.1');
    test.override({ options: { address: () => ({ url: shared, headers: {} }) } });

    test('has the query of its own caller', async ({ server, gateway }) => {
      shared.port = String(server.port);
      server.always(({ path: target, headers }) => ({ body: { target, 'x-caller': headers['x-caller'] } }));
      const callers = Array.from({ length: 40 }, (_, index) => `caller=${index}`);
      const replies = await Promise.all(
        callers.map((query) => post(gateway, { path: `${path}?${query}`, headers: { 'x-caller': query } })),
      );
      const seen = (await Promise.all(replies.map((reply) => reply.json()))) as Record<string, string>[];
      expect(seen.map(({ target }) => target)).toEqual(callers.map((query) => `/?${query}`));
      expect(seen.map((one) => one['x-caller'])).toEqual(callers);
      expect(shared.search).toBe('');
    });
  });

  describe('with header names of its own', () => {
    test.override({ options: { localHeaders: ['x-own-key', 'x-own-version'] } });

    test('header names of its own are left out of a request that is passed on, too', async ({ server, gateway }) => {
      server.reply({ body: '{}' });
      await post(gateway, { headers: { 'x-own-key': 'k', 'x-own-version': '1', 'x-other': '2' } });
      const names = Object.keys(server.requests[0]?.headers ?? {}).filter((name) => name.startsWith('x-o'));
      expect(names).toEqual(['x-other']);
    });
  });

  test('needs the local key', async ({ gateway }) => {
    expect((await post(gateway, { headers: { authorization: `Bearer ${upstreamKey}` } })).status).toBe(401);
  });
});

describe('the reply', () => {
  test('comes with its status and headers, but none of the connection, no cookies and no doors', async ({
    server,
    gateway,
  }) => {
    const headers = {
      'x-ratelimit': '7',
      'retry-after': '3',
      'set-cookie': 'session=1',
      'access-control-allow-origin': '*',
      'content-security-policy': 'default-src *',
      connection: 'x-hop',
      'x-hop': '1',
    };
    server.reply({ status: 429, headers, body: { error: { code: 429 } } });
    const reply = await post(gateway);
    expect(reply.status).toBe(429);
    expect(await reply.json()).toEqual({ error: { code: 429 } });
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      'x-ratelimit': '7',
      'retry-after': '3',
      'content-length': '22',
      'content-security-policy': "default-src 'none'; sandbox",
    });
    for (const name of ['set-cookie', 'access-control-allow-origin', 'x-hop'])
      expect(reply.headers.has(name)).toBe(false);
  });

  test('comes as it is written, chunk by chunk', async ({ server, gateway }) => {
    const pause = createPause();
    server.reply({ chunks: ['data: 1\n\n', pause.until, 'data: 2\n\n'] });
    const socket = await openPost(gateway);
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toMatch(/\r\n\r\n9\r\ndata: 1\n\n\r\n$/);
    pause.release();
    expect((await readSocket(socket)).bytes.toString()).toBe('9\r\ndata: 2\n\n\r\n0\r\n\r\n');
  });

  test.for([
    ['cut', cut, undefined],
    ['reset', reset, 'ECONNRESET'],
  ] as const)('ends as it ends upstream: %s', async ([name, step, error], { server, gateway }) => {
    const pause = createPause();
    server.reply({ chunks: ['part', pause.until, step] });
    const socket = await openPost(gateway);
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toMatch(/4\r\npart\r\n$/);
    pause.release();
    const rest = await readSocket(socket);
    expect(rest).toEqual({ bytes: Buffer.alloc(0), error });
    expect(gateway.log).toMatchObject([{ status: 200, note: name }]);
  });

  test('waits upstream while the caller reads nothing', async ({ server, gateway }) => {
    const block = Buffer.alloc(256 * 1024, 'x');
    const total = 256;
    let written = 0;
    server.reply({
      chunks: (function* () {
        for (; written < total; written++) yield block;
      })(),
    });
    const socket = await openPost(gateway);
    socket.pause();
    await server.received(1);
    await untilStill(() => written);
    expect(written).toBeGreaterThan(0);
    expect(written).toBeLessThan(total);
    const { bytes } = await readSocket(socket.resume());
    expect(bytes.length).toBeGreaterThan(total * block.length);
    expect(bytes.subarray(-5).toString()).toBe('0\r\n\r\n');
  });
});

describe('a caller that leaves ends the exchange upstream', () => {
  test('before the head of the reply', async ({ server, gateway }) => {
    server.reply({ chunks: [new Promise(() => {})] });
    const socket = await openPost(gateway);
    await server.received(1);
    socket.destroy();
    await server.requests[0]?.closed;
    expect(server.requests).toHaveLength(1);
  });

  test('in the middle of a stream', async ({ server, gateway }) => {
    server.reply({ chunks: ['part', new Promise(() => {})] });
    const socket = await openPost(gateway);
    await once(socket, 'data');
    socket.destroy();
    await server.requests[0]?.closed;
    await expect.poll(() => gateway.log).toMatchObject([{ status: 200, note: 'the caller left' }]);
  });
});

test('a caller that has every byte of the declared length has not left, though the body ends later', async () => {
  const closed = createPause();
  const log: LogEntry[] = [];
  let aborted: boolean | undefined;
  const handler: Handler = async ({ left, readBody }) => {
    await readBody();
    async function* body(): AsyncGenerator<string> {
      yield 'whole';
      await closed.until;
      aborted = left.aborted;
    }
    return { status: 200, headers: { 'content-length': '5' }, body: body() };
  };
  const app = createApp({ key, handler, log: (entry) => void log.push(entry) });
  const gateway = await listen((request, response) => {
    app(request, response);
    response.on('close', closed.release);
  });
  let got = '';
  for await (const chunk of await openPost(gateway)) if ((got += String(chunk)).endsWith('whole')) break;
  await expect.poll(() => log).toMatchObject([{ status: 200, bytes: 5, note: undefined }]);
  expect(aborted).toBe(false);
  await gateway.close(0);
});

test('a caller that leaves before it has every byte has left, though all of them were handed over', async () => {
  const length = 64 * 1024 * 1024;
  const log: LogEntry[] = [];
  const handler: Handler = async () => ({
    status: 200,
    headers: { 'content-length': String(length) },
    body: 'x'.repeat(length),
  });
  const gateway = await listen(createApp({ key, handler, log: (entry) => void log.push(entry) }));
  const socket = await openPost(gateway);
  await once(socket, 'data');
  socket.destroy();
  await expect.poll(() => log).toMatchObject([{ status: 200, bytes: length, note: 'the caller left' }]);
  await gateway.close(0);
});

/** Waits until a count has not changed for many turns of the event loop. */
async function untilStill(count: () => number): Promise<void> {
  let last = -1;
  for (let still = 0; still < 2000; still++) {
    if (count() !== last) still = 0;
    last = count();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
