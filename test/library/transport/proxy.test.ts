import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { chooseHint } from '../../../src/library/reasons.ts';
import { proxyAuthorization, proxyFor } from '../../../src/library/transport/proxy.ts';
import { authority, serverPair } from './certificates.ts';
import { failureOf, post, serve } from './post.ts';

type Env = Record<string, string>;
const https = 'https://gateway.test/v1';
const http = 'http://gateway.test/v1';

test.each<[string, Env, string | undefined]>([
  [https, { HTTPS_PROXY: 'http://p:1' }, 'p:1'],
  [https, { https_proxy: 'http://p:1', HTTPS_PROXY: 'http://q:2' }, 'p:1'],
  [https, { https_proxy: '', HTTPS_PROXY: 'http://q:2' }, undefined],
  [https, { HTTP_PROXY: 'http://p:1' }, undefined],
  [https, { ALL_PROXY: 'http://a:1' }, 'a:1'],
  [http, { ALL_PROXY: 'http://a:1' }, 'a:1'],
  [https, { all_proxy: 'http://a:1', ALL_PROXY: 'http://b:2' }, 'a:1'],
  [https, { ALL_PROXY: 'http://a:1', HTTPS_PROXY: 'http://p:1' }, 'p:1'],
  [http, { all_proxy: 'http://a:1', http_proxy: 'http://p:1' }, 'p:1'],
  [https, { ALL_PROXY: 'http://a:1', HTTP_PROXY: 'http://p:1' }, 'a:1'],
  [https, { ALL_PROXY: 'http://a:1', https_proxy: '' }, undefined],
  [https, { ALL_PROXY: '' }, undefined],
  [https, { ALL_PROXY: 'http://a:1', no_proxy: 'gateway.test' }, undefined],
  [https, { ALL_PROXY: 'socks5://a:1', NO_PROXY: 'gateway.test' }, undefined],
  ['http://127.0.0.1:8080/', { ALL_PROXY: 'http://a:1' }, undefined],
  ['https://localhost/', { all_proxy: 'socks5h://a:1' }, undefined],
  [https, { HTTPS_PROXY: 'p:8080' }, 'p:8080'],
  [https, { HTTPS_PROXY: 'https://p' }, 'p'],
  [http, { HTTP_PROXY: 'http://p:1' }, 'p:1'],
  [http, { http_proxy: ' http://p:1 ' }, 'p:1'],
  [http, { HTTPS_PROXY: 'http://p:1' }, undefined],
  [https, { HTTPS_PROXY: 'http://p:1', NO_PROXY: '*' }, undefined],
  [https, { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'a, gateway.test' }, undefined],
  [https, { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'TEST' }, undefined],
  [https, { HTTPS_PROXY: 'http://p:1', NO_PROXY: '.test' }, undefined],
  [https, { HTTPS_PROXY: 'http://p:1', NO_PROXY: '*.test' }, undefined],
  [https, { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'way.test' }, 'p:1'],
  [https, { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'gateway.test:443' }, undefined],
  [https, { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'gateway.test:8443' }, 'p:1'],
  [https, { HTTPS_PROXY: 'http://p:1', no_proxy: '', NO_PROXY: '*' }, 'p:1'],
  ['https://10.1.2.3/', { HTTPS_PROXY: 'http://p:1', NO_PROXY: '10.0.0.0/8' }, undefined],
  ['https://11.1.2.3/', { HTTPS_PROXY: 'http://p:1', NO_PROXY: '10.0.0.0/8,10.0.0.0/99' }, 'p:1'],
  ['https://10.1.2.3/', { HTTPS_PROXY: 'http://p:1', NO_PROXY: '10.1.0.0/24, fd00::/8' }, 'p:1'],
  [https, { HTTPS_PROXY: 'http://p:1', NO_PROXY: '0.0.0.0/0' }, 'p:1'],
  ['https://10.1.2.3/', { HTTPS_PROXY: 'http://p:1', NO_PROXY: '2.3, 10.1.2.3' }, undefined],
  ['https://11.1.2.3/', { HTTPS_PROXY: 'http://p:1', NO_PROXY: '2.3, 10.1.2.3' }, 'p:1'],
  ['https://[fd00::1]/', { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'fd00::/8' }, undefined],
  ['https://[fd00::1]:8443/', { HTTPS_PROXY: 'http://p:1', NO_PROXY: '[fd00::1]:8443' }, undefined],
  ['https://[fd00::1]/', { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'fd00::1' }, undefined],
  ['https://127.0.0.1/', { HTTPS_PROXY: 'http://p:1' }, undefined],
  ['http://localhost/', { HTTP_PROXY: 'http://p:1' }, undefined],
  ['http://[::1]/', { HTTP_PROXY: 'http://p:1' }, undefined],
])('%s with %j goes through %s', (target, env, expected) => {
  expect(proxyFor(new URL(target), { env })?.url.host).toBe(expected);
});

test.each<[string, Env, string | undefined]>([
  [https, {}, 'own:1'],
  [http, {}, 'own:1'],
  [https, { https_proxy: '', HTTPS_PROXY: 'http://p:1', ALL_PROXY: 'http://a:1' }, 'own:1'],
  [https, { NO_PROXY: 'gateway.test' }, undefined],
  ['http://127.0.0.1:8080/', {}, undefined],
])('%s with a proxy of the settings and %j goes through %s', (target, env, expected) => {
  const proxy = { value: 'own:1', from: 'flag --proxy' };
  expect(proxyFor(new URL(target), { env, proxy })?.url.host).toBe(expected);
});

test('a variable that the environment inherits names the proxy', async () => {
  const error = failureOf(await post(https, { env: Object.create({ ALL_PROXY: 'socks://p:1' }) as Env }));
  expect(error).toMatchObject({ class: 'usage', message: expect.stringContaining('ALL_PROXY') as string });
});

test.each(['socks://p:1', 'socks5://user:secret@p:1', 'socks5h://p:1'])(
  '%s in ALL_PROXY is a usage error that names an HTTP proxy and NO_PROXY as ways out',
  async (text) => {
    const error = failureOf(await post(https, { env: { ALL_PROXY: text } }));
    expect(error).toMatchObject({ class: 'usage', details: { sent: 'no' } });
    expect(error.message).toMatch(/^ALL_PROXY names a socks5?h?:\/\/ proxy, which is not supported$/);
    expect(chooseHint(error, 'library')).toMatch(/HTTPS_PROXY.*http:\/\/host:port.*NO_PROXY/);
  },
);

test('a request goes through the proxy of ALL_PROXY', async () => {
  const server = await serve();
  server.reply({ body: 'hello' });
  expect(await post(http, { env: { all_proxy: server.url } })).toMatchObject({ text: 'hello' });
  expect(server.requests[0]).toMatchObject({ method: 'POST', path: http });
});

test.each(['http://', 'http://user:secret@', 'socks5://user:secret@p:1', 'http://user:%zz-secret@p:1', '::'])(
  'malformed proxy URL %s is a usage error that does not repeat it',
  async (text) => {
    const error = failureOf(await post(https, { env: { HTTPS_PROXY: text } }));
    expect(error).toMatchObject({ class: 'usage', details: { sent: 'no' } });
    expect(error.message).toContain('HTTPS_PROXY');
    expect(error.message).not.toContain('secret');
  },
);

test('decodes user name and password of a proxy', () => {
  expect(proxyAuthorization(new URL('http://me%40x:p%3Aw@p:1'))).toBe(`Basic ${btoa('me@x:p:w')}`);
  expect(proxyAuthorization(new URL('http://p:1'))).toBeUndefined();
});

test('asks a proxy for the whole URL of what is not encrypted, at any port: it may refuse a tunnel there', async () => {
  const server = await serve();
  const env = { HTTP_PROXY: server.url.replace('://', '://me:secret@') };
  for (const target of ['http://gateway.test:8080/v1/messages?a=1', 'http://gateway.test/v1/messages']) {
    server.reply({ body: 'hello' });
    const ending = await post(target, { env, headers: { 'x-api-key': 'key' } });
    expect(ending).toMatchObject({ text: 'hello', sent: true });
    const request = server.requests.at(-1);
    expect(request).toMatchObject({ method: 'POST', path: target });
    expect(request?.headers).toMatchObject({
      host: new URL(target).host,
      'x-api-key': 'key',
      'proxy-authorization': `Basic ${btoa('me:secret')}`,
    });
  }
});

test('a proxy that wants another password for a whole URL sent nothing on', async () => {
  const server = await serve();
  server.reply({ status: 407, body: 'no' });
  const error = failureOf(await post(http, { env: { HTTP_PROXY: server.url.replace('://', '://me:secret@') } }));
  expect(error).toMatchObject({ class: 'not-sent', details: { sent: 'no', retryable: false } });
  expect(error.message).toBe(
    `the proxy 127.0.0.1:${server.port} (HTTP_PROXY) does not take the user name and password (407)`,
  );
});

test('a proxy for whole URLs that does not listen is told as one that does not work', async () => {
  const error = failureOf(await post(http, { env: { HTTP_PROXY: 'http://me:secret@127.0.0.1:1' } }));
  expect(error).toMatchObject({ class: 'not-sent', details: { sent: 'no', retryable: true } });
  expect(error.message).toBe(
    'the proxy 127.0.0.1:1 (HTTP_PROXY) does not work: the connection was refused (ECONNREFUSED)',
  );
});

test('a bare % in the password of a proxy is told with what to write', async () => {
  const error = failureOf(await post(https, { env: { HTTPS_PROXY: 'http://user:100%secret@p:1' } }));
  expect(error).toMatchObject({ class: 'usage', details: { sent: 'no' } });
  expect(error.message).toBe('HTTPS_PROXY has a bare % in its user name or password');
  expect(chooseHint(error, 'library')).toContain('write it as %25');
});

test('speaks TLS with the gateway inside the tunnel', async () => {
  const gateway = await serve({ tls: serverPair });
  gateway.reply({ body: 'hello' });
  const proxy = createServer((client) => {
    client.once('data', (head) => {
      expect(head.toString()).toMatch(/^CONNECT gateway\.test:443 HTTP\/1\.1\r\n/);
      const onward = connect(gateway.port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n');
        client.pipe(onward).pipe(client);
      });
      onward.on('error', () => {});
    });
    client.on('error', () => {});
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  const env = { HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
  expect(await post(https, { env, ca: authority })).toMatchObject({ text: 'hello' });
  expect(gateway.requests[0]?.headers['host']).toBe('gateway.test');
});

test.each([
  [407, 'does not take the user name and password (407)', false, 'check them in HTTPS_PROXY'],
  [401, 'does not take the user name and password (401)', false, 'check them in HTTPS_PROXY'],
  [403, 'refuses the way to gateway.test:443 (403)', false, 'to ask without it: NO_PROXY=gateway.test'],
  [502, 'refuses the way to gateway.test:443 (502)', true, 'to ask without it: NO_PROXY=gateway.test'],
])('proxy %i, refused, CONNECT fails', async (status, message, retryable, hint) => {
  const server = await serve();
  server.raw(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
  const ending = await post(https, { env: { HTTPS_PROXY: server.url.replace('://', '://me:secret@') } });
  expect(ending.sent).toBe(false);
  const error = failureOf(ending);
  expect(error).toMatchObject({ class: 'not-sent', details: { sent: 'no', retryable } });
  expect(error.message).toBe(`the proxy 127.0.0.1:${server.port} (HTTPS_PROXY) ${message}`);
  expect(chooseHint(error, 'library')).toContain(hint);
  expect(JSON.stringify(error)).not.toContain('secret');
  expect(server.connections).toBe(1);
});

test('the error of a proxy that requires a password says where to set it', async () => {
  const server = await serve();
  server.raw('HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n');
  const error = failureOf(await post(https, { env: { HTTPS_PROXY: server.url } }));
  expect(error.message).toBe(`the proxy 127.0.0.1:${server.port} (HTTPS_PROXY) wants a user name and a password (407)`);
  expect(chooseHint(error, 'library')).toContain(`http://user:password@127.0.0.1:${server.port}`);
});

test.each([
  ['closes the connection', '', 'the connection was reset (ECONNRESET)'],
  ['speaks another protocol', 'SSH-2.0-x\r\n', 'it does not speak HTTP (HPE_INVALID_CONSTANT)'],
])('a proxy that %s gets an error in plain words', async (_, bytes, words) => {
  const server = createServer((socket) => socket.once('data', () => socket.end(bytes))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const error = failureOf(await post(https, { env: { HTTPS_PROXY: `http://127.0.0.1:${port}` } }));
  expect(error.message).toBe(`the proxy 127.0.0.1:${port} (HTTPS_PROXY) does not work: ${words}`);
  expect(chooseHint(error, 'library')).toContain("check the proxy's host and port");
});

test('proxy refused: a port where nothing listens', async () => {
  const error = failureOf(await post(https, { env: { HTTPS_PROXY: 'http://me:secret@127.0.0.1:1' } }));
  expect(error).toMatchObject({ class: 'not-sent', details: { sent: 'no', retryable: true } });
  expect(error.message).toBe(
    'the proxy 127.0.0.1:1 (HTTPS_PROXY) does not work: the connection was refused (ECONNREFUSED)',
  );
  expect(chooseHint(error, 'library')).toMatch(
    /^nothing listens there: .*HTTPS_PROXY.*\nto ask without it: NO_PROXY=gateway\.test$/,
  );
});

test('DNS fails: a proxy whose name is not known', async () => {
  const error = failureOf(await post(https, { env: { HTTPS_PROXY: 'http://me:secret@nope.invalid:1' } }));
  expect(error.message).toMatch(
    /^the proxy nope\.invalid:1 \(HTTPS_PROXY\) does not work: [a-z ]+ \((?:ENOTFOUND|EAI_AGAIN)\)$/,
  );
  expect(error.details.retryable).toBe(error.message.includes('EAI_AGAIN'));
});

test('CONNECT fails: a proxy that hangs up is tried once', async () => {
  const server = await serve();
  server.dropNextConnection();
  const error = failureOf(await post(https, { env: { HTTPS_PROXY: server.url } }));
  expect(error).toMatchObject({ class: 'not-sent', details: { retryable: true } });
  expect(server.connections).toBe(1);
});

test('CONNECT fails: an abort of the user during CONNECT throws its own reason', async () => {
  const server = await serve();
  server.always({ raw: [] });
  const controller = new AbortController();
  const ending = post(https, { env: { HTTPS_PROXY: server.url }, signal: controller.signal });
  await server.received(1);
  const reason = new Error('ctrl-c');
  controller.abort(reason);
  expect(await ending).toMatchObject({ error: reason, sent: false });
});

test('CONNECT fails: a proxy that never answers fails with the connect timeout', async () => {
  const server = await serve();
  server.always({ raw: [] });
  const ending = await post(https, { env: { HTTPS_PROXY: server.url }, connectTimeoutMs: 50 });
  expect(failureOf(ending)).toMatchObject({ class: 'not-sent', details: { sent: 'no' } });
});

test('proxy env for loopback: the gateway is connected to directly', async () => {
  const [server, proxy] = [await serve(), await serve()];
  server.reply({ body: 'hello' });
  const env = { HTTP_PROXY: proxy.url, http_proxy: proxy.url, HTTPS_PROXY: proxy.url };
  expect(await post(server.url, { env })).toMatchObject({ text: 'hello' });
  expect(proxy.connections).toBe(0);
});
