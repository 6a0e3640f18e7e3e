import { getEventListeners, once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { createPause } from '../../helpers/scripted-server.ts';
import { authority, serverPair } from './certificates.ts';
import { failureOf, open, post, requestTo, serve } from './post.ts';

async function listen(onSocket: (socket: Socket) => void): Promise<number> {
  const server = createServer(onSocket).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

/** Long enough for a pending callback to run. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await setImmediate();
}

test('posts the body and returns head and chunks of the reply', async () => {
  const server = await serve();
  server.reply({ headers: { 'X-Two': 'a', 'x-two': 'b' }, body: { ok: true } });
  const ending = await post(`${server.url}/v1/messages`, { body: { text: 'ä"' }, headers: { 'x-api-key': 'k' } });
  expect(ending).toMatchObject({
    text: '{"ok":true}',
    sent: true,
    reply: { status: 200, headers: { 'x-two': 'a, b' } },
  });
  const [request] = server.requests;
  expect(request).toMatchObject({ method: 'POST', path: '/v1/messages' });
  expect(request?.headers).toMatchObject({ 'accept-encoding': 'identity', 'content-length': '15', 'x-api-key': 'k' });
  expect(request?.json()).toEqual({ text: 'ä"' });
});

test('yields the first chunk before the server sends the last', async () => {
  const server = await serve();
  const pause = createPause();
  server.reply({ chunks: ['one', pause.until, 'two'] });
  const reply = await open().fetch(requestTo(server.url), { signal: new AbortController().signal });
  const seen: string[] = [];
  for await (const chunk of reply.body) {
    seen.push(Buffer.from(chunk).toString());
    pause.release();
  }
  expect(seen).toEqual(['one', 'two']);
});

test('no encoding is accepted, whatever a header of the user says', async () => {
  const server = await serve();
  server.reply({ body: {} });
  await post(server.url, { headers: { 'accept-encoding': 'gzip' } });
  expect(server.requests[0]?.headers['accept-encoding']).toBe('identity');
});

test('the query of the URL is sent', async () => {
  const server = await serve();
  server.reply({ body: {} });
  await post(`${server.url}/v1?a=b`);
  expect(server.requests[0]?.path).toBe('/v1?a=b');
});

test('a request that was aborted while connecting is not sent when the connection opens', async () => {
  const server = await serve({ tls: serverPair });
  server.reply({ body: 'second' });
  const pause = createPause();
  const arrived = createPause();
  const port = await listen((socket) => {
    arrived.release();
    const onward = connect(server.port, '127.0.0.1');
    for (const side of [socket, onward]) side.on('error', () => {});
    void pause.until.then(() => socket.pipe(onward).pipe(socket));
  });
  const url = `https://127.0.0.1:${port}/`;
  const transport = open({ ca: authority });
  const controller = new AbortController();
  const first = post(url, { transport, signal: controller.signal, body: { n: 'first' } });
  await arrived.until;
  const reason = new Error('given up');
  controller.abort(reason);
  expect(await first).toMatchObject({ error: reason, sent: false });
  pause.release();
  expect(await post(url, { transport, body: { n: 'second' } })).toMatchObject({ text: 'second' });
  expect(server.requests.map((request) => request.json())).toEqual([{ n: 'second' }]);
});

test('no timer and no listener outlives an exchange, however it ended', async () => {
  const server = await serve();
  server.reply({ body: 'hello' });
  const { signal } = new AbortController();
  const before = timers();
  const transport = open();
  expect(await post(server.url, { transport, signal })).toMatchObject({ text: 'hello' });
  expect(failureOf(await post('http://127.0.0.1:1/', { transport, signal })).class).toBe('not-sent');
  await transport.close();
  await turns();
  expect(timers()).toBeLessThanOrEqual(before);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('the connect timeout ends with the connection, however long the reply takes', async () => {
  const server = await serve();
  const pause = createPause();
  server.reply({ raw: [pause.until, 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi'] });
  const ending = post(server.url, { connectTimeoutMs: 500 });
  await server.received(1);
  // Its time is as long and began later: that of the first is over, too, when it fails.
  const silent = await listen(() => {});
  const later = failureOf(await post(`https://127.0.0.1:${silent}/`, { connectTimeoutMs: 500 }));
  expect(later.message).toContain('no connection within 0.5 s');
  pause.release();
  expect(await ending).toMatchObject({ text: 'hi' });
});

test('a connection that opened while the process was busy is not a timeout', async () => {
  const server = await serve();
  server.reply({ body: 'hello' });
  const ending = post(server.url, { connectTimeoutMs: 50 });
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
  const until = performance.now() + 100;
  while (performance.now() < until);
  expect(await ending).toMatchObject({ text: 'hello' });
});

test('an abort replaces chunks that were not read yet', async () => {
  const server = await serve();
  // Head and chunk in one write: both arrive together.
  server.raw('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\none', createPause().until);
  const controller = new AbortController();
  const reply = await open().fetch(requestTo(server.url), { signal: controller.signal });
  const chunks = reply.body[Symbol.asyncIterator]();
  const reason = new Error('ctrl-c');
  controller.abort(reason);
  await expect(chunks.next()).rejects.toBe(reason);
});

test.each(['https', 'a proxy'])('closing ends a connection that is still being opened: %s', async (kind) => {
  const ended: number[] = [];
  let connections = 0;
  const arrived = createPause();
  const port = await listen((socket) => {
    const connection = ++connections;
    socket.on('error', () => {});
    socket.on('data', () => arrived.release());
    socket.on('end', () => void ended.push(connection));
  });
  const transport = open(kind === 'https' ? {} : { env: { HTTP_PROXY: `http://127.0.0.1:${port}` } });
  const url = kind === 'https' ? `https://127.0.0.1:${port}/` : 'http://gateway.test/';
  const controller = new AbortController();
  const ending = post(url, { transport, signal: controller.signal });
  await arrived.until;
  controller.abort();
  await ending;
  await transport.close();
  // The server sees a later connection later.
  const marker = connect(port, '127.0.0.1');
  await once(marker, 'connect');
  marker.end();
  await once(marker, 'close');
  expect(ended).toEqual([1, 2]);
});

test('HTTP/2 is never negotiated, even if the server offers it', async () => {
  const agreed: unknown[] = [];
  const server = createTlsServer({ ...serverPair, ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => {
    agreed.push(socket.alpnProtocol);
    socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  expect(await post(`https://127.0.0.1:${port}/`, { ca: authority })).toMatchObject({ text: 'hi' });
  expect(agreed).toEqual(['http/1.1']);
});

test('malformed status line: an unrequested 100 is not a reply', async () => {
  const server = await serve();
  server.raw('HTTP/1.1 100 Continue\r\n\r\n');
  expect(failureOf(await post(server.url))).toMatchObject({ class: 'bad-reply', details: { sent: 'yes' } });
});

test('a reply behind an unrequested 100 is lost, and the error says what came', async () => {
  const server = await serve();
  const body = '{"ok":true}';
  server.reply({
    raw: [`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`],
  });
  expect(failureOf(await post(server.url))).toMatchObject({
    class: 'bad-reply',
    billed: 'yes',
    message: expect.stringMatching(/^127\.0\.0\.1:\d+ sent 100 Continue unasked/) as string,
    details: { reason: 'interim' },
  });
});

test('NODE_TLS_REJECT_UNAUTHORIZED=0 is ignored for http', async () => {
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0', HTTP_PROXY: 'http://127.0.0.1:1' };
  expect(failureOf(await post('http://gateway.test/', { env })).class).toBe('not-sent');
});
