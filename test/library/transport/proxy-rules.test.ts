import { once } from 'node:events';
import http from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, rootCertificates } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { proxyFor } from '../../../src/library/transport/proxy.ts';
import { loadAuthorities } from '../../../src/library/transport/trust.ts';
import { openTunnel } from '../../../src/library/transport/proxy.ts';
import { createPause } from '../../helpers/scripted-server.ts';
import { authority, clientPair, serverPair } from './certificates.ts';
import { failureOf, post, serve } from './post.ts';

const connected = 'HTTP/1.1 200 Connected\r\n\r\n';

test.each([
  ['https://host/', '.', 'p:1'],
  ['https://host/', '*.', 'p:1'],
  ['https://host./', '.', 'p:1'],
  ['https://[fd00::1]/', '[fd00::1]', undefined],
])('%s with NO_PROXY=%s goes through %s', (target, exempt, expected) => {
  expect(proxyFor(new URL(target), { env: { HTTPS_PROXY: 'http://p:1', NO_PROXY: exempt } })?.url.host).toBe(expected);
});

/** A tunnel through a server to a target. */
function tunnelTo(url: string, server: { url: string }, timeoutMs = 60_000): Promise<Socket> {
  const { hostname, protocol, port } = new URL(url);
  return openTunnel({
    proxy: { url: new URL(server.url), from: 'HTTPS_PROXY' },
    target: { hostname: hostname.replaceAll(/^\[|\]$/g, ''), protocol, port },
    timeoutMs,
    signal: new AbortController().signal,
  });
}

test.each([
  ['https://gateway.test/', 'gateway.test:443'],
  ['https://gateway.test:8443/', 'gateway.test:8443'],
  ['https://[fd00::1]/', '[fd00::1]:443'],
])('requests a tunnel to %s from the proxy', async (url, place) => {
  const server = await serve();
  server.raw(connected);
  (await tunnelTo(url, server)).destroy();
  expect(server.requests[0]).toMatchObject({ method: 'CONNECT', path: place, headers: { host: place } });
});

test.each(['http://gateway.test/', 'http://gateway.test:8080/a?b=c', 'http://[fd00::1]/'])(
  'asks the proxy for %s itself',
  async (url) => {
    const server = await serve();
    server.reply({ body: 'hello' });
    expect(await post(url, { env: { HTTP_PROXY: server.url } })).toMatchObject({ text: 'hello' });
    expect(server.requests[0]).toMatchObject({ method: 'POST', path: url, headers: { host: new URL(url).host } });
  },
);

test('a proxy can have an IPv6 address', async () => {
  const error = failureOf(await post('http://gateway.test/', { env: { HTTP_PROXY: 'http://[::1]:1' } }));
  expect(error.message).toContain('the proxy [::1]:1 (HTTP_PROXY) does not work: the connection was ');
});

test("a proxy is not connected to by the process's global agent, which may have a proxy too", async () => {
  const server = await serve();
  server.raw(connected);
  const before = http.globalAgent;
  onTestFinished(() => void (http.globalAgent = before));
  http.globalAgent = new http.Agent({ host: '127.0.0.1', port: 1 });
  http.globalAgent.createConnection = () => {
    throw new Error('not this one');
  };
  expect((await tunnelTo('https://gateway.test/', server)).destroy().destroyed).toBe(true);
});

test('a proxy can speak TLS itself', async () => {
  const proxy = createTlsServer(serverPair).listen(0, '127.0.0.1');
  const hello = once(proxy, 'tlsClientError');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  const { port } = proxy.address() as AddressInfo;
  const error = failureOf(await post('http://gateway.test/', { env: { HTTP_PROXY: `https://127.0.0.1:${port}` } }));
  expect(error.class).toBe('not-sent');
  // The client spoke TLS and refused the certificate, which the test's own authority signed.
  expect(error.message).toMatch(/certificate|UNABLE_TO_VERIFY/);
  await hello;
});

test("the user's own authority is trusted for a proxy that speaks TLS too", async () => {
  const proxy = createTlsServer(serverPair, (socket) => {
    socket.on('error', () => {});
    socket.once('data', (head: Buffer) => {
      const isTunnel = head.toString().startsWith('CONNECT ');
      socket.end(isTunnel ? 'HTTP/1.1 403 No\r\n\r\n' : 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello');
    });
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  const env = { ALL_PROXY: `https://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
  const error = failureOf(await post('https://gateway.test/', { env, ca: authority }));
  expect(error.message).toContain('refuses the way to gateway.test:443 (403)');
  expect(await post('http://gateway.test/', { env, ca: authority })).toMatchObject({ text: 'hello' });
});

test.each([204, 299])('a status %i of a proxy opens the tunnel: it is 2xx', async (status) => {
  const server = await serve();
  server.raw(`HTTP/1.1 ${status} So\r\n\r\n`);
  expect((await tunnelTo('https://gateway.test/', server)).destroy().destroyed).toBe(true);
});

test('a status 199 of a proxy opens no tunnel', async () => {
  const server = await serve();
  server.raw('HTTP/1.1 199 So\r\n\r\n');
  await expect(tunnelTo('https://gateway.test/', server, 500)).rejects.toMatchObject({ class: 'not-sent' });
});

test.each([300, 302])('a status %i of a proxy is a refusal, and its connection is closed', async (status) => {
  const server = await serve();
  server.raw(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
  const error = failureOf(await post('https://gateway.test/', { env: { HTTPS_PROXY: server.url } }));
  expect(error.message).toContain(`refuses the way to gateway.test:443 (${status})`);
  await server.requests[0]?.closed;
});

test('the connect timeout ends when the tunnel is open', async () => {
  const server = await serve();
  server.raw(connected);
  const socket = await tunnelTo('https://gateway.test/', server, 500);
  // Its time is as long and began later: that of the first is over, too, when it fails.
  const silent = await serve();
  silent.raw(createPause().until);
  await expect(tunnelTo('https://gateway.test/', silent, 500)).rejects.toMatchObject({ class: 'not-sent' });
  expect(socket.destroyed).toBe(false);
  socket.destroy();
});

test('bytes of the target right after the head of the proxy are not lost', async () => {
  const server = createServer((socket) => {
    socket.once('data', () => socket.write(`${connected}hello`));
    socket.on('error', () => {});
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const socket = await openTunnel({
    proxy: { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), from: 'HTTP_PROXY' },
    target: { hostname: 'gateway.test', protocol: 'http:', port: '80' },
    timeoutMs: 60_000,
    signal: new AbortController().signal,
  });
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  expect(chunk.toString()).toBe('hello');
});

test('a tunnel that the proxy never opens fails after the timeout, which the error names', async () => {
  const server = await serve();
  server.always({ raw: [] });
  const opening = openTunnel({
    proxy: { url: new URL(server.url), from: 'HTTP_PROXY' },
    target: { hostname: 'gateway.test', protocol: 'http:', port: '80' },
    timeoutMs: 50,
    signal: new AbortController().signal,
  });
  await expect(opening).rejects.toMatchObject({ class: 'not-sent', message: expect.stringContaining('within 0.05 s') });
  await server.requests[0]?.closed;
});

test("the user's own certificate is added to Node's and does not replace them", async () => {
  const env = { NODE_EXTRA_CA_CERTS: '' };
  expect(await loadAuthorities({ ca: authority, env })).toEqual([...rootCertificates, authority]);
});

test("the system's certificates are added too, and read only if requested", async () => {
  const asked: string[] = [];
  const list = (place: string): string[] => {
    asked.push(place);
    return [`one of ${place}`];
  };
  expect(await loadAuthorities({ env: {} }, list)).toBeUndefined();
  expect(await loadAuthorities({ ca: authority, env: {} }, list)).toEqual(['one of default', authority]);
  expect(asked).toEqual(['default']);
  const all = await loadAuthorities({ systemCa: true, ca: authority, env: {} }, list);
  expect(all).toEqual(['one of default', 'one of system', authority]);
});

test('an invalid client certificate is refused', async () => {
  const error = failureOf(await post('https://127.0.0.1:1/', { clientCert: 'hello', clientKey: clientPair.key }));
  expect(error).toMatchObject({ class: 'usage', message: expect.stringContaining('the client certificate') });
});
