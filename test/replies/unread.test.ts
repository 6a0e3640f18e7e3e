import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, expect, vi } from 'vitest';
import { createClient } from '../../src/index.ts';
import { person } from '../cli/commands/chat/person.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import type { ScriptedReply } from '../helpers/scripted-server.ts';
import { canaryKey, test, textReply } from '../helpers/with-server.ts';

const bytes = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0x0a]);
const unread: ScriptedReply = { headers: { 'content-encoding': 'squash' }, body: bytes };
const said =
  'the reply (200) is encoded as squash, although the request accepts no encoding, which this program cannot read';

let state = '';
beforeEach(() => {
  state = scratchFolder();
  vi.stubEnv('XDG_STATE_HOME', state);
  return () => vi.unstubAllEnvs();
});

/** The recovery files that stderr names. */
const filesIn = (stderr: string): string[] =>
  [
    ...stderr
      .replaceAll(/\s+/g, ' ')
      .matchAll(/the reply is kept as it came; write it out: gateway-cli recover (\S+) > reply/g),
  ].map(([, path = '']) => path);

test.for([
  ['text hi', 'models/m:generateContent'],
  ['text --stream hi', 'models/m:streamGenerateContent'],
  ['text --raw hi', 'models/m:generateContent'],
  ['text hi -o answer.txt', 'models/m:generateContent'],
  ['image gen hi', 'models/m:generateContent'],
  ['chat --no-save hi', 'v1/messages'],
] as const)(
  '%s: a paid reply in an unknown encoding is kept as it came, and the error says where',
  async ([words, path], { server, cli }) => {
    server.reply(unread);
    const ran = await cli(words.split(' '));
    expect(ran).toMatchObject({ code: 9, stdout: '' });
    expect(ran.stderr).toContain(`bad-reply: ${said}`);
    expect(ran.stderr).toContain(path);
    const [file = ''] = filesIn(ran.stderr);
    expect(file.startsWith(state)).toBe(true);
    expect((await cli(['recover', file])).stdoutBytes).toEqual(bytes);
  },
);

test('the document of a reply that cannot be decoded has the file, the status and what it cost, and none of the bytes', async ({
  server,
  cli,
}) => {
  server.reply(unread);
  const ran = await cli(['text', 'hi', '--json']);
  const { error } = JSON.parse(ran.stdout) as { error: { recovery: string } };
  expect(error).toMatchObject({
    class: 'bad-reply',
    message: said,
    status: 200,
    sent: 'yes',
    billed: 'yes',
    retryable: false,
  });
  expect(existsSync(error.recovery)).toBe(true);
  expect(error).not.toHaveProperty('unread');
});

test('of several pictures, each reply that cannot be decoded has a file of its own', async ({ server, cli }) => {
  for (let sent = 0; sent < 3; sent++) server.reply(unread);
  const ran = await cli(['image', 'gen', '-n', '3', 'hi']);
  expect(ran.code).toBe(9);
  const files = filesIn(ran.stderr);
  expect(new Set(files).size).toBe(3);
  for (const file of files) expect((await cli(['recover', file])).stdoutBytes).toEqual(bytes);
});

test('a conversation keeps each reply that cannot be decoded, and goes on', async ({ server, cli }) => {
  server.reply(unread);
  server.reply(unread);
  const ran = await cli(['chat', '--no-save'], person(['one', 'two']).options);
  expect(ran.code).toBe(0);
  expect(new Set(filesIn(ran.stderr)).size).toBe(2);
});

test('a job whose reply cannot be decoded fails, and its reply is kept', async ({ server, cli }) => {
  server.reply(unread);
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'jobs.jsonl'), '{"id":"a","prompt":"hi"}\n');
  const ran = await cli(['batch', 'jobs.jsonl', '-o', 'out'], { cwd });
  expect(ran.code).toBe(13);
  const [file = ''] = filesIn(ran.stderr);
  expect((await cli(['recover', file])).stdoutBytes).toEqual(bytes);
});

test('the library gives the bytes of a reply that it cannot decode with the error', async ({ server }) => {
  server.reply(unread);
  const client = createClient({ baseUrl: server.url, apiKey: canaryKey });
  await expect(client.generate({ model: 'm', prompt: 'hi' })).rejects.toMatchObject({
    class: 'bad-reply',
    details: { unread: bytes, status: 200 },
  });
  await client.close();
});

test('a list of models in an unknown encoding costs nothing and is not kept', async ({ server, cli }) => {
  for (let list = 0; list < 2; list++) server.reply(unread);
  const ran = await cli(['models']);
  expect(ran).toMatchObject({ code: 9, stdout: '' });
  expect(ran.stderr).toContain(said);
  expect(filesIn(ran.stderr)).toEqual([]);
  expect(existsSync(join(state, 'gateway-cli/recovered'))).toBe(false);
});

test('a paid reply that is compressed is printed', async ({ server, cli }) => {
  server.reply({ headers: { 'content-encoding': 'gzip' }, body: gzipSync(JSON.stringify(textReply('hello'))) });
  expect(await cli(['text', 'hi'])).toMatchObject({ code: 0, stdout: 'hello\n', stderr: '' });
});
