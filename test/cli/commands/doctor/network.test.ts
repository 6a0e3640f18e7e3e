import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { examineNetwork, type NetworkOptions } from '../../../../src/cli/commands/doctor/network.ts';
import type { Check } from '../../../../src/cli/commands/doctor/checks.ts';
import { type ScriptedServer, startScriptedServer } from '../../../helpers/scripted-server.ts';
import { authority, elsewherePair, serverPair } from '../../../library/transport/certificates.ts';

async function examine(baseUrl: string, more: Partial<NetworkOptions> = {}): Promise<Check[]> {
  const options = {
    baseUrl: new URL(baseUrl),
    transport: { env: {} },
    signal: new AbortController().signal,
    timeoutMs: 5000,
  };
  return examineNetwork({ ...options, ...more });
}

async function serve(options?: Parameters<typeof startScriptedServer>[0]): Promise<ScriptedServer> {
  const server = await startScriptedServer(options);
  onTestFinished(() => server.close());
  return server;
}

/** A proxy that joins every CONNECT to one port. */
async function startProxy(to: number): Promise<{ url: string; asked: (string | undefined)[] }> {
  const asked: (string | undefined)[] = [];
  const proxy = createServer().on('connect', ({ url }, client) => {
    asked.push(url);
    const upstream = connect(to, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 joined\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  return { url: `http://u:hidden@127.0.0.1:${(proxy.address() as AddressInfo).port}`, asked };
}

const replied = { status: 404, headers: { date: new Date().toUTCString(), connection: 'close' } };

test('doctor names the proxy and the variable that it comes from', async () => {
  const transport = { env: { all_proxy: 'http://u:hidden@127.0.0.1:1' } };
  const [first] = await examine('https://gateway.test', { transport });
  expect(first).toMatchObject({ name: 'proxy', state: 'ok', text: 'http://127.0.0.1:1 (ALL_PROXY)' });
  const own = { env: { NO_PROXY: 'gateway.test' }, proxy: { value: 'http://127.0.0.1:1', from: 'flag --proxy' } };
  const [exempt] = await examine('https://gateway.test', { transport: own, timeoutMs: 300 });
  expect(exempt).toMatchObject({
    text: 'none: NO_PROXY names the gateway, so the proxy of flag --proxy is not used',
  });
});

test('goes through a proxy to TLS and HTTP', async () => {
  const server = await serve({ tls: serverPair });
  server.reply(replied);
  const proxy = await startProxy(server.port);
  const transport = { env: { HTTPS_PROXY: proxy.url }, ca: authority };
  const checks = await examine('https://gateway.test/prefix', { transport });
  expect(proxy.asked).toEqual(['gateway.test:443']);
  expect(checks.map(({ name, state }) => `${name} ${state}`)).toEqual(['proxy ok', 'trust ok', 'connection ok']);
  expect(checks[1]?.text).toBe("Node's own authorities, --cacert");
  expect(checks[2]?.text).toBe('HTTP 404 to HEAD /prefix without a key; any status will do');
  expect(JSON.stringify(checks)).not.toContain('hidden');
  const other = await examine('https://nobody.example', { transport });
  expect(other.at(-1)?.text).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
  const plain = await serve();
  plain.reply(replied);
  const through = await examine('http://gateway.test/prefix', { transport: { env: { HTTP_PROXY: plain.url } } });
  expect(through.map(({ name, state }) => `${name} ${state}`)).toEqual(['proxy ok', 'connection ok']);
  expect(plain.requests[0]).toMatchObject({
    method: 'HEAD',
    path: 'http://gateway.test/prefix',
    headers: { host: 'gateway.test' },
  });
});

test('a certificate of an unknown authority is a failure with its fix', async () => {
  const server = await serve({ tls: elsewherePair });
  const checks = await examine(`https://localhost:${server.port}`);
  expect(checks.at(-1)).toMatchObject({ name: 'connection', state: 'failed', class: 'not-sent' });
  expect(checks.at(-1)?.fix).toMatch(/--cacert|another host/);
});

test('an http server at an https:// URL is reported at the handshake', async () => {
  const server = await serve();
  server.always({ raw: ['HTTP/1.1 400 Bad Request\r\n\r\n'], early: true });
  const last = (await examine(`https://127.0.0.1:${server.port}`, { timeoutMs: 300 })).at(-1);
  expect(last).toMatchObject({ name: 'connection', state: 'failed', class: 'not-sent' });
});

test('a port that never answers is given up, at the handshake a failure, at HTTP a warning', async () => {
  const silent = createTcpServer((socket) => void socket.on('error', () => undefined).resume());
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  // Node 20 collects a signal of a time limit that nothing but another signal knows, and then it never aborts.
  setFlagsFromString('--expose-gc');
  // Seldom: where many tests share a process, one takes longer than a quarter of a second, and then no timer is on time.
  const collecting = setInterval(runInNewContext('gc') as () => void, 900);
  onTestFinished(() => {
    clearInterval(collecting);
    silent.close();
  });
  const { port } = silent.address() as AddressInfo;
  const tls = await examine(`https://127.0.0.1:${port}`, { timeoutMs: 3000 });
  expect(tls.at(-1)).toMatchObject({ name: 'connection', state: 'failed' });
  expect(tls.at(-1)?.text).toContain('no connection within 3 s');
  const http = await examine(`http://127.0.0.1:${port}`, { timeoutMs: 1000 });
  expect(http.at(-1)).toMatchObject({ name: 'connection', state: 'warning' });
});

test('certificate checks that are turned off are a failure, but not towards this machine', async () => {
  const server = await serve({ tls: serverPair });
  server.always(replied);
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  const own = await examine(`https://localhost:${server.port}`, { transport: { env, ca: authority } });
  expect(own.map(({ state }) => state)).not.toContain('failed');
  const proxy = await startProxy(server.port);
  const transport = { env: { ...env, HTTPS_PROXY: proxy.url }, ca: authority };
  expect((await examine('https://gateway.test', { transport })).at(-1)).toMatchObject({
    name: 'connection',
    class: 'usage',
  });
});

test('a signal ends the examination with its own reason', async () => {
  const abort = new AbortController();
  const silent = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    abort.abort(new Error('enough'));
  });
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  await expect(examine(`https://127.0.0.1:${port}`, { signal: abort.signal })).rejects.toThrow('enough');
});
