import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createApp, startOffline } from '../../src/gateway/app.ts';
import { listen, reachableHost } from '../../src/gateway/listen.ts';
import type { Handler, LogEntry } from '../../src/gateway/types.ts';
import { key, startGateway, textPath, turn } from './gateway-under-test.ts';
import { openPost, readSocket } from './upstream-under-test.ts';

describe('listen', () => {
  it('serves loopback only, by default on a free port', async () => {
    const { url, port, close } = await listen(createApp());
    expect(url).toBe(`http://127.0.0.1:${port}`);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    await close();
    await expect(fetch(`${url}/healthz`)).rejects.toThrow('fetch failed');
    await close();
  });

  it('says which port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const failed = await listen(createApp(), { port }).catch((error: unknown) => error);
    expect(failed).toMatchObject({
      class: 'not-sent',
      message: `cannot listen on 127.0.0.1:${port}: it is in use`,
      exitCode: 7,
    });
    taken.close();
  });

  it('says that there is no such host', async () => {
    // Too long for a DNS name, so there is no query.
    const host = `${'x'.repeat(70)}.invalid`;
    const failed = await listen(createApp(), { host }).catch((error: unknown) => error);
    expect(failed).toMatchObject({
      class: 'not-sent',
      message: `cannot listen on ${host}:0: there is no such host`,
    });
  });

  it.each([
    ['127.0.0.1', 'http://127.0.0.1', 'http://127.0.0.1'],
    ['localhost', 'http://localhost', 'http://localhost'],
    ['0.0.0.0', 'http://0.0.0.0', 'http://127.0.0.1'],
  ])('on %s listens at %s, and this machine reaches it at %s', async (host, url, localUrl) => {
    const gateway = await listen(createApp(), { host });
    expect(gateway).toMatchObject({ url: `${url}:${gateway.port}`, localUrl: `${localUrl}:${gateway.port}` });
    expect((await fetch(`${gateway.localUrl}/healthz`)).status).toBe(200);
    await gateway.close(0);
  });

  it('on every address is reached at the loopback of the same family', () => {
    expect(reachableHost('::', '::')).toBe('[::1]');
    expect(reachableHost('0:0:0:0:0:0:0:0', '::')).toBe('[::1]');
    expect(reachableHost('::1', '::1')).toBe('[::1]');
    expect(reachableHost('0', '0.0.0.0')).toBe('127.0.0.1');
  });

  it('lets a running exchange finish when it closes, and waits for no request after it', async () => {
    let go: () => void = () => {};
    let begun: () => void = () => {};
    const asked = new Promise<void>((resolve) => (begun = resolve));
    const handler: Handler = async () => {
      begun();
      await new Promise<void>((resolve) => (go = resolve));
      return { status: 200, headers: {}, body: 'late' };
    };
    const gateway = await startGateway({ handler });
    const reply = gateway.post(textPath, turn('hi'));
    await asked;
    const closed = gateway.close(600_000);
    go();
    expect((await reply).text).toBe('late');
    await closed;
  });

  it('cuts off what does not end in time', async () => {
    const gateway = await startGateway();
    const headers = { 'x-vendor-a-api-key': 'local-test-key', 'content-type': 'application/json' };
    const body = JSON.stringify(turn('hi'));
    const response = await fetch(`${gateway.url}/v1beta/models/fault-stall:generateContent`, {
      method: 'POST',
      headers,
      body,
    });
    await gateway.close(1);
    await expect(response.text()).rejects.toThrow('terminated');
  });

  it('answers broken HTTP with 400 and goes on', async () => {
    const gateway = await startGateway();
    expect(await gateway.raw('BROKEN\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
    const gone = connect(gateway.port, '127.0.0.1');
    await once(gone, 'connect');
    gone.write('POST /v1/messages HTTP/1.1\r\n');
    gone.resetAndDestroy();
    expect((await gateway.post(textPath, turn('hi'))).status).toBe(200);
    await gateway.close(0);
  });
});

describe('startOffline', () => {
  it('has an address and a random key of its own', async () => {
    const [one, other] = [await startOffline(), await startOffline()];
    expect(one.url.hostname).toBe('127.0.0.1');
    expect(one.key).toMatch(/^local-[\w-]{32}$/);
    expect(other.key).not.toBe(one.key);
    const ask = async (key: string): Promise<number> => {
      const headers = { 'content-type': 'application/json', 'x-vendor-a-api-key': key };
      const response = await fetch(new URL(textPath, one.url), {
        method: 'POST',
        headers,
        body: JSON.stringify(turn('hi')),
      });
      await response.arrayBuffer();
      return response.status;
    };
    expect([await ask(one.key), await ask(other.key)]).toEqual([200, 401]);
    await Promise.all([one.close(), other.close()]);
  });
});

describe('the log', () => {
  it('has one entry a request, without query, key and words', async () => {
    const entries: LogEntry[] = [];
    const gateway = await startGateway({ log: (entry) => entries.push(entry), elapsed: () => 5 });
    await gateway.post(`${textPath}?key=canary`, turn('canary'));
    await gateway.post('/v1/messages', '{"canary":');
    await gateway.close();
    expect(entries).toEqual([
      {
        method: 'POST',
        path: textPath,
        status: 200,
        model: 'local-text',
        durationMs: 0,
        bytes: expect.any(Number),
        note: undefined,
      },
      expect.objectContaining({
        path: '/v1/messages',
        status: 400,
        model: undefined,
        note: expect.stringContaining('JSON'),
      }),
    ]);
    expect(JSON.stringify(entries[0])).not.toContain('canary');
  });
});

describe('a handler of another kind', () => {
  it('gets the request with its whole body and the signal that its caller left', async () => {
    const failing: Handler = async () => {
      throw new Error('broken inside');
    };
    const gateway = await startGateway({ handler: failing });
    expect(await gateway.post(textPath, turn('hi'))).toMatchObject({
      status: 500,
      json: { error: { code: 500, status: 'INTERNAL' } },
    });
    await gateway.close();
    const echo: Handler = async ({ readBody, format, pathId, keyForm, path, query }) => ({
      status: 200,
      headers: { 'x-request': JSON.stringify({ format: format.name, pathId, keyForm, path, query: String(query) }) },
      body: [await readBody()],
    });
    const passing = await startGateway({ handler: echo });
    const { text, headers } = await passing.post(`${textPath}?a=b`, turn('hi'));
    expect(text).toBe(JSON.stringify(turn('hi')));
    expect(JSON.parse(headers.get('x-request') ?? '')).toEqual({
      format: 'content',
      pathId: 'local-text',
      keyForm: 'bearer',
      path: textPath,
      query: 'a=b',
    });
    await passing.close();
  });

  it.each(['cut', 'reset'] as const)('whose reply is %s after its head still gives the head', async (ending) => {
    const handler: Handler = async () => ({ status: 203, headers: { 'x-there': 'yes' }, body: [], ending });
    const gateway = await startGateway({ handler });
    const { bytes, error } = await readSocket(await openPost({ port: gateway.port, key }));
    expect(String(bytes)).toMatch(/^HTTP\/1\.1 203 [\s\S]*\r\nx-there: yes\r\n[\s\S]*\r\n\r\n$/);
    expect(error).toBe(ending === 'reset' ? 'ECONNRESET' : undefined);
    await gateway.close(0);
  });

  it('a handler whose chunks come in one turn of the event loop sends each in a frame of its own', async () => {
    const handler: Handler = async () => ({ status: 200, headers: {}, body: ['data: 1', '\n', Buffer.from('\n')] });
    const gateway = await startGateway({ handler });
    const { bytes } = await readSocket(await openPost({ port: gateway.port, key }));
    expect(String(bytes).split('\r\n\r\n').slice(1)).toEqual(['7\r\ndata: 1\r\n1\r\n\n\r\n1\r\n\n\r\n0', '']);
    await gateway.close(0);
  });

  it('does not log a caller that leaves with its whole reply', async () => {
    const signals: AbortSignal[] = [];
    const handler: Handler = async ({ left, readBody }) => {
      signals.push(left);
      await readBody();
      return { status: 200, headers: {}, body: 'all of it' };
    };
    const gateway = await startGateway({ handler });
    expect(await gateway.post(textPath, turn('hi'))).toMatchObject({ status: 200, text: 'all of it' });
    await gateway.close();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  });

  it('logs a caller that leaves in the middle of a long reply', async () => {
    let write: (entry: LogEntry) => void = () => {};
    const logged = new Promise<LogEntry>((resolve) => (write = resolve));
    const handler: Handler = async ({ readBody }) => {
      await readBody();
      return { status: 200, headers: {}, body: 'x'.repeat(2 ** 26) };
    };
    const gateway = await startGateway({ handler, log: (entry) => write(entry) });
    const socket = await openPost({ port: gateway.port, key });
    await once(socket, 'readable');
    socket.destroy();
    expect(await logged).toMatchObject({ status: 200, note: 'the caller left' });
    await gateway.close(0);
  });
});
