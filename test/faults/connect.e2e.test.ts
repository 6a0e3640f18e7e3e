import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cut } from '../helpers/scripted-server.ts';
import { textReply } from '../helpers/with-server.ts';
import { ask, bash, serve } from './program.ts';

const pem = (name: string) => readFileSync(join(import.meta.dirname, '../fixtures/tls', name), 'utf8');
const nowhere = { url: 'http://127.0.0.1:1' };
const ok = { body: textReply('Hello') };
const document = (stdout: string) => JSON.parse(stdout) as { attempts: number; error: Record<string, unknown> };

/** An environment in which every name has these addresses. */
function resolving(addresses: readonly string[], ...options: string[]): Record<string, string> {
  const all = JSON.stringify(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
  const lookup = `import dns from 'node:dns'; const all = ${all}, { address, family } = all[0];
    dns.lookup = (name, options, done) => setImmediate(() => options.all ? done(null, all) : done(null, address, family));`;
  const load = `--import=data:text/javascript,${encodeURIComponent(lookup)}`;
  return { NODE_OPTIONS: [load, ...options].join(' ') };
}

test.each([
  ['DNS fails', 'http://nope.invalid --allow-http', 'nope.invalid'],
  ['refused', 'http://127.0.0.1:1', 'ECONNREFUSED'],
  ['refused by this machine', 'http://[::1]:1', 'start the server on this machine, or check the port in the base URL'],
])('%s: exit 7, not sent, not billed', async (_name, url, what) => {
  const ran = await ask(`text x --json --retries 0 --base-url ${url}`, nowhere);
  expect(ran.code).toBe(7);
  expect(ran.stderr).toMatch(/^gateway-cli: not-sent: cannot connect to [^\n]+\n(?: {2}[^\n]+\n)*$/);
  expect(ran.stderr).toContain(what);
  expect(document(ran.stdout).error).toMatchObject({ class: 'not-sent', sent: 'no', billed: 'no' });
});

test('names each address of a name that refuses on all of them', async () => {
  const env = resolving(['127.0.0.1', '127.0.0.2']);
  const ran = await bash('$CLI text x --retries 0 --base-url http://two.test:1 --allow-http', nowhere, { env });
  expect(ran).toMatchObject({ code: 7, stdout: '' });
  expect(ran.stderr).toContain(
    'cannot connect to two.test:1: the connection was refused at 127.0.0.1:1 (ECONNREFUSED); the connection was refused at 127.0.0.2:1 (ECONNREFUSED) (POST ',
  );
});

test('refuses NODE_TLS_REJECT_UNAUTHORIZED=0 but for loopback, and sends nothing', async () => {
  const server = await serve({ tls: { cert: pem('server.pem'), key: pem('server.key') } });
  const env = { ...resolving(['127.0.0.1']), NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  const ran = await bash(`$CLI text x --base-url https://gateway.test:${server.port}`, nowhere, { env });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('NODE_TLS_REJECT_UNAUTHORIZED');
  expect(server.connections).toBe(0);
});

test('refuses http:// with a key as exit 2 and sends nothing, unless --allow-http is given', async () => {
  const server = await serve();
  const url = `http://gateway.test:${server.port}`;
  const env = resolving(['127.0.0.1']);
  const ran = await bash(`$CLI text x --base-url ${url}`, nowhere, { env });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('--allow-http');
  expect(server.connections).toBe(0);
  server.reply(ok);
  expect(await bash(`$CLI text x --base-url ${url} --allow-http`, nowhere, { env })).toMatchObject({ code: 0 });
});

test('a proxy that answers 407 is exit 7, and its password stays hidden', async () => {
  const proxy = await serve();
  proxy.raw('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n', cut);
  const env = { https_proxy: proxy.url.replace('://', '://user:hunter22@') };
  const ran = await ask('text x -v --json --base-url https://gateway.example.invalid', nowhere, { env });
  expect(ran.code).toBe(7);
  expect(document(ran.stdout)).toMatchObject({ attempts: 1, error: { sent: 'no', billed: 'no' } });
  expect(ran.stderr).toContain('407');
  expect(ran.stdout + ran.stderr).not.toContain('hunter22');
});

test('a proxy that refuses the connection is exit 7, and its password stays hidden', async () => {
  const env = { https_proxy: 'http://user:hunter22@127.0.0.1:1' };
  const line = 'text x -v --json --retries 0 --base-url https://gateway.example.invalid';
  const ran = await ask(line, nowhere, { env });
  expect(ran.code).toBe(7);
  expect(document(ran.stdout).error).toMatchObject({ sent: 'no', billed: 'no' });
  expect(ran.stderr).toContain(
    'the proxy 127.0.0.1:1 (HTTPS_PROXY) does not work: the connection was refused (ECONNREFUSED) (POST ',
  );
  expect(ran.stdout + ran.stderr).not.toContain('hunter22');
});

test.each([
  ['TLS bad cert', {}],
  ['NODE_TLS_REJECT_UNAUTHORIZED=0', { NODE_TLS_REJECT_UNAUTHORIZED: '0' }],
])('%s: a proxy with an untrusted certificate is tried once, and gets no password', async (_name, more) => {
  const proxy = await serve({ tls: { cert: pem('server.pem'), key: pem('server.key') } });
  const env = { http_proxy: proxy.url.replace('://', '://user:hunter22@'), ...more };
  const ran = await bash('$CLI text x --json --base-url http://gateway.test --allow-http', nowhere, { env });
  expect(ran.code).toBe(7);
  expect(document(ran.stdout)).toMatchObject({ attempts: 1, error: { sent: 'no', retryable: false } });
  expect(ran.stderr).toMatch(/UNABLE_TO_VERIFY_LEAF_SIGNATURE.*\n.*NODE_EXTRA_CA_CERTS/);
  expect(proxy.requests).toHaveLength(0);
});

test('retries what a proxy could not send because CONNECT failed', async () => {
  const proxy = await serve();
  proxy.raw('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n', cut);
  proxy.raw('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n', cut);
  const line = 'text x --json --base-url https://gateway.example.invalid';
  const ran = await ask(line, nowhere, { env: { https_proxy: proxy.url } });
  expect([ran.code, document(ran.stdout).attempts]).toEqual([7, 2]);
});

test('asks a loopback gateway directly, whatever the proxy variables say', async () => {
  const [server, proxy] = [await serve(), await serve()];
  server.reply(ok);
  const env = { http_proxy: proxy.url, https_proxy: proxy.url, HTTP_PROXY: proxy.url };
  expect(await bash('$CLI text x', server, { env })).toMatchObject({ code: 0, stdout: 'Hello\n', stderr: '' });
  expect(proxy.connections).toBe(0);
});

test('reaches a name at its second address where the first refuses', async () => {
  const server = await serve();
  server.reply(ok);
  // Whatever the options of Node.
  const env = resolving(['::1', '127.0.0.1'], '--no-network-family-autoselection');
  const ran = await bash(`$CLI text x --base-url http://localhost:${server.port}`, server, { env });
  expect(ran).toMatchObject({ code: 0, stdout: 'Hello\n', stderr: '' });
});

test('the deadline ends a connect that hangs, and nothing was sent', async () => {
  // A handshake that the server never takes up.
  const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const ran = await ask(`text x --json --timeout 1500ms --base-url ${url}`, nowhere);
  expect(ran.code).toBe(7);
  expect(document(ran.stdout)).toMatchObject({ attempts: 1, error: { sent: 'no', billed: 'no', retryable: true } });
  expect(ran.stderr).toContain('not sent within 1.5 s');
});
