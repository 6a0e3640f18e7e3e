import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { recordedFiles } from '../../helpers/recorded-files.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { startScriptedServer } from '../../helpers/scripted-server.ts';
import { eventStream, messageEvents, test, textReply } from '../../helpers/with-server.ts';
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
  for (const name of recordedFiles(join(cwd, 'kept')))
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
  const other = `other-${'0'.repeat(32)}`;
  mkdirSync(join(cwd, 'kept', other));
  for (const bad of [join(cwd, 'kept', name, '2.jsonl'), join(cwd, 'kept', other, '1.jsonl')]) {
    writeFileSync(bad, '');
    spoil(bad);
  }
  expect((await cli(['text', 'hi', '--replay', 'kept'], { cwd })).stdout).toBe('good\n');
  expect((await cli(['text', 'hi', ...cache], { cwd })).stdout).toBe('good\n');
  const miss = await cli(['text', 'ho', '--replay', 'kept'], { cwd });
  expect([miss.code, miss.stderr]).toEqual([2, expect.stringContaining(`the nearest is ${name}: `)]);
});

function nested(depth: number): string {
  const body = `${'['.repeat(depth)}${']'.repeat(depth)}`;
  return `{"recording":1,"scope":"a","at":1,"request":{"method":"POST","path":"/v1/messages","body":${body}}}\n`;
}
