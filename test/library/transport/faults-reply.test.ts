import { randomBytes } from 'node:crypto';
import zlib, { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createPause, cut, reset, type ScriptedReply } from '../../helpers/scripted-server.ts';
import { failureOf, open, post, requestTo, serve } from './post.ts';

const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
const lost = { class: 'no-reply', billed: 'unknown', details: { sent: 'yes', retryable: false } };
const incomplete = { class: 'incomplete', billed: 'yes', details: { sent: 'yes' } };
const foreign = { class: 'bad-reply', details: { sent: 'yes', retryable: false } };

test.each<[string, ScriptedReply]>([
  ['RST after the request', { raw: [reset] }],
  ['FIN after the request', { raw: [cut] }],
  ['FIN inside the head', { raw: [head, cut] }],
  ['RST inside the status line', { raw: ['HTTP/1.1 2', reset] }],
])('keep-alive race: %s leaves the outcome unknown', async (_name, reply) => {
  const server = await serve();
  server.reply(reply);
  const ending = await post(server.url);
  expect(ending.sent).toBe(true);
  expect(failureOf(ending)).toMatchObject(lost);
  expect(server.requests).toHaveLength(1);
});

test('keep-alive race: a kept socket that is reset during the second request', async () => {
  const server = await serve();
  server.reply({ body: 'first' });
  server.reply({ raw: [reset] });
  const transport = open();
  expect(await post(server.url, { transport })).toMatchObject({ text: 'first' });
  expect(failureOf(await post(server.url, { transport }))).toMatchObject(lost);
});

test('keep-alive race: a kept socket that was closed meanwhile is replaced', async () => {
  const server = await serve();
  server.reply({ raw: [`${head}content-length: 5\r\n\r\nfirst`, cut] });
  server.reply({ body: 'second' });
  const transport = open();
  expect(await post(server.url, { transport })).toMatchObject({ text: 'first' });
  await server.requests[0]?.closed;
  expect(await post(server.url, { transport })).toMatchObject({ text: 'second' });
});

test('a reset on accept is not sent or without a reply', async () => {
  const server = await serve();
  server.dropNextConnection();
  const error = failureOf(await post(server.url));
  expect(['not-sent', 'no-reply']).toContain(error.class);
  expect(server.requests).toHaveLength(0);
});

test('RST or FIN mid-body: RST', async () => {
  const server = await serve();
  const pause = createPause();
  server.reply({ chunks: ['abc', pause.until, reset] });
  const reply = await open().fetch(requestTo(server.url), { signal: new AbortController().signal });
  const chunks = reply.body[Symbol.asyncIterator]();
  expect(Buffer.from((await chunks.next()).value).toString()).toBe('abc');
  pause.release();
  await expect(chunks.next()).rejects.toMatchObject(incomplete);
  expect(await chunks.next()).toEqual({ done: true, value: undefined });
});

test.each<[string, ScriptedReply, string]>([
  ['FIN mid-body, short Content-Length', { raw: [`${head}content-length: 9\r\n\r\nabc`, cut] }, 'abc'],
  [
    'short Content-Length, Connection: close',
    { raw: [`${head}connection: close\r\ncontent-length: 9\r\n\r\nabc`, cut] },
    'abc',
  ],
  ['chunked without terminator', { chunks: ['abc', cut] }, 'abc'],
  ['chunked without terminator, Connection: close', { headers: { connection: 'close' }, chunks: ['abc', cut] }, 'abc'],
  ['FIN inside a chunk', { raw: [`${head}transfer-encoding: chunked\r\n\r\n9\r\nabc`, cut] }, 'abc'],
])('RST or FIN mid-body: %s', async (_name, reply, text) => {
  const server = await serve();
  server.reply(reply);
  const ending = await post(server.url);
  expect(failureOf(ending)).toMatchObject(incomplete);
  expect(ending.text).toBe(text);
});

test('clean early close looks like an end: the reader must know its last event', async () => {
  const server = await serve();
  server.reply({ raw: ['HTTP/1.1 200 OK\r\nconnection: close\r\n\r\ndata: {"type":', cut] });
  const ending = await post(server.url);
  expect(ending).toMatchObject({ text: 'data: {"type":' });
  expect(ending.error).toBeUndefined();
});

test.each<[string, string]>([
  ['malformed status line', 'HTTP/x 200 OK\r\n\r\n'],
  ['no HTTP at all', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['20 KB of headers', `${head}x-big: ${'a'.repeat(20_000)}\r\n\r\n`],
  ['CL plus TE', `${head}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['two Content-Lengths', `${head}content-length: 3\r\ncontent-length: 4\r\n\r\nabcd`],
  ['an upgrade nobody asked for', 'HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n'],
])('malformed status line, 16 KB+ headers, CL plus TE: %s', async (_name, bytes) => {
  const server = await serve();
  server.raw(bytes);
  expect(failureOf(await post(server.url))).toMatchObject(foreign);
});

test('a broken chunk length inside the body', async () => {
  const server = await serve();
  server.raw(`${head}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n`);
  const ending = await post(server.url);
  expect(failureOf(ending)).toMatchObject(foreign);
  expect(ending.text).toBe('abc');
});

test('ignores a 103 before the head', async () => {
  const server = await serve();
  server.raw('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n', `${head}content-length: 2\r\n\r\nok`);
  expect(await post(server.url)).toMatchObject({ text: 'ok', reply: { status: 200 } });
});

test.each<[number, string, string]>([
  [300, 'no location', ''],
  [301, 'other origin', ' to OTHER'],
  [302, 'other origin', ' to OTHER'],
  [302, 'a data: URL', ' to a data: URL'],
  [302, 'no URL', ''],
  [303, 'other origin', ' to OTHER'],
  [304, 'no location', ''],
  [307, 'other origin', ' to OTHER'],
  [308, 'same origin', ' to SAME'],
  [399, 'no location', ''],
])('any 3xx: %i to %s is not followed, and shows only the origin', async (status, where, shown) => {
  const [server, other] = [await serve(), await serve()];
  const location: Record<string, string> = {
    'other origin': `${other.url}/x?token=secret`,
    'same origin': '/x?token=secret',
    'a data: URL': 'data:text/html,secret',
    'no URL': 'http://[secret',
  };
  server.reply({ status, headers: where in location ? { location: location[where] as string } : {} });
  const error = failureOf(await post(server.url, { headers: { 'x-api-key': 'key' } }));
  expect(error).toMatchObject({
    class: 'bad-reply',
    billed: 'unknown',
    message: `the gateway redirects (${status})${shown.replace('OTHER', other.url).replace('SAME', server.url)}`,
    details: { status, sent: 'yes', retryable: false },
  });
  expect([server.connections, other.connections]).toEqual([1, 0]);
});

const quick = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } };
const codings = {
  gzip: gzipSync,
  Gzip: gzipSync,
  deflate: deflateSync,
  // The best quality takes a second for 20 MB.
  br: (body: string | Buffer) => brotliCompressSync(body, quick),
  'identity, gzip ,': gzipSync,
  ...('zstdCompressSync' in zlib && { zstd: zlib.zstdCompressSync as typeof gzipSync }),
};

describe.each(Object.entries(codings))('a body that is compressed with %s', (coding, compress) => {
  const headers = { 'content-encoding': coding };

  test('is read, whatever its status', async () => {
    const server = await serve();
    server.reply({ headers, body: compress('{"ok":"Zoë"}') });
    server.reply({ status: 429, headers, body: compress('{"error":{"message":"slow down"}}') });
    const { reply, text } = await post(server.url);
    expect([reply?.headers['content-encoding'], text]).toEqual([undefined, '{"ok":"Zoë"}']);
    const failed = await post(server.url);
    expect([failed.reply?.status, failed.text]).toEqual([429, '{"error":{"message":"slow down"}}']);
  });

  test('a compressed body that is cut is read as far as it came', async () => {
    const server = await serve();
    const noise = randomBytes(200_000).toString('hex');
    const body = compress(noise);
    server.reply({
      headers,
      chunks: [body.subarray(0, 150_000), cut],
    });
    const ending = await post(server.url);
    expect(failureOf(ending)).toMatchObject(incomplete);
    expect(ending.text.length).toBeGreaterThan(100_000);
    expect(noise.startsWith(ending.text)).toBe(true);
  });

  test('is refused where it is not what its head says, or far larger than it came', async () => {
    const server = await serve();
    for (const body of ['{"ok":true}', compress(Buffer.alloc(20_000_000))]) {
      server.reply({ headers, body });
      expect(failureOf(await post(server.url))).toMatchObject({
        class: 'bad-reply',
        billed: 'yes',
        details: { status: 200, reason: 'compressed', unread: Buffer.from(body) },
      });
    }
  });

  test('a compressed body ends when its reader stops', async () => {
    const server = await serve();
    server.reply({ headers, chunks: [compress('first').subarray(0, 4), new Promise(() => {})] });
    const reply = await open().fetch(requestTo(server.url), { signal: new AbortController().signal });
    const chunks = reply.body[Symbol.asyncIterator]();
    void chunks.next().catch(() => {});
    expect(await chunks.return?.()).toEqual({ done: true, value: undefined });
    await server.requests[0]?.closed;
  });
});

test.each([
  ['GZIP, br', 'gzip, br'],
  ['compress', 'compress'],
  [`${'gzip, '.repeat(1000)}br`, 'gzip, '.repeat(1000).slice(0, 40)],
  ...('createZstdDecompress' in zlib ? [] : [['zstd', 'zstd']]),
])(
  'the encoding %s is refused with the bytes that came, and of a failure the status decides',
  async (coding, shown) => {
    const server = await serve();
    const headers = { 'content-encoding': coding };
    server.reply({ headers, body: 'x' });
    server.reply({ headers, chunks: [Buffer.alloc(300_000, 'x'), cut] });
    server.reply({ status: 401, headers, body: 'x' });
    expect(failureOf(await post(server.url))).toMatchObject({
      class: 'bad-reply',
      billed: 'yes',
      message: `the reply (200) is encoded as ${shown}, although the request accepts no encoding, which this program cannot read`,
      details: { status: 200, unread: Buffer.from('x') },
    });
    expect(failureOf(await post(server.url)).details.unread).toHaveLength(300_000);
    expect(await post(server.url)).toMatchObject({ reply: { status: 401 }, text: '' });
  },
);

test.each(['identity', 'Identity'])('accepts the encoding %s', async (coding) => {
  const server = await serve();
  server.reply({ headers: { 'content-encoding': coding }, body: 'x' });
  expect(await post(server.url)).toMatchObject({ text: 'x' });
});

test.each([200, 299, 400, 503])('the body of a %i is read', async (status) => {
  const server = await serve();
  server.reply({ status, body: 'x' });
  expect(await post(server.url)).toMatchObject({ reply: { status }, text: 'x' });
});
