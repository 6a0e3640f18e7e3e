import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { withoutQuotes } from '../../../src/library/formats/heard.ts';
import { startFakeServer } from '../../fake-servers/start.ts';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

/*
 * A refusal that quotes the prompt: what it quotes is no word of the service, and teaches nothing for this or for later requests.
 */

const json = { 'content-type': 'application/json' };

let cache: string;
beforeEach(() => {
  cache = scratchFolder();
  vi.stubEnv('XDG_CACHE_HOME', cache);
});

const sentences = [
  [
    'another field for tokens',
    'completions',
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  ],
  ['another format', 'completions', 'This model is only supported in v1/responses and not in v1/chat/completions.'],
  ['another format, of the other one', 'responses', "The requested model 'm' cannot be used with the Responses API."],
  ['no encrypted thinking', 'responses', 'Encrypted content is not supported with this model.'],
  ['no summaries', 'responses', 'Your organization must be verified to generate reasoning summaries.'],
  ['a quota that is spent', 'completions', 'Your credit balance is too low to access the API.'],
  ['a model that is gone', 'completions', 'The model `m` has been deprecated. Please use `gpt-9` instead.'],
] as const;

/** The ways in which services quote: whole, cut at the end, in JSON, in lower case. */
const ways: readonly ((prompt: string) => string)[] = [
  (prompt) => `Your request was rejected by our safety system. Prompt: ${prompt}`,
  (prompt) => `Invalid prompt: "${prompt.slice(0, -3)}…" was flagged for this model`,
  (prompt) => `Invalid value for messages[0].content: ${JSON.stringify(JSON.stringify(prompt))}`,
  (prompt) => `Blocked by the model's filter: ${prompt.toLowerCase()}`,
];

test.each(sentences)('words of the prompt that a refusal quotes do not teach %s', async (_, format, sentence) => {
  const prompt = `Translate into German:\n${sentence}`;
  for (const quote of ways) {
    const error = { message: quote(prompt), type: 'invalid_request_error', param: null, code: null };
    const server = await startFakeServer(() => ({ status: 400, headers: json, body: JSON.stringify({ error }) }));
    onTestFinished(() => server.close());
    const env = {
      GATEWAY_BASE_URL: `${server.url}/v1`,
      GATEWAY_FORMAT: format,
      GATEWAY_API_KEY: 'key-0123456789',
      GATEWAY_MODEL: 'm',
    };
    const argv = ['text', prompt, '--max-tokens', '16', '--effort', 'low', '--json'];
    const ran = await run(argv, { env });
    expect(ran.code).toBe(4);
    expect(server.requests).toHaveLength(1);
    const { error: told } = JSON.parse(ran.stdout) as { error: { hint: string; message: string } };
    expect(told.hint).not.toMatch(/successor|max_completion_tokens|--format/);
    expect(told.message.toLowerCase()).toContain('translate into german');
    expect(existsSync(join(cache, 'gateway-cli', 'memory.json'))).toBe(false);
  }
});

test.each([
  ['The model `m` has been retired', ['say hello to all'], 'The model `m` has been retired'],
  ['Bad: "say hello to all" was flagged', ['Say hello\n to all'], 'Bad: "…" was flagged'],
  ['Bad: say it now', ['say it now'], 'Bad: …'],
  ['Bad: say it now', ['say it now and then'], 'Bad: say it now'],
  ['the model is gone', ['the model'], 'the model is gone'],
  ['', ['a b c d'], ''],
  ['内容违规：请解释insufficient_quota是什么', ['请解释insufficient_quota是什么'], '内容违规：…'],
])('of %j, with the texts %j, the service says %j itself', (message, texts, heard) => {
  expect(withoutQuotes(message, texts)).toBe(heard);
});

test('a prompt and a refusal of megabytes, of the same words again and again, are read once', () => {
  const text = 'the model has been '.repeat(50_000);
  expect(withoutQuotes('The model has been deprecated', [text])).toBe('… deprecated');
  expect(withoutQuotes(text, [text])).toBe('… ');
  const same = 'a '.repeat(200_000);
  expect(withoutQuotes(`model ${same}`, [same])).toBe('model … ');
});

/** A refusal that quotes the prompt, in each way in which it can be inside a reply of status 200. */
const inside = [
  ['a whole reply', 'completions', (error: object) => JSON.stringify({ error })],
  ['an event of completions', 'completions', (error: object) => `data: ${JSON.stringify({ error })}\n\n`],
  [
    'an event of messages',
    'messages',
    (error: object) => `event: error\ndata: {"type":"error","error":${JSON.stringify(error)}}\n\n`,
  ],
  ['an event of responses', 'responses', (error: object) => `data: ${JSON.stringify({ type: 'error', error })}\n\n`],
  [
    'a failed response',
    'responses',
    (error: object) => JSON.stringify({ object: 'response', status: 'failed', output: [], error }),
  ],
  ['a piece of the content format', 'content', (error: object) => `data: ${JSON.stringify({ error })}\n\n`],
] as const;

test.each(inside)('words of the prompt in an error inside %s are no words of the service', async (_, format, write) => {
  const prompt = 'please explain insufficient_quota to me';
  const body = write({ message: `Invalid prompt: "${prompt}"`, type: 'invalid_request_error' });
  const type = body.startsWith('{') ? 'application/json' : 'text/event-stream';
  const server = await startFakeServer(() => ({ status: 200, headers: { 'content-type': type }, body }));
  onTestFinished(() => server.close());
  const env = { GATEWAY_BASE_URL: server.url, GATEWAY_FORMAT: format, GATEWAY_API_KEY: 'key-0123456789' };
  const ran = await run(['text', prompt, '-m', 'm', '--max-tokens', '16', '--json'], { env });
  const { error } = JSON.parse(ran.stdout) as { error: { class: string; message: string } };
  expect(error.class).toBe('rejected');
  expect(error.message).toContain('insufficient_quota');
});

test.each([
  ['400', 400, '请解释一下insufficient_quota是什么意思'],
  ['200', 200, 'please explain insufficient_quota to me'],
])('a row that a refusal of status %s quotes does not stop the others of its batch', async (_, status, poison) => {
  const server = await startFakeServer(({ body }) => {
    const { messages } = JSON.parse(body) as { messages: { content: string }[] };
    const { content = '' } = messages[0] ?? {};
    const message = `Invalid prompt: ${content}`;
    return content === poison
      ? { status, headers: json, body: JSON.stringify({ error: { message, type: 'invalid_request_error' } }) }
      : {
          status: 200,
          headers: json,
          body: '{"choices":[{"index":0,"message":{"content":"ok"},"finish_reason":"stop"}]}',
        };
  });
  onTestFinished(() => server.close());
  const env = { GATEWAY_BASE_URL: server.url, GATEWAY_FORMAT: 'completions', GATEWAY_API_KEY: 'key-0123456789' };
  const stdin = [poison, 'hi', 'ho'].map((prompt) => JSON.stringify({ prompt, model: 'm' })).join('\n');
  const ran = await run(['batch', '-', '-o', 'out', '--concurrency', '1'], { env, stdin, cwd: scratchFolder() });
  expect(ran.stderr).toContain('2 done, 1 failed');
  expect(server.requests).toHaveLength(3);
});
