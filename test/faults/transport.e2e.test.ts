import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { cut, reset, type ScriptedReply } from '../helpers/scripted-server.ts';
import { eventStream, messageEvents, textReply } from '../helpers/with-server.ts';
import { ask, bash, serve } from './program.ts';

const tls = join(import.meta.dirname, '../fixtures/tls');
const pem = (name: string) => readFileSync(join(tls, name), 'utf8');
const nowhere = { url: 'http://127.0.0.1:1' };
const ok = { body: textReply('Hello') };
const document = (stdout: string) => JSON.parse(stdout) as { attempts: number; error: Record<string, unknown> };

test('a bad certificate is exit 7 with its code and what to type, after one attempt; --cacert accepts it', async () => {
  const server = await serve({ tls: { cert: pem('server.pem'), key: pem('server.key') } });
  const ran = await ask('text x --json', server);
  expect(ran.code).toBe(7);
  expect(document(ran.stdout)).toMatchObject({ attempts: 1, error: { sent: 'no', billed: 'no', retryable: false } });
  expect(ran.stderr).toContain('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  expect(ran.stderr).toMatch(/--cacert .*NODE_EXTRA_CA_CERTS/);
  expect(server.requests).toHaveLength(0);
  server.reply(ok);
  expect(await ask(`text x --cacert ${tls}/ca.pem`, server)).toMatchObject({ code: 0, stdout: 'Hello\n' });
});

test('a certificate of another host is exit 7 with its code and what to check, after one attempt', async () => {
  const server = await serve({ tls: { cert: pem('elsewhere.pem'), key: pem('elsewhere.key') } });
  const ran = await ask(`text x --json --cacert ${tls}/ca.pem`, server);
  expect(ran.code).toBe(7);
  expect(document(ran.stdout)).toMatchObject({ attempts: 1, error: { sent: 'no', billed: 'no', retryable: false } });
  expect(ran.stderr).toMatch(/ERR_TLS_CERT_ALTNAME_INVALID.*\n.*check the host name in the base URL/);
  expect(server.requests).toHaveLength(0);
});

test('a redirect is exit 9, and the key goes nowhere', async () => {
  const [server, other] = [await serve(), await serve()];
  server.reply({ status: 301, headers: { location: `${other.url}/elsewhere?token=x` } });
  const ran = await ask('text x', server);
  expect(ran).toMatchObject({ code: 9, stdout: '' });
  expect(ran.stderr).toContain(`(301) to ${other.url}`);
  expect(ran.stderr).not.toContain('token');
  expect([server.connections, other.connections]).toEqual([1, 0]);
});

test('a reply head that never comes is exit 8, perhaps billed, and not repeated', async () => {
  const server = await serve();
  server.reply({ raw: [new Promise(() => undefined)] });
  const ran = await ask('text x --json --timeout 3s', server);
  expect(ran.code).toBe(8);
  expect(document(ran.stdout)).toMatchObject({
    attempts: 1,
    error: { sent: 'yes', billed: 'unknown', retryable: false },
  });
  await server.requests[0]?.closed;
});

test('a body that drips does not outlast the deadline', async () => {
  const server = await serve();
  server.reply({ chunks: drip() });
  const ran = await ask('chat x --json --timeout 3s', server);
  expect(ran.code).toBe(11);
  await server.requests[0]?.closed;
});

async function* drip(): AsyncGenerator<string> {
  yield eventStream(...messageEvents('word').slice(0, 3));
  for (;;) {
    yield ':';
    // As fast as the timers go, not as the processor does.
    await setTimeout(1);
  }
}

const begun = messageEvents('half').map((event) => eventStream(event));
const half = JSON.stringify(textReply('Hello')).slice(0, 60);
const long = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n';
const lost: [string, ScriptedReply, string, number, string][] = [
  ['RST', { chunks: [begun.slice(0, 3).join(''), reset] }, 'chat', 11, ''],
  ['FIN without the last chunk', { chunks: [begun.slice(0, 3).join(''), cut] }, 'chat', 11, 'half\n'],
  [
    'FIN before Content-Length',
    { raw: [`${long}content-length: 900\r\n\r\n`, begun.slice(0, 3).join(''), cut] },
    'chat',
    11,
    'half\n',
  ],
  ['FIN in a JSON body', { raw: ['HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n', half, cut] }, 'text', 11, ''],
];
test.each(lost)('%s is exit 11, and never repeated', async (_name, reply, command, code, shown) => {
  const server = await serve();
  server.reply(reply);
  const ran = await ask(`${command} x`, server);
  expect(ran.code).toBe(code);
  expect(ran.stdout.startsWith(shown)).toBe(true);
  expect(server.requests).toHaveLength(1);
});

test.each([
  ['a stream', `${long}connection: close\r\n\r\n`, begun.slice(0, 4).join(''), 'chat', 'half\n'],
  [
    'a content stream',
    `${long}connection: close\r\n\r\n`,
    'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Hello"}]}}]}\n\n',
    'text',
    'Hello\n',
  ],
  [
    'a JSON body',
    'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n',
    JSON.stringify(textReply('Hello')).slice(0, -1),
    'text',
    'Hello\n',
  ],
])('%s is exit 11, with what came', async (_name, head, body, command, stdout) => {
  const server = await serve();
  server.raw(head, body, cut);
  expect(await ask(`${command} x`, server)).toMatchObject({ code: 11, stdout });
});

test('a socket that dies after the request was sent is exit 8', async () => {
  const server = await serve();
  server.reply({ raw: [cut] });
  const ran = await ask('text x --json', server);
  expect(ran.code).toBe(8);
  expect(document(ran.stdout)).toMatchObject({ attempts: 1, error: { sent: 'yes', billed: 'unknown' } });
});

test('shows what the gateway said of an early 413 while 50 MB go up', async () => {
  const server = await serve();
  const body = JSON.stringify({ error: { message: 'the image is too big' } });
  server.reply({ raw: [`HTTP/1.1 413 Too Large\r\ncontent-length: ${body.length}\r\n\r\n${body}`, cut], early: true });
  const make = `{ printf '\\x89PNG\\r\\n\\x1a\\n\\0\\0\\0\\rIHDR\\0\\0\\0\\1\\0\\0\\0\\1\\10\\6\\0\\0\\0'; head -c 50000000 /dev/zero; } > big.png`;
  const ran = await bash(`${make}; $CLI image edit -i big.png x -q`, server);
  expect(ran).toMatchObject({ code: 4, stdout: '' });
  expect(ran.stderr).toContain('the image is too big');
});

test('shows the part of an early 413 that came before its connection broke', async () => {
  const server = await serve();
  server.reply({ raw: ['HTTP/1.1 413 Too Large\r\ncontent-length: 900\r\n\r\nthe image is too big', cut] });
  const ran = await ask('text x', server);
  expect(ran).toMatchObject({ code: 4, stdout: '' });
  expect(ran.stderr).toContain('the image is too big');
});

test('a reply that is not HTTP is exit 9', async () => {
  const server = await serve();
  server.raw('SSH-2.0-OpenSSH_9.9\r\n\r\n', cut);
  const ran = await ask('text x', server);
  expect(ran).toMatchObject({ code: 9, stdout: '' });
  expect(ran.stderr).toMatch(/^gateway-cli: bad-reply: /);
});

test('a connection never offers HTTP/2', async () => {
  const offered: unknown[] = [];
  let reached = false;
  const server = createTlsServer({
    cert: pem('server.pem'),
    key: pem('server.key'),
    ALPNCallback: ({ protocols }) => (offered.push(...protocols), 'http/1.1'),
  });
  server.on('secureConnection', (socket) => {
    reached = true;
    socket.on('error', () => undefined).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await bash(`$CLI text x --retries 0 --cacert ${tls}/ca.pem --base-url ${url}`, nowhere);
  expect([reached, offered.includes('h2')]).toEqual([true, false]);
});

test("counts a retry date from the reply's own Date", async () => {
  const server = await serve();
  const tomorrow = Date.now() + 86_400_000;
  const headers = { date: new Date(tomorrow).toUTCString(), 'retry-after': new Date(tomorrow + 1000).toUTCString() };
  const at: number[] = [];
  const answer = (reply: ScriptedReply) => () => (at.push(performance.now()), reply);
  server.reply(answer({ status: 503, headers, body: {} }));
  server.reply(answer(ok));
  expect(await ask('text x', server)).toMatchObject({ code: 0, stdout: 'Hello\n' });
  const waited = (at[1] ?? 0) - (at[0] ?? 0);
  expect(waited).toBeGreaterThan(990);
  expect(waited).toBeLessThan(60_000);
});
