import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, vi } from 'vitest';
import { createClient } from '../../src/index.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { canaryKey, eventStream, messageEvents, test, textReply } from '../helpers/with-server.ts';

/** JSON that is nested this many levels deep. */
const nested = (levels: number): string => `${'['.repeat(levels)}1${']'.repeat(levels)}`;
const deep = nested(3000);

/** A reply with JSON of any depth in it, which replaces `"DEEP"`. */
const withDeep = (reply: unknown, json = deep): string => JSON.stringify(reply).replaceAll('"DEEP"', json);

const callReply = {
  candidates: [
    { content: { parts: [{ functionCall: { name: 'f', args: { a: 'DEEP' } } }] }, finishReason: 'STOP', index: 0 },
  ],
};
const ratedReply = {
  candidates: [
    { content: { parts: [{ text: 'hello' }] }, finishReason: 'STOP', index: 0, safetyRatings: [{ odd: 'DEEP' }] },
  ],
};

describe.for([
  ['200 levels', nested(150)],
  ['3,000 levels', deep],
  ['60,000 levels', nested(60_000)],
] as const)('JSON of %s', ([, json]) => {
  test('in a call is in the document', async ({ server, cli }) => {
    server.reply({ body: withDeep(callReply, json) });
    const ran = await cli(['text', 'hi', '--json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const { toolCalls } = JSON.parse(ran.stdout) as { toolCalls: unknown };
    expect(JSON.stringify(toolCalls).replaceAll('\\', '')).toContain(json.slice(0, 100));
    expect(ran.stdout.split(']').length).toBeGreaterThan(json.split(']').length);
  });

  test('beside a text leaves the text as it is', async ({ server, cli }) => {
    server.reply({ body: withDeep(ratedReply, json) });
    expect(await cli(['text', 'hi'])).toMatchObject({ code: 0, stdout: 'hello\n', stderr: '' });
    server.reply({ body: `data: ${withDeep(ratedReply, json)}\n\n` });
    expect(await cli(['text', 'hi', '--stream', '--json'])).toMatchObject({ code: 0, stderr: '' });
  });

  test('in a streamed call is in the session', async ({ server, cli }) => {
    const [start, , ...rest] = messageEvents();
    const call = [
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't', name: 'f', input: {} } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: `{"a":${json}}` } },
    ];
    server.reply({ body: eventStream(start as object, ...call, ...rest) });
    const cwd = scratchFolder();
    const ran = await cli(['chat', 'hi', '--session', './s.jsonl', '--json'], { cwd });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(join(cwd, 's.jsonl'), 'utf8').split(']').length).toBeGreaterThan(json.split(']').length);
  });

  test('as an answer to a schema is printed', async ({ server, cli }) => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'any.json'), '{}');
    server.reply({ body: textReply(json) });
    const ran = await cli(['text', 'hi', '--schema', 'any.json'], { cwd });
    expect(ran).toMatchObject({ code: 0, stdout: `${json}\n`, stderr: '' });
  });
});

test('a batch goes on after a reply that is hard to handle', async ({ server, cli }) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'jobs.jsonl'), ['a', 'b', 'c'].map((id) => `{"id":"${id}","prompt":"x"}\n`).join(''));
  server.reply({ body: textReply('one') });
  server.reply({ body: withDeep(callReply) });
  server.reply({ body: textReply('three') });
  const ran = await cli(['batch', 'jobs.jsonl', '-o', 'out', '--concurrency', '1'], { cwd });
  expect(ran.code).toBe(0);
  expect(readFileSync(join(cwd, 'out/results.jsonl'), 'utf8').trim().split('\n')).toHaveLength(3);
});

test('the library returns a reply with deep JSON', async ({ server }) => {
  const client = createClient({ baseUrl: server.url });
  server.reply({ body: withDeep(callReply) });
  const reply = await client.generate({ model: 'm', prompt: 'hi' });
  expect(JSON.stringify(reply.toolCalls)).toContain('[[[[');
  await client.close();
});

test.for([
  ['2,000 quotes', `${'> '.repeat(2000)}deep`],
  ['1,000 nested lists', `${'- '.repeat(1000)}deep`],
  ['60 KB of marks', '*a_'.repeat(20_000)],
] as const)('%s are shown on a terminal, and --code says that there is no code', async ([, text], { server, cli }) => {
  const tty = { stdout: true };
  server.reply({ body: textReply(text) });
  const ran = await cli(['text', 'hi'], { tty, env: { NO_COLOR: '1' } });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout.replaceAll(/[^a-z]/g, '')).toBe(text.replaceAll(/[^a-z]/g, ''));
  server.reply({ body: textReply(text) });
  expect(await cli(['text', 'hi', '--code'], { tty })).toMatchObject({ code: 10 });
});

test('a bug after a reply keeps the reply', async ({ server, cli }) => {
  server.reply({ body: textReply('paid words') });
  vi.stubEnv('XDG_STATE_HOME', scratchFolder());
  onTestFinished(() => void vi.unstubAllEnvs());
  const ran = await cli(['text', 'hi'], {
    onStdout: () => {
      throw new TypeError('a bug of ours');
    },
  });
  expect(ran.code).toBe(1);
  expect(ran.stderr).toContain('gateway-cli: internal: a bug of ours');
  const [, file = ''] = /gateway-cli recover (\S+)/.exec(ran.stderr) ?? [];
  expect(existsSync(file)).toBe(true);
  expect(await cli(['recover', file])).toMatchObject({ code: 0, stdout: 'paid words\n' });
});

test.for([
  ['--schema', ['text', 'hi', '--schema', 'deep.json']],
  ['--body', ['text', 'hi', '--body', 'deep.json']],
  ['a job', ['batch', 'deep.jsonl', '-o', 'out']],
  ['a row', ['batch', '--data', 'deep.jsonl', '--defaults', '{"prompt":"{{a}}"}', '-o', 'out']],
  ['a prompt file', ['text', '--prompt-file', 'circle.prompt.yml']],
] as const)(
  'deep JSON of the user in %s is a mistake that is found before anything is sent',
  async ([, argv], { cli }) => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'deep.json'), `{"a":${nested(5000)}}`);
    writeFileSync(join(cwd, 'deep.jsonl'), `{"prompt":"x","a":${nested(5000)}}\n`);
    writeFileSync(join(cwd, 'circle.prompt.yml'), 'messages: &a\n  - role: user\n    content: hi\n    more: *a\n');
    const ran = await cli([...argv], { cwd });
    expect(ran.code).toBe(2);
    expect(readdirSync(cwd)).not.toContain('out');
  },
);

test('of a thousand candidates some are read, and the answer is not complete', async ({ server, cli }) => {
  const candidates = Array.from({ length: 1000 }, (_, index) => ({
    content: { parts: [{ text: `t${index}` }] },
    finishReason: 'STOP',
    index,
  }));
  server.reply({ body: textReply('', { candidates }) });
  const { stdout } = await cli(['text', 'hi', '--json']);
  const document = JSON.parse(stdout) as { candidates: object[] };
  expect(document).toMatchObject({
    complete: false,
    warnings: ['the reply has 1000 candidates; the first 65 are read'],
  });
  expect(document.candidates).toHaveLength(65);
});

test('a number that is too large is kept as it was written', async ({ server, cli }) => {
  const parts = [{ functionCall: { name: 'f', args: { a: 1, b: 'x1e999' } } }];
  const body = JSON.stringify(textReply('', { candidates: [{ content: { parts }, finishReason: 'STOP', index: 0 }] }));
  server.reply({ body: body.replace('"a":1', '"a":[1e999,-1E400,12,1e3]') });
  const { stdout } = await cli(['text', 'hi', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({
    toolCalls: [{ input: { a: ['1e999', '-1E400', 12, 1000], b: 'x1e999' } }],
  });
});

test('the key as the model is refused before it is in a URL', async ({ server, cli }) => {
  const ran = await cli(['image', 'gen', 'x', '-o', '{model}.{ext}', '-m', canaryKey]);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('the model (flag --model) is the key');
  expect(ran.stderr).not.toContain(canaryKey);
  expect(server.requests).toEqual([]);
});
