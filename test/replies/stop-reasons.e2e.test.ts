import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, vi } from 'vitest';
import { createClient, ResponseError } from '../../src/index.ts';
import { person } from '../cli/commands/chat/person.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { canaryKey, eventStream, messageEvents, test } from '../helpers/with-server.ts';
import { png } from './deviation.ts';

interface Document {
  ok: boolean;
  complete: boolean;
  exitCode: number;
  text: string;
  images: { path: string }[];
  warnings: string[];
  error?: { class: string; message: string };
}

const complete = ['STOP', 'end_turn', 'stop_sequence', 'tool_use', 'stop'];
const limits = ['MAX_TOKENS', 'max_tokens', 'model_context_window_exceeded', 'length'];
const stopped = [
  'SAFETY RECITATION LANGUAGE OTHER BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION IMAGE_OTHER NO_IMAGE MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE refusal',
  'content_filter safety ESCALATION PUP_LIMITED_DISABLED',
].flatMap((line) => line.split(' '));
const unknown = ['FULL_MOON', 'FINISH_REASON_UNSPECIFIED', 'toString'];

const rules = [
  ...complete.map((reason) => ({ reason, code: 0, whole: true, warning: undefined })),
  ...limits.map((reason) => ({ reason, code: 0, whole: false, warning: 'cut' })),
  ...stopped.map((reason) => ({ reason, code: 10, whole: false, warning: undefined })),
  ...unknown.map((reason) => ({ reason, code: 0, whole: false, warning: 'may not be whole' })),
];

const candidate = (finishReason: string | undefined, part: object, index = 0): object => ({
  content: { role: 'model', parts: [part] },
  finishReason,
  index,
});
const picture = { inlineData: { mimeType: 'image/png', data: png } };
const contentBody = (reason: string | undefined, part: object): string =>
  JSON.stringify({ candidates: [candidate(reason, part)] });
const messageBody = (reason: string): string =>
  JSON.stringify({ type: 'message', content: [{ type: 'text', text: 'some words' }], stop_reason: reason });
const messageStream = (reason: string): string =>
  eventStream(...messageEvents('some words')).replace('end_turn', reason);

/** Each way to ask, with a reply that holds something and ends for a reason. */
const ways: [name: string, argv: string[], body: (reason: string) => string][] = [
  ['text', ['text', 'x'], (reason) => contentBody(reason, { text: 'some words' })],
  ['text, streamed', ['text', 'x'], (reason) => `data: ${contentBody(reason, { text: 'some words' })}\n\n`],
  ['image gen', ['image', 'gen', 'x'], (reason) => contentBody(reason, picture)],
  ['chat', ['chat', 'x'], messageStream],
  ['chat --no-stream', ['chat', 'x', '--no-stream'], messageBody],
];

describe.each(ways)('%s', (_way, argv, body) => {
  test.for(rules)(
    'an answer that ends with $reason is exit $code, and what came is kept',
    async ({ reason, code, whole, warning }, { server, cli }) => {
      server.always({ body: body(reason) });
      const { stdout, cwd } = await cli([...argv, '--json']);
      const document = JSON.parse(stdout) as Document;
      expect(document).toMatchObject({ ok: code === 0, complete: whole, exitCode: code });
      expect(document.error?.class).toBe(code === 0 ? undefined : 'no-result');
      expect(document.error?.message ?? reason).toContain(reason);
      if (argv[0] === 'image') expect(readFileSync(join(cwd, document.images[0]?.path ?? '')).length).toBe(70);
      else expect(document.text).toBe('some words');
      expect(document.warnings).toEqual(warning === undefined ? [] : [expect.stringContaining(warning)]);
      const plain = await cli(argv);
      expect([plain.code, plain.stdout]).toEqual([code, argv[0] === 'image' ? 'image-1.png\n' : 'some words\n']);
      expect((await cli([...argv, '--require-complete'])).code).toBe(whole || code === 10 ? code : 11);
    },
  );
});

test('a whole JSON reply without a reason is complete, a stream without one is exit 11', async ({ server, cli }) => {
  const body = contentBody(undefined, { text: 'some words' });
  server.reply({ body });
  expect(JSON.parse((await cli(['text', 'x', '--json'])).stdout)).toMatchObject({ ok: true, complete: true });
  server.reply({ body: JSON.stringify({ type: 'message', content: [{ type: 'text', text: 'some words' }] }) });
  expect((await cli(['chat', 'x'])).code).toBe(0);
  for (const stream of [`data: ${body}\n\n`, `data: ${contentBody('', { text: 'some words' })}\n\n`]) {
    server.reply({ body: stream });
    expect((await cli(['text', 'x'])).code).toBe(11);
  }
});

test('a stream in which one candidate has no reason is exit 11', async ({ server, cli }) => {
  const candidates = [candidate('STOP', { text: 'a' }), candidate(undefined, { text: 'b' }, 1)];
  server.reply({ body: `data: ${JSON.stringify({ candidates })}\n\n` });
  expect((await cli(['text', 'x'])).code).toBe(11);
});

test.for([
  ['every candidate stopped is exit 10', 'SAFETY', 'RECITATION', 10],
  ['some candidates stopped is exit 11', 'STOP', 'RECITATION', 11],
  ['the first candidate stopped is exit 11', 'SAFETY', 'STOP', 11],
  ['a candidate that a limit cut is a warning', 'STOP', 'MAX_TOKENS', 0],
  ['a candidate whose reason nobody knows is a warning', 'FULL_MOON', 'STOP', 0],
] as const)('%s, and all candidates are printed', async ([, one, two, code], { server, cli }) => {
  const candidates = [candidate(one, { text: 'a' }), candidate(two, { text: 'b' }, 1)];
  server.always({ body: JSON.stringify({ candidates }) });
  const plain = await cli(['text', 'x', '--candidates', '2']);
  expect([plain.code, plain.stdout]).toEqual([code, 'a\n---\nb\n']);
  const { stdout } = await cli(['text', 'x', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ ok: code === 0, complete: false });
  const bad = [one, two].filter((reason) => reason !== 'STOP');
  for (const reason of bad) expect(plain.stderr).toContain(reason);
});

test('pictures of a request that was stopped are kept beside those of others', async ({ server, cli }) => {
  server.reply({ body: contentBody('IMAGE_SAFETY', picture) });
  server.reply({ body: contentBody('STOP', picture) });
  const { code, stdout, stderr } = await cli(['image', 'gen', 'x', '-n', '2']);
  expect([code, stdout]).toEqual([11, 'image-1.png\nimage-2.png\n']);
  expect(stderr).toContain('1 of 2 candidates were stopped: IMAGE_SAFETY');
});

test('a blocked prompt with some words is exit 10', async ({ server, cli }) => {
  const candidates = [candidate(undefined, { text: 'some words' })];
  server.reply({ body: JSON.stringify({ candidates, promptFeedback: { blockReason: 'SAFETY' } }) });
  const { code, stdout } = await cli(['text', 'x']);
  expect([code, stdout]).toEqual([10, 'some words\n']);
});

test('a batch counts an answer that was stopped as failed, and keeps its words', async ({ server, cli }) => {
  server.reply({ body: contentBody('SAFETY', { text: 'some words' }) });
  server.reply({ body: contentBody('FULL_MOON', { text: 'other words' }) });
  const stdin = '{"id":"a","prompt":"x"}\n{"id":"b","prompt":"y"}\n';
  const ran = await cli(['batch', '-', '-o', 'out', '--concurrency', '1'], { stdin });
  expect(ran.code, ran.stderr).toBe(13);
  const lines = readFileSync(join(ran.cwd, 'out/results.jsonl'), 'utf8').trim().split('\n');
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { id: 'a', ok: false, complete: false, text: 'some words', error: { class: 'no-result', billed: 'yes' } },
    { id: 'b', ok: true, complete: false, text: 'other words', warnings: [expect.stringContaining('FULL_MOON')] },
  ]);
});

test('the last line of --jsonl names the error that the reason means', async ({ server, cli }) => {
  server.reply({ body: messageStream('refusal') });
  const { code, stdout } = await cli(['chat', 'x', '--jsonl']);
  expect(code).toBe(10);
  const last = stdout.trim().split('\n').at(-1) ?? '';
  expect(JSON.parse(last)).toMatchObject({
    type: 'result',
    complete: false,
    error: expect.stringContaining('refused'),
  });
});

test('tools are not run for an answer that was stopped', async ({ server, cli }) => {
  const call = { type: 'tool_use', id: 't1', name: 'f', input: {} };
  server.reply({ body: { type: 'message', role: 'assistant', content: [call], stop_reason: 'refusal' } });
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'tools.json'), '[{"name":"f","input_schema":{"type":"object"}}]');
  const { code } = await cli(['chat', 'x', '--tools', 'tools.json', '--tool-exec', 'f=/usr/bin/touch ran'], { cwd });
  expect([code, server.requests.length, existsSync(join(cwd, 'ran'))]).toEqual([10, 1, false]);
});

test('a conversation reports that the answer was stopped, goes on, and does not keep the turn', async ({
  server,
  cli,
}) => {
  vi.stubEnv('XDG_STATE_HOME', scratchFolder());
  server.reply({ body: messageStream('refusal') });
  server.reply({ body: messageStream('end_turn') });
  const ran = await cli(['chat'], person(['one', 'two']).options);
  expect(ran).toMatchObject({ code: 0, stdout: 'some words\nsome words\n\n' });
  expect(stripVTControlCharacters(ran.stderr)).toContain('no-result: the model refused: ');
  expect(server.requests[1]?.json()).toMatchObject({ messages: [{ content: 'two' }] });
});

test('the library rejects an answer that was stopped, and warns of a reason that is unknown', async ({ server }) => {
  const client = createClient({ baseUrl: server.url, apiKey: canaryKey });
  server.reply({ body: contentBody('SAFETY', { text: 'some words' }) });
  const error = await client.generate({ model: 'm', prompt: 'x' }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ResponseError);
  expect(error).toMatchObject({ class: 'no-result', reply: { text: 'some words', complete: false } });
  server.reply({ body: messageStream('FULL_MOON') });
  const reply = await client.stream({ model: 'm', maxTokens: 9, prompt: 'x' }, { format: 'messages' }).reply();
  expect(reply).toMatchObject({ text: 'some words', complete: false });
  expect(reply.warnings).toEqual([expect.stringContaining('FULL_MOON')]);
  await client.close();
});

test('a reply that ends in an error is never called complete', async ({ server, cli }) => {
  const [start = {}, ...rest] = messageEvents('some words');
  const second = { type: 'message_start', message: { id: 'msg_2' } };
  server.reply({ body: eventStream(start, ...rest.slice(0, -1), second) });
  const { code, stdout } = await cli(['chat', 'x', '--json']);
  expect(code).toBe(9);
  expect(JSON.parse(stdout)).toMatchObject({ complete: false, text: 'some words', stopReason: 'end_turn' });
});
