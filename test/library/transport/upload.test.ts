import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createUpload, segmentBody, streamBody } from '../../../src/library/body.ts';
import { openFilesIn, tellsOpenFiles } from '../../helpers/open-files.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { createPause, cut, reset } from '../../helpers/scripted-server.ts';
import { authority, serverPair } from './certificates.ts';
import { failureOf, post, serve } from './post.ts';

const folder = scratchFolder();

function streamOf(path: string, bytes: number): AsyncGenerator<Uint8Array> {
  return streamBody(segmentBody({ data: createUpload(path, bytes) }));
}

async function readWhole(stream: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const part of stream) expect(part.byteLength).toBeGreaterThan(0);
}

async function fileOf(bytes: number, name = `${bytes}.bin`): Promise<{ path: string; content: Buffer }> {
  const path = join(folder, name);
  const content = randomBytes(bytes);
  await writeFile(path, content);
  return { path, content };
}

// The size of one read.
const block = 192 * 1024;
test.each([0, 1, 2, 3, 4, block - 1, block, block + 1, 2 * block, 3 * block + 2])(
  'sends %i bytes of a file as Base64 with a length known beforehand',
  async (bytes) => {
    const { path, content } = await fileOf(bytes);
    const server = await serve();
    server.reply({ body: {} });
    const body = { parts: [{ data: createUpload(path, bytes) }, { data: createUpload(content) }] };
    expect(await post(server.url, { body })).toMatchObject({ text: '{}', sent: true });
    const data = content.toString('base64');
    expect(server.requests[0]?.json()).toEqual({ parts: [{ data }, { data }] });
    const lengths = server.requests[0]?.rawHeaders.filter(([name]) => name.toLowerCase() === 'content-length');
    expect(lengths).toEqual([['content-length', String(JSON.stringify({ parts: [{ data }, { data }] }).length)]]);
  },
);

test('a second attempt reads the file again', async () => {
  const { path, content } = await fileOf(1000);
  const body = segmentBody({ data: createUpload(path, 1000) });
  for (let attempt = 0; attempt < 2; attempt++) {
    const parts: Uint8Array[] = [];
    for await (const part of streamBody(body)) parts.push(Uint8Array.from(part));
    expect(JSON.parse(Buffer.concat(parts).toString())).toEqual({ data: content.toString('base64') });
  }
});

test('a file whose size changed is an error and nothing is sent', async () => {
  const { path } = await fileOf(5000, 'shorter.bin');
  const server = await serve();
  const ending = await post(server.url, { body: { data: createUpload(path, 6000) } });
  expect(failureOf(ending)).toMatchObject({ class: 'usage', details: { sent: 'no', retryable: false } });
  expect(failureOf(ending).message).toBe(`${path} changed while it was read`);
  expect([ending.sent, server.connections]).toEqual([false, 0]);
});

test.each<[string, (path: string) => Promise<void>]>([
  ['gets shorter', (path) => truncate(path, block)],
  ['is written again', (path) => utimes(path, new Date(0), new Date(0))],
])('a file that %s while it is read is an error', async (_name, change) => {
  const { path } = await fileOf(4 * block, 'changing.bin');
  const reading = streamOf(path, 4 * block);
  await reading.next();
  await reading.next();
  await change(path);
  await expect(readWhole(reading)).rejects.toMatchObject({
    class: 'usage',
    message: `${path} changed while it was read`,
  });
});

test('a missing file is an error', async () => {
  const server = await serve();
  const ending = await post(server.url, { body: { data: createUpload(join(folder, 'gone'), 3) } });
  expect(failureOf(ending)).toMatchObject({ class: 'usage', message: `cannot read ${join(folder, 'gone')} (ENOENT)` });
  expect(server.connections).toBe(0);
});

test('an upload waits for a server that reads slowly, and arrives complete', async () => {
  const { path, content } = await fileOf(20 * 1024 * 1024);
  const server = await serve();
  server.reply({ body: {} });
  await post(server.url, { body: { data: createUpload(path, content.length) } });
  const hash = createHash('sha256').update(JSON.stringify({ data: content.toString('base64') }));
  expect(
    createHash('sha256')
      .update(server.requests[0]?.body ?? '')
      .digest('hex'),
  ).toBe(hash.digest('hex'));
});

test('an upload arrives complete through TLS too', async () => {
  const { path, content } = await fileOf(3 * 1024 * 1024 + 1, 'tls.bin');
  const server = await serve({ tls: serverPair });
  server.reply({ body: {} });
  await post(server.url, { ca: authority, body: { data: createUpload(path, content.length) } });
  expect(server.requests[0]?.body.equals(Buffer.from(JSON.stringify({ data: content.toString('base64') })))).toBe(true);
});

test('a connection lost in an upload leaves the outcome unknown', async () => {
  const { path } = await fileOf(20 * 1024 * 1024);
  const server = await serve();
  server.reply({ early: true, raw: [reset] });
  const ending = await post(server.url, { body: { data: createUpload(path, 20 * 1024 * 1024) } });
  expect(failureOf(ending)).toMatchObject({ class: 'no-reply', billed: 'unknown', details: { sent: 'yes' } });
});

test.each([
  ['and keeps the connection', false],
  ['and closes its side', true],
])('early 413 while uploading 50 MB: the server replies at once %s', async (_name, ends) => {
  const { path } = await fileOf(50 * 1024 * 1024, 'big.bin');
  const server = await serve();
  const reply = 'HTTP/1.1 413 Too Large\r\ncontent-length: 9\r\n\r\ntoo large';
  server.reply({ early: true, raw: ends ? [reply, cut] : [reply, createPause().until] });
  const ending = await post(server.url, { body: { data: createUpload(path, 50 * 1024 * 1024) } });
  expect(ending).toMatchObject({ reply: { status: 413 }, text: 'too large' });
  expect(ending.error).toBeUndefined();
});

test('a file that grew before it was opened is not sent in part', async () => {
  const path = join(scratchFolder(), 'grown.bin');
  writeFileSync(path, 'longer than it was');
  await expect(readWhole(streamOf(path, 6))).rejects.toMatchObject({
    class: 'usage',
    message: `${path} changed while it was read`,
  });
});

test('a file that can be opened but not read is a usage error', async () => {
  const path = join(scratchFolder(), 'folder');
  mkdirSync(path);
  const size = Math.max(1, statSync(path).size);
  await expect(readWhole(streamOf(path, size))).rejects.toMatchObject({ class: 'usage' });
});

describe.skipIf(!tellsOpenFiles)('no file stays open (needs /proc)', () => {
  test.each(['read whole', 'left early', 'of another size'])(
    'an uploaded file is closed when it is %s',
    async (how) => {
      const folder = scratchFolder();
      const path = join(folder, 'picture.bin');
      writeFileSync(path, Buffer.alloc(500_000, 1));
      const stream = streamOf(path, how === 'of another size' ? 6 : 500_000);
      if (how === 'left early') {
        await stream.next();
        await stream.next();
        expect(openFilesIn(folder)).toEqual([path]);
        await stream.return(undefined);
      } else await readWhole(stream).catch(() => {});
      expect(openFilesIn(folder)).toEqual([]);
    },
  );
});
