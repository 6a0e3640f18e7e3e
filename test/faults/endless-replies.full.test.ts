import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readEvents } from '../../src/library/transport/sse.ts';
import type { ScriptedServer } from '../helpers/scripted-server.ts';
import { eventStream, messageEvents } from '../helpers/with-server.ts';
import { bash, serve } from './program.ts';

const mebibyte = 1024 * 1024;
const sse = { 'content-type': 'text/event-stream' };

/** A number of bytes in pieces, more than any cap lets through: a client without a cap ends too. Counts what was really taken. */
function endless(first: string, piece: string, most: number) {
  const taken = { bytes: 0 };
  async function* pieces(): AsyncGenerator<string> {
    yield first;
    while (taken.bytes < most) {
      yield piece;
      taken.bytes += piece.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return { taken, pieces: pieces() };
}

/** Peak memory of a run in MiB: the shell's own clock of its child. */
async function runAndWeigh(command: string, server: ScriptedServer) {
  const peak = `import fs from 'node:fs'; process.on('exit', () => fs.writeFileSync('peak', String(process.resourceUsage().maxRSS / 1024)));`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(peak)}` };
  const ran = await bash(`$CLI ${command}; code=$?; cat peak; exit $code`, server, { env });
  return { code: ran.code, stderr: ran.stderr, peak: Number(ran.stdout.trim().split('\n').at(-1)) };
}

test('a text without end stops at its cap, and the socket is closed', async () => {
  const server = await serve();
  const { taken, pieces } = endless(
    '{"candidates":[{"content":{"parts":[{"text":"',
    'x y '.repeat(65_536),
    320 * mebibyte,
  );
  server.reply({ chunks: pieces });
  const ran = await runAndWeigh('text x', server);
  expect(ran.code).toBe(9);
  expect(ran.stderr).toContain('larger than');
  await server.requests[0]?.closed;
  expect(taken.bytes).toBeLessThan(300 * mebibyte);
  expect(ran.peak).toBeLessThan(256 + 150);
}, 300_000);

test('a giant SSE line is exit 9, in bounded memory', async () => {
  const server = await serve();
  const { taken, pieces } = endless('data: ', 'x'.repeat(65_536), 120 * mebibyte);
  server.reply({ headers: sse, chunks: pieces });
  const ran = await runAndWeigh('chat x', server);
  expect(ran.code).toBe(9);
  expect(ran.stderr).toContain('an event of the stream is larger than');
  await server.requests[0]?.closed;
  expect(taken.bytes).toBeLessThan(80 * mebibyte);
  expect(ran.peak).toBeLessThan(400);
}, 300_000);

test.each([
  ['gzip of 200 MB', { 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(200 * mebibyte))],
  ['a thousand encodings', { 'content-encoding': Array(1000).fill('gzip').join(', ') }, 'x'],
])('decompression bomb: %s is refused, in bounded memory', async (_name, headers, body) => {
  const server = await serve();
  server.reply({ headers, body });
  const ran = await runAndWeigh('text x', server);
  expect(ran.code).toBe(9);
  expect(ran.stderr).toContain('although the request accepts no encoding');
  expect(ran.peak).toBeLessThan(150);
  expect(server.requests[0]?.headers['accept-encoding']).toBe('identity');
});

test('a stream of endless pings ends with the deadline', async () => {
  const server = await serve();
  const { pieces } = endless(
    eventStream(...messageEvents('word').slice(0, 3)),
    'event: ping\ndata: {"type":"ping"}\n\n'.repeat(10),
    300 * mebibyte,
  );
  server.reply({ headers: sse, chunks: pieces });
  const ran = await bash('$CLI chat x --timeout 3s', server);
  expect(ran).toMatchObject({ code: 11, stdout: 'word\n' });
  expect(ran.stderr).toContain('the reply did not end within 3 s');
  await server.requests[0]?.closed;
});

test('a stream of endless words ends at its cap, in bounded memory', async () => {
  const server = await serve();
  const [start = {}, block = {}, delta = {}] = messageEvents('word '.repeat(13_000));
  const { pieces } = endless(eventStream(start, block), eventStream(delta), 120 * mebibyte);
  server.reply({ headers: sse, chunks: pieces });
  const ran = await runAndWeigh('chat x > /dev/null', server);
  expect(ran.code).toBe(9);
  expect(ran.stderr).toContain('the answer is longer than');
  expect(ran.peak).toBeLessThan(400);
}, 300_000);

/** The number of groups of events in a body that repeats a chunk. */
async function countGroups(chunk: string, times: number): Promise<number> {
  const bytes = Buffer.from(chunk);
  async function* body(): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < times; n++) yield bytes;
  }
  let groups = 0;
  for await (const _ of readEvents(body())) groups++;
  return groups;
}

test('a stream ends after ten million events', async () => {
  const chunk = 'data: x\n\n'.repeat(100_000);
  expect(await countGroups(chunk, 100)).toBe(100);
  await expect(countGroups(chunk, 101)).rejects.toMatchObject({
    class: 'bad-reply',
    message: 'the stream has more than 10000000 events',
  });
}, 300_000);

test('a stream ends after 1 GiB', async () => {
  const chunk = `data: ${'x'.repeat(mebibyte - 'data: \n\n'.length)}\n\n`;
  expect(await countGroups(chunk, 1024)).toBe(1024);
  await expect(countGroups(chunk, 1025)).rejects.toMatchObject({
    class: 'bad-reply',
    message: 'the stream is larger than 1073741824 bytes',
  });
});

test('shows the beginning of an endless error body and does not wait for the rest', async () => {
  const server = await serve();
  const { taken, pieces } = endless('{"error":{"message":"', 'no no '.repeat(10_000), 60 * mebibyte);
  server.reply({ status: 400, chunks: pieces });
  const ran = await bash('$CLI text x', server);
  expect(ran.code).toBe(4);
  await server.requests[0]?.closed;
  expect(taken.bytes).toBeLessThan(30 * mebibyte);
});
