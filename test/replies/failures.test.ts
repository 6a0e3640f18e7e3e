import { describe, expect } from 'vitest';
import { createClient } from '../../src/index.ts';
import { test } from '../helpers/with-server.ts';

type FormatName = 'content' | 'messages' | 'completions' | 'responses';

const usageOf: Record<FormatName, object> = {
  content: { usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 } },
  messages: { usage: { input_tokens: 3, output_tokens: 2 } },
  completions: { usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } },
  responses: { usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } },
};

const message = { type: 'message', id: 'i', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] };

/** A whole answer of each format. */
const answers: Record<FormatName, object> = {
  content: { candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP', index: 0 }] },
  messages: {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'Hello' }],
    stop_reason: null,
  },
  completions: {
    id: 'c',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  },
  responses: { id: 'r', object: 'response', model: 'm', status: 'failed', output: [message] },
};

const error = { code: 503, type: 'server_error', message: 'It broke' };
const formats = Object.keys(answers) as FormatName[];

describe('an answer with an error beside it', () => {
  test.for(formats)('keeps its text and its usage: %s', async (format, { server, cli }) => {
    const body = { ...answers[format], ...usageOf[format], error };
    server.reply({ body });
    const ran = await cli(['text', 'hi', '--format', format]);
    expect(ran).toMatchObject({ code: 6, stdout: 'Hello\n' });
    expect(ran.stderr).toContain('It broke');

    server.reply({ body });
    const { stdout } = await cli(['text', 'hi', '--format', format, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      text: 'Hello',
      complete: false,
      usage: { inputTokens: 3, outputTokens: 2 },
      error: { class: 'gateway', sent: 'yes', billed: 'unknown' },
    });
  });

  test.for(formats)('leaves what was not printed in a recovery file: %s', async (format, { server, cli }) => {
    server.reply({ body: { ...answers[format], ...usageOf[format], error } });
    const ran = await cli(['text', 'hi', '--format', format, '--code']);
    expect(ran).toMatchObject({ code: 6, stdout: '' });
    const [, path = ''] = /gateway-cli recover (\S+)/.exec(ran.stderr) ?? [];
    expect(await cli(['recover', path])).toMatchObject({ code: 0, stdout: 'Hello\n' });
  });

  test.for(formats)('reaches the caller of the library: %s', async (format, { server }) => {
    server.reply({ body: { ...answers[format], ...usageOf[format], error } });
    const client = createClient({ baseUrl: server.url, format });
    const asked = client.generate({ model: 'm', prompt: 'hi' });
    await expect(asked).rejects.toMatchObject({ class: 'gateway', reply: { text: 'Hello', complete: false } });
    await client.close();
  });

  test('keeps the pieces of a list that ends with an error', async ({ server, cli }) => {
    server.reply({ body: JSON.stringify([{ ...answers.content, ...usageOf.content }, { error }]) });
    expect(await cli(['text', 'hi'])).toMatchObject({ code: 6, stdout: 'Hello\n' });
  });

  test('of which nothing came but the error is that error', async ({ server, cli }) => {
    server.reply({ body: { object: 'response', status: 'failed', output: [], usage: null, error } });
    const ran = await cli(['text', 'hi', '--format', 'responses', '--json', '--retries', '0']);
    expect(JSON.parse(ran.stdout)).toMatchObject({ error: { class: 'gateway', billed: 'no' } });
  });
});

const begun: Record<FormatName, string[]> = {
  content: [JSON.stringify({ candidates: [{ content: { parts: [{ text: 'Hello' }] }, index: 0 }] })],
  messages: [
    JSON.stringify({ type: 'message_start', message: { id: 'm', role: 'assistant', model: 'm' } }),
    JSON.stringify({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } }),
  ],
  completions: [JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content: 'Hello' } }] })],
  responses: [
    JSON.stringify({ type: 'response.created', response: { id: 'r', model: 'm' } }),
    JSON.stringify({ type: 'response.output_text.delta', delta: 'Hello' }),
  ],
};

const forms: Record<string, string> = {
  'a line `error: {…}`': `error: ${JSON.stringify(error)}\n\n`,
  'a line `error: …` of words': 'error: It broke\n\n',
  'an event whose only word is `detail`': `data: ${JSON.stringify({ detail: 'It broke' })}\n\n`,
  'an event whose `object` is `error`': `data: ${JSON.stringify({ object: 'error', message: 'It broke', code: 503 })}\n\n`,
  'a body of JSON without `data:`': JSON.stringify({ error }),
  'a body of JSON of several lines': JSON.stringify({ error }, null, 2),
};

describe.for(Object.entries(forms))('a failure inside a stream: %s (deviation 81)', ([, failure]) => {
  test.for(formats)('is told, and what came is kept: %s', async (format, { server, cli }) => {
    const events = begun[format].map((json) => `data: ${json}\n\n`).join('');
    server.reply({ headers: { 'content-type': 'text/event-stream' }, body: events + failure });
    const ran = await cli(['text', 'hi', '--stream', '--format', format]);
    expect(ran).toMatchObject({ code: 6, stdout: 'Hello\n' });
    expect(ran.stderr).toContain('It broke');
  });

  test.for(formats)('is told where nothing came before it: %s', async (format, { server, cli }) => {
    server.reply({ headers: { 'content-type': 'text/event-stream' }, body: `: ping\n\n${failure}` });
    const ran = await cli(['text', 'hi', '--stream', '--format', format]);
    expect(ran).toMatchObject({ code: 6, stdout: '' });
    expect(ran.stderr).toContain('It broke');
  });
});

test('a line of another field means nothing, nor does what follows the end', async ({ server, cli }) => {
  const end = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`;
  const body = `data: ${begun.completions[0] ?? ''}\n\nfoo: {"error":1}\n}\n\n${end}{"error":{"message":"late"}}`;
  server.reply({ headers: { 'content-type': 'text/event-stream' }, body });
  const ran = await cli(['text', 'hi', '--stream', '--format', 'completions']);
  expect(ran).toMatchObject({ code: 0, stdout: 'Hello\n', stderr: '' });
});
