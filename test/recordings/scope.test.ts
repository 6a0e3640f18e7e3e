import { chmodSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { scratchFolder } from '../helpers/scratch.ts';
import { startScriptedServer } from '../helpers/scripted-server.ts';
import { eventStream, messageEvents, test, textReply } from '../helpers/with-server.ts';
import { startServe, writeConfig } from './served.ts';

const cache = ['--record', 'kept', '--replay', 'kept'];

test('a cache answers each gateway with its own recording', async ({ server, cli }) => {
  const other = await startScriptedServer();
  onTestFinished(() => other.close());
  server.reply({ body: textReply('one') });
  other.reply({ body: textReply('other') });
  const cwd = scratchFolder();
  for (let run = 0; run < 2; run++) {
    expect((await cli(['text', 'hi', ...cache], { cwd })).stdout).toBe('one\n');
    expect((await cli(['text', 'hi', ...cache, '--base-url', other.url], { cwd })).stdout).toBe('other\n');
  }
});

test('a cache sends a request to another path of the same host, or with another header of the user, again', async ({
  server,
  cli,
}) => {
  const cwd = scratchFolder();
  const ways = [
    [],
    ['--base-url', `${server.url}/tenant`],
    ['--header', 'x-tenant: a'],
    ['--header', 'x-tenant: b'],
    ['--header', 'anthropic-beta: some-beta'],
  ];
  for (const [at] of ways.entries()) server.reply({ body: textReply(`answer ${at}`) });
  for (let run = 0; run < 2; run++)
    for (const [at, way] of ways.entries())
      expect((await cli(['text', 'hi', ...cache, ...way], { cwd })).stdout).toBe(`answer ${at}\n`);
  for (const name of readdirSync(join(cwd, 'kept')))
    expect(readFileSync(join(cwd, 'kept', name), 'utf8')).not.toContain('tenant');
});

test('a replay of a batch for two gateways gives each job the answer of its gateway', async ({ server, cli }) => {
  const other = await startScriptedServer();
  onTestFinished(() => other.close());
  server.reply({ body: textReply('one') });
  other.reply({ body: textReply('other') });
  const cwd = scratchFolder();
  const folder = ['--record', 'kept'];
  await cli(['text', 'hi', ...folder, '--base-url', other.url], { cwd });
  await cli(['text', 'hi', ...folder], { cwd });
  expect((await cli(['text', 'hi', '--replay', 'kept'], { cwd })).stdout).toBe('one\n');
  expect((await cli(['text', 'hi', '--replay', 'kept', '--base-url', other.url], { cwd })).stdout).toBe('other\n');
});

test('serve sends a request with another version or beta header again, and with another header of a caller not', async ({
  server,
}) => {
  const stream = eventStream(...messageEvents('Hello'));
  server.always({ chunks: [stream] });
  const cwd = scratchFolder();
  const config = writeConfig(cwd, { work: { baseUrl: server.url, apiKey: 'canary-7f3a9c51-secret' } });
  const { url, key, stop } = await startServe(['--upstream', 'work', ...cache], { cwd, config });
  const ask = async (more: Record<string, string>) => {
    const headers = {
      'content-type': 'application/json',
      'x-api-key': key,
      'anthropic-version': '2023-06-01',
      ...more,
    };
    const body = JSON.stringify({
      model: 'm',
      max_tokens: 5,
      stream: true,
      messages: [{ role: 'user', content: 'hi' }],
    });
    await (await fetch(`${url}/v1/messages`, { method: 'POST', headers, body })).text();
    return server.requests.length;
  };
  expect(await ask({})).toBe(1);
  expect(await ask({ 'x-stainless-runtime-version': 'v20', 'user-agent': 'other' })).toBe(1);
  expect(await ask({ 'anthropic-beta': 'some-beta' })).toBe(2);
  expect(await ask({ 'anthropic-version': '2026-10-21' })).toBe(3);
  expect(await ask({ 'anthropic-version': '2026-10-21' })).toBe(3);
  await stop();
});

test('a folder whose recordings are none of this version says so', async ({ server, cli }) => {
  server.reply({ body: textReply('old') });
  const cwd = scratchFolder();
  await cli(['text', 'hi', '--record', 'kept'], { cwd });
  const [name = ''] = readdirSync(join(cwd, 'kept'));
  const path = join(cwd, 'kept', name);
  writeFileSync(path, readFileSync(path, 'utf8').replace(/"scope":"[0-9a-f]{64}",/, ''));
  const ran = await cli(['text', 'hi', '--replay', 'kept'], { cwd });
  expect([ran.code, ran.stdout]).toEqual([2, '']);
  expect(ran.stderr).toContain(': its file is none of this version\n');
});

test('a recording with the file name of another request answers neither a replay nor a cache', async ({
  server,
  cli,
}) => {
  server.reply({ body: textReply('a') });
  server.reply({ body: textReply('b') });
  const cwd = scratchFolder();
  for (const prompt of ['first', 'second']) await cli(['text', prompt, '--record', 'kept'], { cwd });
  const folder = join(cwd, 'kept');
  const names = readdirSync(folder);
  const holding = (prompt: string) =>
    names.find((name) => readFileSync(join(folder, name), 'utf8').includes(prompt)) as string;
  const [first, second] = [holding('first'), holding('second')];
  renameSync(join(folder, second), join(folder, first));
  expect((await cli(['text', 'first', '--replay', 'kept'], { cwd })).code).toBe(2);
  server.reply({ body: textReply('again') });
  expect((await cli(['text', 'first', ...cache], { cwd })).stdout).toBe('again\n');
});

test.for<[string, (path: string) => void]>([
  ['cannot be read', (path) => chmodSync(path, 0)],
  ['is nested too deeply', (path) => writeFileSync(path, nested(600))],
  ['is nested beyond the stack', (path) => writeFileSync(path, nested(100_000))],
  ['is not JSON', (path) => writeFileSync(path, 'oops\n')],
])('one recording that %s does not affect the others', async ([, spoil], { server, cli }) => {
  server.reply({ body: textReply('good') });
  const cwd = scratchFolder();
  await cli(['text', 'hi', '--record', 'kept'], { cwd });
  const [name = ''] = readdirSync(join(cwd, 'kept'));
  renameSync(join(cwd, 'kept', name), join(cwd, 'kept', 'mine.jsonl'));
  const bad = join(cwd, 'kept', 'bad.jsonl');
  writeFileSync(bad, '');
  spoil(bad);
  expect((await cli(['text', 'hi', '--replay', 'kept'], { cwd })).stdout).toBe('good\n');
  expect((await cli(['text', 'hi', ...cache], { cwd })).stdout).toBe('good\n');
});

function nested(depth: number): string {
  const body = `${'['.repeat(depth)}${']'.repeat(depth)}`;
  return `{"recording":1,"hash":"a","at":1,"request":{"method":"POST","path":"/v1/messages","body":${body}}}\n`;
}
