import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { GatewayError } from '../../../src/library/errors.ts';
import { person } from '../commands/chat/person.ts';
import { createPause, cut } from '../../helpers/scripted-server.ts';
import { canaryKey, eventStream, imageReply, messageEvents, textReply } from '../../helpers/with-server.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { png } from '../../replies/deviation.ts';
import { test } from './with-host.ts';

const dot = Buffer.from(png, 'base64');

test.for(['image/png', 'text/plain'])(
  '-i fetches a picture that its host calls %s',
  async (declared, { server, host, trust, cli }) => {
    host.reply({ headers: { 'content-type': declared }, body: dot });
    server.reply({ body: imageReply({ mimeType: 'image/png', data: png }) });
    const url = `${host.url}/cat?size=2#top`;
    const ran = await cli(['image', 'edit', 'gray', '-i', url, '-o', 'out.png', '--sidecar', ...trust]);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(host.requests[0]?.path).toBe('/cat?size=2');
    expect(server.requests[0]?.json()).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'gray' }, { inlineData: { mimeType: 'image/png', data: png } }] }],
    });
  },
);

test('the host of a picture gets neither key nor header of the gateway', async ({ server, host, trust, cli }) => {
  host.reply({ body: dot });
  server.reply({ body: textReply('ok') });
  const path = join(scratchFolder(), 'headers');
  writeFileSync(path, 'cookie: mine\nx-corp: mine\n');
  const headers = ['--header', `@${path}`, '--auth', 'bearer'];
  const ran = await cli(['text', 'what is it?', '--attach', `${host.url}/cat.png`, ...headers, ...trust]);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(server.requests[0]?.headers).toMatchObject({ cookie: 'mine', authorization: `Bearer ${canaryKey}` });
  expect(host.requests[0]?.rawHeaders.map(([name]) => name.toLowerCase()).toSorted()).toEqual([
    'accept',
    'accept-encoding',
    'connection',
    'host',
    'user-agent',
  ]);
});

test.for([
  ['/report', 'application/pdf', '%PDF-1.4\n', 'application/pdf'],
  ['/notes.md', 'text/plain', '# Notes', 'text/markdown'],
  ['/rows', 'text/csv; charset=utf-8', 'a,b', 'text/csv'],
  ['/', 'text/html', '<p>', 'text/html'],
  ['/', 'application/octet-stream', 'plain', 'text/plain'],
] as const)(
  '--attach sends %s, served as %s, by its type',
  async ([path, type, body, sent], { server, host, trust, cli }) => {
    host.reply({ headers: { 'content-type': type }, body });
    server.reply({ body: textReply('ok') });
    expect(await cli(['text', 'sum up', '--attach', host.url + path, ...trust])).toMatchObject({ code: 0, stderr: '' });
    const data = Buffer.from(body).toString('base64');
    expect(server.requests[0]?.json()).toMatchObject({
      contents: [{ parts: [{ text: 'sum up' }, { inlineData: { mimeType: sent, data } }] }],
    });
  },
);

test('chat sends a fetched text as a document with its name', async ({ server, host, trust, cli }) => {
  host.reply({ headers: { 'content-type': 'text/plain' }, body: 'hello' });
  server.reply({ body: eventStream(...messageEvents('ok')) });
  await cli(['chat', 'sum up', '--attach', `${host.url}/a/notes.txt?t=1`, ...trust]);
  expect(server.requests[0]?.json()).toMatchObject({
    messages: [{ content: [{ type: 'document', source: { data: 'hello' }, title: 'notes.txt' }, { type: 'text' }] }],
  });
});

const page = '<!doctype html><title>Not found</title>';
test.for([
  [
    '-i',
    '/cat.png',
    { headers: { 'content-type': 'text/html' }, body: page },
    ' is a web page (text/html), not an image',
  ],
  ['-i', '/cat.png', { body: { error: 'no' } }, ' is application/json, not an image'],
  ['-i', '/cat.png', { headers: { 'content-type': 'image/png' }, body: '' }, ' is empty'],
  ['-i', '/cat.png', { status: 404, body: 'no' }, ': the host answered 404'],
  [
    '--attach',
    '/a.pdf',
    { headers: { 'content-type': 'text/html' }, body: page },
    ' is a web page (text/html), not application/pdf',
  ],
  [
    '--attach',
    '/a.pdf',
    { status: 302, headers: { location: 'https://127.0.0.1:1/?t=secret' } },
    ': the redirect leads to a private address: 127.0.0.1',
  ],
] as const)(
  '%s %s is exit 2 where the host sends %j',
  async ([flag, path, reply, message], { server, host, trust, cli }) => {
    host.reply(reply);
    const ran = await cli(['chat', 'x', flag, `${host.url}${path}?token=secret`, '--json', ...trust]);
    expect(ran.code).toBe(2);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      error: { class: 'usage', message: `${flag} '${host.url}${path}'${message}`, sent: 'no', billed: 'no' },
    });
    expect(ran.stdout + ran.stderr).not.toContain('secret');
    expect(server.requests).toEqual([]);
  },
);

test('what the proxy says is reported with its own hint', async ({ server, host, trust, cli }) => {
  server.raw('HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n');
  const env = { HTTPS_PROXY: server.url.replace('://', '://me:secret@') };
  const ran = await cli(['chat', 'x', '-i', 'https://pictures.test/cat.png', ...trust], { env });
  expect(ran).toMatchObject({ code: 7, stdout: '' });
  expect(ran.stderr).toContain("-i 'https://pictures.test/cat.png': the proxy 127.0.0.1");
  expect(ran.stderr).toContain('check them in HTTPS_PROXY');
  expect(ran.stderr).not.toContain('secret');
  expect(host.requests).toEqual([]);
});

test('an unknown authority is exit 7, with the flag that trusts it', async ({ server, host, cli }) => {
  const ran = await cli(['chat', 'x', '-i', `${host.url}/cat.png?t=secret`]);
  expect(ran).toMatchObject({ code: 7, stdout: '' });
  expect(ran.stderr).toContain(`-i '${host.url}/cat.png': cannot connect to 127.0.0.1:${host.port}: its certificate`);
  expect(ran.stderr).toContain('--cacert <file>');
  expect(ran.stderr).not.toMatch(/secret|base URL/);
  expect(server.requests).toEqual([]);
});

test('a flag that the format lacks is refused before a URL is fetched', async ({ server, host, trust, cli }) => {
  const ran = await cli([
    'text',
    'x',
    '--format',
    'messages',
    '--attach',
    `${host.url}/cat.png`,
    '--seed',
    '1',
    ...trust,
  ]);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('--seed');
  expect([host.requests, server.requests]).toEqual([[], []]);
});

test('the time of the command bounds the fetch', async ({ server, host, trust, cli }) => {
  // The time stands still until the host was asked, and again when it is over: a slow machine has as long as a fast one.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const pause = createPause();
  host.reply({ headers: { 'content-type': 'image/png' }, chunks: ['begun', pause.until] });
  const running = cli(['chat', 'x', '-i', `${host.url}/cat.png`, '--timeout', '50s', ...trust]);
  await host.received(1);
  vi.advanceTimersByTime(50_000);
  const ran = await running;
  expect(ran).toMatchObject({ code: 7, stdout: '' });
  expect(ran.stderr).toContain(`-i '${host.url}/cat.png': not sent within 50 s`);
  expect(ran.stderr).toContain('--timeout');
  expect(server.requests).toEqual([]);
  pause.release();
});

test('Ctrl-C ends the fetch', async ({ server, host, trust, cli }) => {
  const stop = new AbortController();
  const pause = createPause();
  host.reply(() => {
    stop.abort(new GatewayError('interrupted', 'interrupted'));
    return { chunks: [pause.until] };
  });
  const ran = await cli(['chat', 'x', '-i', `${host.url}/cat.png`, ...trust], { signal: stop.signal });
  expect(ran).toMatchObject({ code: 130, stdout: '', stderr: '' });
  expect(server.requests).toEqual([]);
  pause.release();
});

test('a body that is cut is exit 7, and nothing is sent', async ({ server, host, trust, cli }) => {
  host.raw('HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 100\r\n\r\n', dot, cut);
  const ran = await cli(['chat', 'x', '-i', `${host.url}/cat.png`, ...trust]);
  expect(ran).toMatchObject({ code: 7, stdout: '' });
  expect(ran.stderr).toContain(`-i '${host.url}/cat.png': the reply was cut`);
  expect(ran.stderr).not.toContain('billed');
  expect(server.requests).toEqual([]);
});

test('--dry-run fetches, since the type and the size are in the request', async ({ server, host, trust, cli }) => {
  host.reply({ body: dot });
  const ran = await cli(['image', 'edit', 'x', '-i', `${host.url}/cat.png`, '--dry-run', ...trust]);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toContain(`"data": "<Base64, ${png.length} characters>"`);
  expect(server.requests).toEqual([]);
});

test.for(['--offline', '--replay'])('%s asks no host', async (flag, { server, host, trust, cli }) => {
  const words = flag === '--replay' ? [flag, scratchFolder()] : [flag];
  const ran = await cli(['text', 'x', '--attach', `${host.url}/cat.png?t=secret`, '-q', ...words, ...trust]);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(`--attach '${host.url}/cat.png': ${flag} uses no network`);
  expect([...server.requests, ...host.requests]).toEqual([]);
});

test('/image takes a URL, which is fetched with the prompt', async ({ server, host, trust, cli }) => {
  host.reply({ headers: { 'content-type': 'image/png' }, body: dot });
  server.reply({ body: eventStream(...messageEvents('a dot')) });
  const asked = [`/image ${host.url}/cat.png?t=secret`, 'what is it?'];
  const ran = await cli(['chat', ...trust], person(asked).options);
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.stderr).toContain(`with the next prompt: ${host.url}/cat.png\n`);
  expect(ran.stderr).not.toContain('secret');
  expect(server.requests[0]?.json()).toMatchObject({
    messages: [{ content: [{ type: 'image', source: { media_type: 'image/png', data: png } }, { type: 'text' }] }],
  });
});

test('-v reports what was fetched, without the query', async ({ server, host, trust, cli }) => {
  host.reply({ headers: { 'content-type': 'image/png' }, body: dot });
  server.reply({ body: textReply('ok') });
  const ran = await cli(['text', 'x', '--attach', `${host.url}/cat.png?t=secret`, '-v', ...trust]);
  expect(ran.stderr).toContain(`fetched ${host.url}/cat.png (image/png)\n`);
  expect(ran.stderr).not.toContain('secret');
});
