import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startGateway } from '../../../../src/gateway/testing/index.ts';
import { jsonLines } from '../../../helpers/json-lines.ts';
import { run } from '../../../helpers/run.ts';
import { eventStream, messageEvents, textReply } from '../../../helpers/with-server.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { createPause, type ScriptedServer, startScriptedServer } from '../../../helpers/scripted-server.ts';
import { startServe, writeConfig } from '../../../library/recordings/served.ts';

const key = 'canary-7f3a9c51-secret';
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** The text of a reply costs 0.000023. */
const prices = { m: { input: '1', output: '10' } };
const contentPath = '/v1beta/models/m:generateContent';
const hello = { contents: [{ parts: [{ text: 'hi' }] }], generationConfig: { maxOutputTokens: 100 } };
const message = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] };

interface Line {
  type: string;
  amount?: string;
  unknown?: true;
}

async function place(more: object = {}) {
  const server = await startScriptedServer();
  onTestFinished(() => server.close());
  const cwd = scratchFolder();
  const config = writeConfig(cwd, { work: { baseUrl: server.url, apiKey: key, prices, ...more } });
  const lines = () => jsonLines<Line>(readFileSync(join(cwd, 'team.jsonl'), 'utf8'));
  const kinds = () =>
    lines().map(({ type, unknown, amount }) => (unknown ? 'unknown' : type === 'spent' ? amount : type));
  return { server, cwd, config, lines, kinds };
}

type Served = Awaited<ReturnType<typeof startServe>>;

async function ask(served: Served, path: string, body: object | string, method = 'POST') {
  const reply = await fetch(served.url + path, {
    method,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${served.key}`,
      'vendor-b-version': '2023-06-01',
    },
    ...(method === 'POST' && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await reply.text();
  return { status: reply.status, headers: reply.headers, text };
}

const upstream = (amount: string, ...more: string[]) => [
  '--upstream',
  'work',
  '--budget',
  `./team.jsonl:${amount}`,
  ...more,
];

/** A reply of 3 tokens of input and 2 of output, in each format, whole and streamed. */
const replies: [string, string, object, (server: ScriptedServer) => void, string][] = [
  ['content', contentPath, hello, (server) => server.reply({ body: textReply('a') }), '0.000023'],
  [
    'content, streamed',
    '/v1beta/models/m:streamGenerateContent?alt=sse',
    hello,
    (server) => server.reply({ chunks: [`data: ${JSON.stringify(textReply('a'))}\n\n`] }),
    '0.000023',
  ],
  [
    'messages, streamed',
    '/v1/messages',
    { ...message, stream: true },
    (server) => server.reply({ chunks: [eventStream(...messageEvents('a', 'b'))] }),
    '0.000024',
  ],
  [
    'completions',
    '/v1/chat/completions',
    message,
    (server) =>
      server.reply({
        body: {
          model: 'm',
          choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
        },
      }),
    '0.000023',
  ],
  [
    'responses, streamed',
    '/v1/responses',
    { model: 'm', input: 'hi', max_output_tokens: 100, stream: true },
    (server) => {
      const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };
      const response = { id: 'r', object: 'response', model: 'm', status: 'completed', output: [], usage };
      server.reply({ chunks: [`data: ${JSON.stringify({ type: 'response.completed', response })}\n\n`] });
    },
    '0.000023',
  ],
];

test.each(replies)(
  'serve --upstream pays for each request from the budget: %s',
  async (_name, path, body, reply, cost) => {
    const { server, kinds, lines, ...start } = await place();
    const served = await startServe(upstream('1', '--tag', 'team=docs'), start);
    reply(server);
    expect(await ask(served, path, body)).toMatchObject({ status: 200 });
    await served.stop();
    expect(kinds()).toEqual(['budget', 'limit', 'reserved', cost]);
    expect(lines()[2]).toMatchObject({ command: 'serve', model: 'm', tags: { team: 'docs' } });
  },
);

test('a request that could pass the budget is answered with 402 in its format, and nothing is sent', async () => {
  const { server: _server, kinds: _kinds, lines: _lines, ...start } = await place();
  const served = await startServe(upstream('0.0001'), start);
  const asked = [await ask(served, contentPath, hello), await ask(served, '/v1/messages', message)];
  expect(asked.map(({ status, headers }) => [status, headers.get('x-should-retry')])).toEqual([
    [402, 'false'],
    [402, 'false'],
  ]);
  const words = 'the next request could pass the budget ./team.jsonl: 0 of 0.0001 USD are spent';
  expect(JSON.parse(asked[0]?.text ?? '')).toMatchObject({ error: { code: 402, message: words } });
  expect(JSON.parse(asked[1]?.text ?? '')).toMatchObject({ error: { type: 'billing_error', message: words } });
});

test('a refused request costs nothing, and one that may have been billed its highest possible cost', async () => {
  const { server, kinds, lines: _lines, ...start } = await place();
  const served = await startServe(upstream('1'), start);
  for (const status of [429, 400, 500]) {
    server.reply({ status, body: {} });
    expect(await ask(served, contentPath, hello)).toMatchObject({ status });
  }
  await served.stop();
  expect(kinds().slice(2)).toEqual(['reserved', 'freed', 'reserved', 'freed', 'reserved', 'unknown']);
});

test('free requests are passed on, and requests whose cost cannot be counted are refused', async () => {
  const { server, kinds: _kinds, lines: _lines, ...start } = await place();
  const served = await startServe(upstream('1'), start);
  server.reply({ body: { data: [] } });
  server.reply({ body: { totalTokens: 3 } });
  expect(await ask(served, '/v1/models', '', 'GET')).toMatchObject({ status: 200 });
  expect(await ask(served, '/v1beta/models/m:countTokens', hello)).toMatchObject({ status: 200 });
  for (const path of ['/v1/responses/input_tokens', '/v1/responses/resp_1/cancel']) {
    server.reply({ body: {} });
    expect(await ask(served, path, { model: 'm', input: 'hi' })).toMatchObject({ status: 200 });
  }
  for (const path of ['/v1/embeddings', '/v1beta/models/m:batchGenerateContent', '/v1/messages/batches']) {
    const { status, text } = await ask(served, path, {});
    expect([status, text]).toEqual([402, expect.stringContaining('cannot be counted in the budget ./team.jsonl')]);
  }
  const { status, text } = await ask(served, '/v1/messages', { ...message, model: 'other' });
  expect([status, text]).toEqual([402, expect.stringContaining('the model other has no price')]);
});

test('the budget is that of the profile or of GATEWAY_BUDGET, and a served command pays nothing once more', async () => {
  const { server, kinds, lines: _lines, ...start } = await place({ budget: './team.jsonl:1' });
  server.reply({ body: textReply('a') });
  const argv = [
    'serve',
    '--upstream',
    'work',
    '--',
    process.execPath,
    '-e',
    'process.exit(process.env.GATEWAY_BUDGET === "none" ? 7 : 0)',
  ];
  const env = { GATEWAY_CONFIG: start.config };
  expect((await run(argv, { cwd: start.cwd, env })).code).toBe(7);
  const served = await startServe(['--upstream', 'work'], start);
  await ask(served, contentPath, hello);
  expect(served.env).toMatchObject({ GATEWAY_BUDGET: 'none' });
  await served.stop();
  expect(kinds().slice(2)).toEqual(['reserved', '0.000023']);
});

test('a command that is served by local models pays from no budget', async () => {
  const script = 'process.exit(process.env.GATEWAY_BUDGET === "none" ? 7 : 0)';
  const env = { GATEWAY_BUDGET: 'team:1' };
  expect((await run(['serve', '--', process.execPath, '-e', script], { env })).code).toBe(7);
  const gateway = await startGateway();
  onTestFinished(() => gateway.stop());
  expect(gateway.env).toMatchObject({ GATEWAY_BUDGET: 'none' });
});

test('GATEWAY_BUDGET=none turns a budget off', async () => {
  const { server, kinds: _kinds, lines, ...start } = await place({ budget: './team.jsonl:1', models: { text: 'm' } });
  server.reply({ body: textReply('a') });
  const env = { GATEWAY_CONFIG: start.config, GATEWAY_BUDGET: 'none' };
  expect((await run(['text', 'hi', '--profile', 'work'], { cwd: start.cwd, env })).code).toBe(0);
  expect(lines).toThrow('ENOENT');
});

test('serve takes --budget only with --upstream', async () => {
  const ran = await run(['serve', '--budget', 'team:1']);
  expect(ran).toMatchObject({ code: 2 });
  expect(ran.stderr).toContain('--budget limits what --upstream passes on');
});

test('a caller that leaves in the middle of a stream has spent the highest possible cost', async () => {
  const { server, kinds, lines: _lines, ...start } = await place();
  const served = await startServe(upstream('1'), start);
  const pause = createPause();
  const first = eventStream(...messageEvents('a').slice(0, 3));
  server.reply({ chunks: [first, pause.until, eventStream(...messageEvents('a').slice(3))] });
  const leave = new AbortController();
  const reply = await fetch(`${served.url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': served.key, 'vendor-b-version': '2023-06-01' },
    body: JSON.stringify({ ...message, stream: true }),
    signal: leave.signal,
  });
  await reply.body?.getReader().read();
  leave.abort();
  await served.stop();
  pause.release();
  expect(kinds().slice(2)).toEqual(['reserved', 'unknown']);
});

test('an answer from a cache costs nothing', async () => {
  const { server, kinds, lines: _lines, ...start } = await place();
  const served = await startServe(upstream('1', '--record', 'kept', '--replay', 'kept'), start);
  server.reply({ body: textReply('a') });
  for (let n = 0; n < 2; n++) expect(await ask(served, contentPath, hello)).toMatchObject({ status: 200 });
  await served.stop();
  expect(kinds().slice(2)).toEqual(['reserved', '0.000023', 'saved']);
});

test('a form is paid for by its images', async () => {
  const { server, kinds, lines, ...start } = await place({ prices: { m: { input: '1', image: '0.04' } } });
  const served = await startServe(upstream('1'), start);
  server.reply({
    body: { data: [{ b64_json: pixel }, { b64_json: pixel }], usage: { input_tokens: 3, output_tokens: 2 } },
  });
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: 'm', n: '2', prompt: 'hi' })) form.set(name, value);
  form.set('image', new Blob([Buffer.from(pixel, 'base64')], { type: 'image/png' }), 'a.png');
  const headers = { authorization: `Bearer ${served.key}` };
  const reply = await fetch(`${served.url}/v1/images/edits`, { method: 'POST', headers, body: form });
  expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining('b64_json')]);
  await served.stop();
  expect(lines()[2]).toMatchObject({ type: 'reserved', amount: '0.080033' });
  expect(kinds()[3]).toBe('0.080003');
});
