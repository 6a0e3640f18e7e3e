import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { openFilesIn, tellsOpenFiles } from '../../helpers/open-files.ts';
import { cut, type ScriptedReply } from '../../helpers/scripted-server.ts';
import { recordedFiles } from '../../helpers/recorded-files.ts';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { eventStream, imageReply, messageEvents, test, textReply } from '../../helpers/with-server.ts';
import { startServe, writeConfig } from './served.ts';

const cache = ['--record', 'kept', '--replay', 'kept'];
const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const png = (mark: string): string =>
  Buffer.concat([Buffer.from(dot, 'base64'), Buffer.from(mark.repeat(3000))]).toString('base64');
const stream = eventStream(...messageEvents('Hel', 'lo'));

const document = (stdout: string): Record<string, unknown> => JSON.parse(stdout) as Record<string, unknown>;

describe('the second run sends nothing and prints the same', () => {
  test('the second run of text with a cache sends nothing and prints the same', async ({ server, cli }) => {
    server.reply({ body: textReply('once') });
    const cwd = scratchFolder();
    const first = await cli(['text', 'hi', ...cache], { cwd });
    const second = await cli(['text', 'hi', ...cache, '--json'], { cwd });
    expect(first).toMatchObject({ code: 0, stdout: 'once\n', stderr: '' });
    expect(document(second.stdout)).toMatchObject({ ok: true, text: 'once', attempts: 0, usage: { totalTokens: 5 } });
    expect(server.requests).toHaveLength(1);
  });

  test('and, though prices are set, tells no cost: nothing was billed', async ({ server, cli }) => {
    server.reply({ body: textReply('once') });
    const cwd = scratchFolder();
    const argv = ['text', 'hi', '-v', '--prices', '{"*":{"input":"1","output":"1"}}', ...cache];
    expect((await cli(argv, { cwd })).stderr).toMatch(/^cost: 0\.\d+ USD$/m);
    expect((await cli(argv, { cwd })).stderr).not.toContain('cost:');
  });

  test('a streamed chat, without waiting', async ({ server, cli }) => {
    server.reply({ chunks: [stream.slice(0, 300), stream.slice(300)] });
    const cwd = scratchFolder();
    const first = await cli(['chat', 'hi', ...cache], { cwd });
    const second = await cli(['chat', 'hi', ...cache], { cwd });
    expect(second).toMatchObject({ code: 0, stdout: first.stdout, stderr: '' });
  });

  test('each picture of several, byte for byte', async ({ server, cli }) => {
    const usageMetadata = { promptTokenCount: 1, totalTokenCount: 2 };
    for (const mark of ['a', 'b', 'c'])
      server.reply({ body: { ...imageReply({ mimeType: 'image/png', data: png(mark) }), usageMetadata } });
    const cwd = scratchFolder();
    const gen = ['image', 'gen', 'dusk', '-n', '3', '--prices', '{"*":{"input":"1","image":"0.1"}}', ...cache];
    const first = await cli([...gen, '-o', 'one/', '--json'], { cwd });
    expect(document(first.stdout)).toMatchObject({ cost: { amount: '0.300003' } });
    const second = await cli([...gen, '-o', 'two/', '--json'], { cwd });
    expect(document(second.stdout)).toMatchObject({ ok: true, attempts: 0 });
    expect(document(second.stdout)).not.toHaveProperty('cost');
    const bytesIn = (folder: string) =>
      readdirSync(join(cwd, folder)).map((name) => readFileSync(join(cwd, folder, name), 'base64'));
    expect(bytesIn('two')).toEqual(bytesIn('one'));
    expect(bytesIn('two')).toEqual(['a', 'b', 'c'].map(png));
  });

  test('the second run of a batch with equal jobs sends nothing, and its tokens count once', async ({
    server,
    cli,
  }) => {
    const cwd = scratchFolder();
    const jobs = ['x', 'y', 'x'].map((prompt) => JSON.stringify({ prompt })).join('\n');
    writeFileSync(join(cwd, 'jobs.jsonl'), jobs);
    server.always({ body: textReply('ok') });
    const summary = async (outdir: string) => {
      const ran = await cli(['batch', 'jobs.jsonl', '-o', outdir, ...cache], { cwd });
      expect(ran.code).toBe(0);
      return document(readFileSync(join(cwd, outdir, 'summary.json'), 'utf8'));
    };
    expect(await summary('one')).toMatchObject({ done: 3, usage: { totalTokens: 10 } });
    expect(server.requests).toHaveLength(2);
    expect(await summary('two')).toMatchObject({ done: 3, usage: {} });
    const results = readFileSync(join(cwd, 'two/results.jsonl'), 'utf8').trimEnd().split('\n').map(document);
    for (const result of results) expect(result).toMatchObject({ text: 'ok', attempts: 0, usage: { totalTokens: 5 } });
    expect(server.requests).toHaveLength(2);
  });

  test('the second requests to serve with a cache send nothing and get the same', async ({ server }) => {
    server.reply({ chunks: [stream.slice(0, 300), stream.slice(300)] });
    const cwd = scratchFolder();
    const config = writeConfig(cwd, { work: { baseUrl: server.url, apiKey: 'canary-7f3a9c51-secret' } });
    const ask = async () => {
      const { url, key, stop } = await startServe(['--upstream', 'work', ...cache], { cwd, config });
      const headers = { 'content-type': 'application/json', 'x-api-key': key, 'anthropic-version': '2023-06-01' };
      const body = JSON.stringify({
        model: 'm',
        max_tokens: 5,
        stream: true,
        messages: [{ role: 'user', content: 'hi' }],
      });
      const reply = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body });
      const text = await reply.text();
      return { text, log: (await stop()).stderr };
    };
    expect((await ask()).text).toBe(stream);
    const second = await ask();
    expect(second.text).toBe(stream);
    expect(second.log).toContain('(from the cache)');
    expect(server.requests).toHaveLength(1);
  });
});

test.for<[string, ScriptedReply]>([
  ['a status 429', { status: 429, body: { error: { code: 429, message: 'slow' } } }],
  ['a status 500', { status: 500, body: { error: { code: 500, message: 'oops' } } }],
  ['a reply that was cut', { chunks: [stream.slice(0, 300), cut] }],
  ['a stream that ended without its end', { chunks: [stream.slice(0, 300)] }],
  [
    'an error in a stream',
    {
      chunks: [
        stream.slice(0, 300),
        'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n',
      ],
    },
  ],
  ['what is not JSON', { body: '<html>' }],
])('%s is sent again', async ([, failing], { server, cli }) => {
  server.reply(failing);
  server.reply({ chunks: [stream] });
  const cwd = scratchFolder();
  const chat = ['chat', 'hi', '--retries', '0', ...cache];
  expect((await cli(chat, { cwd })).code).not.toBe(0);
  expect(await cli(chat, { cwd })).toMatchObject({ code: 0, stdout: 'Hello\n' });
  expect(await cli(chat, { cwd })).toMatchObject({ code: 0, stdout: 'Hello\n' });
  expect(server.requests).toHaveLength(2);
});

test.runIf(tellsOpenFiles)(
  'the recording of a long failure is closed when it is passed over',
  async ({ server, cli }) => {
    server.reply({ status: 500, body: 'oops '.repeat(40_000) });
    server.reply({ chunks: [stream] });
    const cwd = scratchFolder();
    const chat = ['chat', 'hi', '--retries', '0', ...cache];
    expect((await cli(chat, { cwd })).code).not.toBe(0);
    expect(await cli(chat, { cwd })).toMatchObject({ code: 0 });
    expect(openFilesIn(cwd)).toEqual([]);
  },
);

test('a blocked answer is replayed and not billed', async ({ server, cli }) => {
  server.reply({ body: { promptFeedback: { blockReason: 'SAFETY' } } });
  const cwd = scratchFolder();
  const codes: unknown[] = [];
  for (const billed of ['yes', 'no']) {
    const { code, stdout } = await cli(['text', 'hi', '--json', ...cache], { cwd });
    codes.push(code);
    expect(document(stdout)).toMatchObject({ ok: false, error: { class: 'no-result', billed } });
  }
  expect(codes).toEqual([10, 10]);
});

test('a recorded request needs no key, and any other asks for it', async ({ server, cli }) => {
  server.reply({ body: textReply('once') });
  const { cwd } = await cli(['text', 'hi', ...cache]);
  const env = { GATEWAY_BASE_URL: server.url, GATEWAY_MODEL: 'm' };
  expect(await run(['text', 'hi', ...cache], { cwd, env })).toMatchObject({ code: 0, stdout: 'once\n' });
  const miss = await run(['text', 'ho', ...cache], { cwd, env });
  expect(miss).toMatchObject({ code: 3, stdout: '' });
  expect(miss.stderr).toContain('GATEWAY_API_KEY');
});

test('--max-age sends older requests again, and -v gives the age of an answer', async ({ server, cli }) => {
  server.reply({ body: textReply('old') });
  server.reply({ body: textReply('new') });
  const { cwd } = await cli(['text', 'hi', ...cache]);
  const [name = ''] = recordedFiles(join(cwd, 'kept'));
  const path = join(cwd, 'kept', name);
  const threeHoursAgo = Date.now() - 3.5 * 3_600_000;
  writeFileSync(path, readFileSync(path, 'utf8').replace(/"at":\d+/, `"at":${threeHoursAgo}`));
  const verbose = await cli(['text', 'hi', '-v', '--max-age', '7d', ...cache], { cwd });
  expect(verbose.stderr).toContain('answered by a recording of 3 h ago');
  const ask = async () => (await cli(['text', 'hi', '--max-age', '3h', ...cache], { cwd })).stdout;
  expect([await ask(), await ask()]).toEqual(['new\n', 'new\n']);
  expect(server.requests).toHaveLength(2);
});

test('an incomplete file does not answer', async ({ server, cli }) => {
  server.reply({ body: textReply('whole') });
  const { cwd } = await cli(['text', 'hi', ...cache]);
  const [name = ''] = recordedFiles(join(cwd, 'kept'));
  const path = join(cwd, 'kept', name);
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, text.slice(0, text.lastIndexOf('{"ended"')));
  server.reply({ body: textReply('again') });
  expect(await cli(['text', 'hi', ...cache], { cwd })).toMatchObject({ code: 0, stdout: 'again\n' });
});

test('what is removed by hand is asked for again, and the others of its request answer', async ({ server, cli }) => {
  server.reply({ status: 500, body: { error: { code: 500, message: 'oops' } } });
  server.reply({ body: textReply('good') });
  const cwd = scratchFolder();
  const ask = async () => (await cli(['text', 'hi', '--retries', '0', ...cache], { cwd })).stdout;
  expect([await ask(), await ask()]).toEqual(['', 'good\n']);
  const folder = join(cwd, 'kept');
  const [failed = '', good = ''] = recordedFiles(folder);
  rmSync(join(folder, failed));
  expect(await ask()).toBe('good\n');
  rmSync(join(folder, good));
  server.reply({ body: textReply('again') });
  expect([await ask(), await ask()]).toEqual(['again\n', 'again\n']);
  expect(server.requests).toHaveLength(3);
});

test.for([
  [['--record', 'a', '--replay', 'b'], '--record b --replay b'],
  [['--record', 'a', '--max-age', '7d'], '--record recordings --replay recordings --max-age 7d'],
  [[...cache, '--max-age', '7'], 'write 7d, 12h, 30m or 90s'],
] as const)('%s is refused with what to type', async ([flags, hint], { cli }) => {
  const ran = await cli(['text', 'hi', ...flags]);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(hint);
});
