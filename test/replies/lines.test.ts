import { expect } from 'vitest';
import { cut } from '../helpers/scripted-server.ts';
import { dot } from '../helpers/recorded-run.ts';
import { test } from '../helpers/with-server.ts';

const lines = (...pieces: readonly object[]): string => pieces.map((piece) => `${JSON.stringify(piece)}\n`).join('');
const content = (text: string, more: object = {}) => ({ candidates: [{ content: { parts: [{ text }] }, ...more }] });
const chunk = (text: string, more: object = {}) => ({ choices: [{ index: 0, delta: { content: text }, ...more }] });

test.for([
  ['content', [content('Hel'), content('lo', { finishReason: 'STOP' })]],
  ['completions', [chunk('Hel'), chunk('lo', { finish_reason: 'stop' })]],
  [
    'messages',
    [
      { type: 'message_start', message: { id: 'm1', role: 'assistant' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    ],
  ],
] as const)('a stream as lines of JSON is read: %s', async ([format, pieces], { server, cli }) => {
  for (const argv of [['text'], ['text', '--stream'], ['chat']]) {
    server.reply({ headers: { 'content-type': 'application/x-ndjson' }, body: lines(...pieces) });
    expect(await cli([...argv, 'hi', '--format', format])).toMatchObject({ code: 0, stdout: 'Hello\n', stderr: '' });
  }
});

test('a stream as lines of JSON that lacks its end is incomplete', async ({ server, cli }) => {
  server.reply({ chunks: [lines(chunk('Hel'), chunk('lo')), '{"choices":[{"del', cut] });
  expect(await cli(['text', 'hi', '--format', 'completions'])).toMatchObject({ code: 11, stdout: 'Hello\n' });
});

test("Ollama's own format is named, with the address that has the other one", async ({ server, cli }) => {
  const piece = (word: string, done: boolean) => ({ model: 'm', message: { role: 'assistant', content: word }, done });
  for (const body of [lines(piece('Hel', false), piece('lo', true)), JSON.stringify(piece('Hello', true))]) {
    server.reply({ body });
    const ran = await cli(['text', 'hi', '--format', 'completions']);
    expect([ran.code, ran.stdout]).toEqual([9, '']);
    expect(ran.stderr).toContain("bad-reply: the reply is in Ollama's own format");
    expect(ran.stderr).toContain('completions format at /v1: check --base-url');
  }
});

test('a reply of the images operation that is a list alone is read', async ({ server, cli }) => {
  server.reply({ body: [{ b64_json: dot }] });
  const ran = await cli(['image', 'gen', 'a dot', '--format', 'completions', '-o', 'dot.png']);
  expect(ran).toMatchObject({ code: 0, stdout: 'dot.png\n' });
});

test('a model that answers at another path alone is told so', async ({ server, cli }) => {
  const message = 'This model is only supported in v1/responses and not in v1/chat/completions.';
  server.reply({ status: 404, body: { error: { message, type: 'invalid_request_error' } } });
  const ran = await cli(['text', 'hi', '--format', 'completions']);
  expect(ran.code).toBe(4);
  expect(ran.stderr).toContain('--format responses');
});

test('an error of Ollama names the command that mends it, and is not billed', async ({ server, cli }) => {
  const ollama = ['text', 'hi', '--service', 'ollama', '-m', 'llama9', '--json'];
  server.reply({ status: 404, body: { error: { message: "model 'llama9' not found", type: 'not_found_error' } } });
  server.reply({ status: 500, body: { error: { message: 'llama runner stopped' } } });
  const missing = await cli(ollama);
  expect(missing.code).toBe(4);
  expect(missing.stderr).toContain('the server does not have it: ollama pull llama9; to see');
  const failed = await cli([...ollama, '--retries', '0'], { env: { GATEWAY_API_KEY: '' } });
  expect(JSON.parse(failed.stdout)).toMatchObject({ error: { class: 'gateway', billed: 'no' } });
});
