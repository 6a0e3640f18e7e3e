import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { type ScriptedReply, type ScriptedServer } from '../helpers/scripted-server.ts';
import { canaryKey, eventStream, imageReply, messageEvents, textReply } from '../helpers/with-server.ts';
import { bash, namesIn, serve } from './program.ts';

const mebibyte = 1024 * 1024;
const sse = { 'content-type': 'text/event-stream' };

/** Endless pieces; counts what the client really took. */
function endless(first: string, piece: string) {
  const taken = { bytes: 0 };
  async function* pieces(): AsyncGenerator<string> {
    yield first;
    for (;;) {
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

test('faults 2b: huge body: a text without end stops at its cap, the socket is closed', async () => {
  const server = await serve();
  const { taken, pieces } = endless('{"candidates":[{"content":{"parts":[{"text":"', 'x y '.repeat(65_536));
  server.reply({ chunks: pieces });
  const ran = await runAndWeigh('text x', server);
  expect(ran.code).toBe(9);
  expect(ran.stderr).toContain('larger than');
  await server.requests[0]?.closed;
  expect(taken.bytes).toBeLessThan(300 * mebibyte);
  expect(ran.peak).toBeLessThan(256 + 150);
}, 300_000);

test('faults 2b: giant SSE line is exit 9, in bounded memory', async () => {
  const server = await serve();
  const { taken, pieces } = endless('data: ', 'x'.repeat(65_536));
  server.reply({ headers: sse, chunks: pieces });
  const ran = await runAndWeigh('chat x', server);
  expect(ran.code).toBe(9);
  await server.requests[0]?.closed;
  expect(taken.bytes).toBeLessThan(80 * mebibyte);
  expect(ran.peak).toBeLessThan(400);
}, 300_000);

test.each([
  ['gzip of 200 MB', { 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(200 * mebibyte))],
  ['a thousand encodings', { 'content-encoding': Array(1000).fill('gzip').join(', ') }, 'x'],
  ['truncated gzip', { 'content-encoding': 'gzip' }, gzipSync('{"candidates":[]}').subarray(0, 20)],
])('faults 2b: decompression bomb: %s is refused, in bounded memory', async (_name, headers, body) => {
  const server = await serve();
  server.reply({ headers, body });
  const ran = await runAndWeigh('text x', server);
  expect(ran.code).toBe(9);
  expect(ran.peak).toBeLessThan(150);
});

test('faults 2b: endless stream: pings for ever end with the deadline', async () => {
  const server = await serve();
  const { pieces } = endless(
    eventStream(...messageEvents('word').slice(0, 3)),
    'event: ping\ndata: {"type":"ping"}\n\n',
  );
  server.reply({ headers: sse, chunks: pieces });
  const ran = await bash('$CLI chat x --timeout 3s', server);
  expect(ran).toMatchObject({ code: 11, stdout: 'word\n' });
  await server.requests[0]?.closed;
});

const events = messageEvents('all of it').map((event) => eventStream(event));
const replies: [string, string, ScriptedReply, number, string][] = [
  [
    'last event lacks the blank line: it is message_stop',
    'chat',
    { headers: sse, body: events.join('').trimEnd() },
    0,
    'all of it\n',
  ],
  [
    'last event lacks the blank line: it is a cut delta',
    'chat',
    { headers: sse, body: events.slice(0, 3).join('').trimEnd() },
    11,
    'all of it\n',
  ],
  [
    'UTF-8 split, BOM',
    'chat',
    { headers: sse, chunks: oneByOne(`\uFEFF${eventStream(...messageEvents('Grüße 😀👩‍👩‍👧', '\uFEFFé'))}`) },
    0,
    'Grüße 😀👩‍👩‍👧\uFEFFé\n',
  ],
  [
    'event: error after 200: overloaded',
    'chat',
    { headers: sse, body: `${events.slice(0, 3).join('')}${failed('overloaded_error')}` },
    6,
    'all of it\n',
  ],
  [
    'event: error after 200: rate limit',
    'chat',
    { headers: sse, body: `${events.slice(0, 3).join('')}${failed('rate_limit_error')}` },
    5,
    'all of it\n',
  ],
  ['JSON broken', 'text', { body: '{"candidates": [}' }, 9, ''],
  [
    'JSON broken: HTML of a captive portal',
    'text',
    { headers: { 'content-type': 'text/html' }, body: '<html>\u001b]52;c;x\u0007 Log in!</html>' },
    9,
    '',
  ],
  ['JSON broken: an empty 200', 'text', { body: '' }, 9, ''],
  ['JSON broken: an empty 200 for chat', 'chat', { body: '' }, 9, ''],
  ['deep JSON', 'text', { body: '['.repeat(5_000_000) + ']'.repeat(5_000_000) }, 9, ''],
  [
    'deep JSON inside a reply',
    'text',
    { body: JSON.stringify(textReply('x')).replace('"STOP"', '['.repeat(20_000) + ']'.repeat(20_000)) },
    9,
    '',
  ],
  [
    'deep JSON in an event',
    'chat',
    { headers: sse, body: `data: ${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}\n\n` },
    9,
    '',
  ],
  ['blocked: SAFETY', 'text', { body: { promptFeedback: { blockReason: 'SAFETY' } } }, 10, ''],
  ['blocked: words instead of a picture', 'image gen', { body: textReply('I cannot draw') }, 10, ''],
  ['MAX_TOKENS is a warning', 'text', { body: cutByLimit() }, 0, 'cut\n'],
  ['MAX_TOKENS with --require-complete', 'text --require-complete', { body: cutByLimit() }, 11, 'cut\n'],
];
test.each(replies)('faults 2b: %s', async (_name, command, reply, code, stdout) => {
  const server = await serve();
  server.reply(reply);
  const ran = await bash(`$CLI ${command} x`, server);
  expect([ran.code, ran.stdout]).toEqual([code, stdout]);
  expect(ran.stderr).not.toContain('\u001b');
  expect(ran.stderr).not.toMatch(/\n {4}at /);
  expect(ran.stderr.length).toBeLessThan(1000);
  expect(namesIn(ran.cwd)).toEqual([]);
});

function* oneByOne(text: string): Generator<Uint8Array> {
  for (const byte of Buffer.from(text)) yield Uint8Array.of(byte);
}

function failed(type: string): string {
  return eventStream({ type: 'error', error: { type, message: 'later, please' } });
}

function cutByLimit(): object {
  return { candidates: [{ content: { parts: [{ text: 'cut' }] }, finishReason: 'MAX_TOKENS' }] };
}

const png = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d4948445200000010000000100806000000', 'hex'),
  Buffer.alloc(90),
]);
const base64 = png.toString('base64');

test.each([
  ['truncated', `${base64.slice(0, -3)}`],
  ['a foreign character', `${base64.slice(0, 40)}*${base64.slice(41)}`],
  ['padded in the middle', `${base64.slice(0, 40)}=${base64.slice(41)}`],
  ['padded twice over', `${base64}====`],
  ['empty', ''],
])('faults 2b: Base64: %s is exit 9 or 10, with no file left', async (_name, data) => {
  const server = await serve();
  server.reply({ body: imageReply({ mimeType: 'image/png', data }) });
  const ran = await bash('$CLI image gen x', server);
  expect([9, 10]).toContain(ran.code);
  expect([ran.stdout, namesIn(ran.cwd)]).toEqual(['', []]);
});

test.each([
  ['image/../../../etc/cron.d/x', 'image-1.png'],
  ['image/jpeg; x=../y', 'image-1.png'],
  ['text/html', ''],
  ['image/svg+xml', 'image-1.png'],
  ['image/png\u0000.sh', 'image-1.png'],
  [`image/${'p'.repeat(5000)}`, 'image-1.png'],
])('faults 2b: mime and bytes disagree: %.30s: the bytes name the file', async (mimeType, name) => {
  const server = await serve();
  server.reply({
    headers: { 'content-disposition': 'attachment; filename="../evil.sh"' },
    body: imageReply({ mimeType, data: base64 }),
  });
  const ran = await bash('$CLI image gen x -q', server);
  expect(namesIn(ran.cwd)).toEqual(name === '' ? [] : [name]);
  expect(ran.stdout).toBe(name === '' ? '' : `${name}\n`);
});

test('faults 2b: count differs: what came is written and named, exit 11', async () => {
  const server = await serve();
  const picture = { body: imageReply({ mimeType: 'image/png', data: base64 }) };
  for (const reply of [picture, picture, picture, { body: textReply('no') }]) server.reply(reply);
  const ran = await bash('$CLI image gen x -n 4', server);
  expect(ran.code).toBe(11);
  expect(ran.stdout.trim().split('\n')).toEqual(namesIn(ran.cwd));
  expect(namesIn(ran.cwd)).toHaveLength(3);
});

test.each(['', '-v', '--json', '--debug'])(
  'faults 2b: error body holds our key: it is hidden, and escapes too (%s)',
  async (flag) => {
    const server = await serve();
    server.reply(({ headers }) => ({
      status: 400,
      headers: { 'x-echo': headers['x-vendor-a-api-key'] ?? '' },
      body: { error: { message: `bad key ${headers['x-vendor-a-api-key']} \u001b]52;c;eA==\u0007` } },
    }));
    const ran = await bash(`$CLI text x ${flag}`, server);
    expect(ran.code).toBe(4);
    expect(ran.stdout + ran.stderr).not.toContain(canaryKey);
    expect(ran.stderr).toContain('bad key (redacted)');
    expect(ran.stderr).not.toContain('\u001b');
  },
);
