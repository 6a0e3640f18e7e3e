import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect } from 'vitest';
import { createUpstreamHandler } from '../../src/gateway/upstream.ts';
import { createApp } from '../../src/gateway/app.ts';
import { listen } from '../../src/gateway/listen.ts';
import { GatewayError } from '../../src/library/errors.ts';
import { openHttpConnection } from '../../src/library/transport/connection.ts';
import { createPause, reset } from '../helpers/scripted-server.ts';
import { key } from './gateway-under-test.ts';
import { path, post, test, upstreamKey } from './upstream-under-test.ts';

const version = { 'vendor-b-version': '2023-06-01' };

describe('an upstream that gives no reply is reported in the shape of the format', () => {
  test('502 for a connection that is lost, with the word not to repeat it', async ({ server, gateway }) => {
    server.raw(reset);
    server.raw(reset);
    const content = await post(gateway);
    expect([content.status, content.headers.get('x-should-retry')]).toEqual([502, 'false']);
    expect(await content.json()).toEqual({
      error: { code: 502, status: 'INTERNAL', message: expect.stringMatching(/^the upstream gateway gave no reply: /) },
    });
    const messages = await post(gateway, { path: '/v1/messages', headers: version });
    expect([messages.status, messages.headers.get('x-should-retry')]).toEqual([502, 'false']);
    expect(await messages.json()).toMatchObject({
      type: 'error',
      error: { type: 'api_error', message: expect.stringMatching(/^the upstream gateway gave no reply: /) },
      request_id: expect.stringMatching(/^req_/),
    });
  });

  test('502 for a redirect, which is not followed', async ({ server, gateway }) => {
    server.reply({ status: 307, headers: { location: 'https://elsewhere.example/?token=t' } });
    const reply = await post(gateway);
    expect(reply.status).toBe(502);
    const text = await reply.text();
    expect(text).toContain('redirects (307) to https://elsewhere.example');
    expect(text).not.toContain('token');
  });

  test('503 for a closed port, which may be repeated', async () => {
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as AddressInfo;
    free.close();
    const transport = openHttpConnection({ env: {} });
    const handler = createUpstreamHandler({
      fetch: transport.fetch,
      address: () => ({ url: new URL(`http://127.0.0.1:${port}/x`), headers: { 'x-api-key': upstreamKey } }),
    });
    const listening = await listen(createApp({ key, handler }));
    const reply = await post({ ...listening, log: [] });
    expect([reply.status, reply.headers.get('x-should-retry')]).toEqual([503, null]);
    const text = await reply.text();
    expect(text).toContain('ECONNREFUSED');
    expect(text).not.toContain(upstreamKey);
    await listening.close(0);
    await transport.close();
  });

  describe('in time', () => {
    test.override({ options: { timeoutMs: 1500 } });

    test('504 when no head comes', async ({ server, gateway }) => {
      server.raw(new Promise(() => {}));
      const reply = await post(gateway, { path: '/v1/messages', headers: version });
      expect([reply.status, reply.headers.get('x-should-retry')]).toEqual([504, 'false']);
      expect(await reply.json()).toMatchObject({ error: { type: 'timeout_error' } });
      await server.requests[0]?.closed;
    });

    test('but a body may take longer', async ({ server, gateway }) => {
      const pause = createPause();
      server.reply({ chunks: ['a', pause.until, 'b'] });
      server.raw(new Promise(() => {}));
      const reply = await post(gateway);
      // Its time is as long and begins later: that of the first is over, too, when it fails.
      expect((await post(gateway)).status).toBe(504);
      pause.release();
      expect(await reply.text()).toBe('ab');
    });
  });
});

describe('a failure of class usage', () => {
  test.override({
    options: { fetch: () => Promise.reject(new GatewayError('usage', 'no recording fits')), usageStatus: 404 },
  });

  test('a failure of class usage has the status that it was given', async ({ gateway }) => {
    const reply = await post(gateway, { path });
    expect(reply.status).toBe(404);
    expect(await reply.json()).toMatchObject({ error: { status: 'NOT_FOUND', message: 'no recording fits' } });
  });
});
