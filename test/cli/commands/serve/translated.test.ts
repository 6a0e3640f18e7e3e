import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { serviceRules } from '../../../../src/gateway/service.ts';
import { completion, dig, key, message, responseTo, startGateway, turn } from '../../../gateway/gateway-under-test.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { startServe, writeConfig } from '../../../library/recordings/served.ts';

type Service = 'gemini' | 'anthropic' | 'openai';

/** A `serve` in front of another gateway, which stands for a service and knows its format alone. */
async function serveAs(service: Service, flags: readonly string[] = [], more: object = {}) {
  const asked: string[] = [];
  const rules = serviceRules[service];
  const upstream = await startGateway({ rules, log: ({ path, status }) => void asked.push(`${path} ${status}`) });
  onTestFinished(() => upstream.close(0));
  const cwd = scratchFolder();
  const profile = { service, baseUrl: upstream.url, apiKey: key, models: { text: 'local-chat' }, ...more };
  const config = writeConfig(cwd, { up: profile });
  const served = await startServe(['--upstream', 'up', ...flags], { cwd, config });
  return { served, asked, cwd, config };
}

async function post(served: { url: string; key: string }, path: string, body: object) {
  const headers = { 'content-type': 'application/json', 'x-api-key': served.key, 'anthropic-version': '2023-06-01' };
  const reply = await fetch(served.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await reply.text();
  return { status: reply.status, text, json: text.startsWith('{') ? (JSON.parse(text) as unknown) : undefined };
}

const content = '/v1beta/models/local-chat';
const callers: [path: string, body: object, isStream: boolean][] = [
  [`${content}:generateContent`, turn('hello there'), false],
  [`${content}:streamGenerateContent?alt=sse`, turn('hello there'), true],
  ['/v1/messages', message('hello there'), false],
  ['/v1/messages', message('hello there', { stream: true }), true],
  ['/v1/chat/completions', completion('hello there'), false],
  ['/v1/chat/completions', completion('hello there', { stream: true }), true],
  ['/v1/responses', responseTo('hello there'), false],
  ['/v1/responses', responseTo('hello there', { stream: true }), true],
];
const paths = { gemini: `${content}:`, anthropic: '/v1/messages', openai: '/v1/' };

test.each(['gemini', 'anthropic', 'openai'] as const)(
  'serve --upstream answers callers of every format by %s, in its own format alone',
  async (service) => {
    const { served, asked } = await serveAs(service);
    for (const [path, body, isStream] of callers) {
      const { status, text } = await post(served, path, body);
      expect([status, text.includes('data: ')], `${path}: ${text}`).toEqual([200, isStream]);
      expect(text.replaceAll(/[^a-z]/gi, '')).toContain('Thisis');
    }
    await expect.poll(() => asked.length).toBe(callers.length);
    for (const line of asked)
      expect([line.startsWith(paths[service]), line.endsWith('200')], line).toEqual([true, true]);
    await served.stop();
  },
);

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const called = { id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } };
const turns = [
  { role: 'system', content: 'be brief' },
  { role: 'user', content: 'first' },
  { role: 'assistant', content: null, tool_calls: [called] },
  { role: 'tool', tool_call_id: 'c1', content: 'much rain' },
];
const tools = [{ type: 'function', function: { name: 'get_weather', parameters: schema } }];

test.each(['gemini', 'anthropic'] as const)(
  'a conversation with tools goes to %s, and a call comes back',
  async (service) => {
    const { served } = await serveAs(service);
    const path = '/v1/chat/completions';
    const answered = await post(served, path, { model: 'local-chat', messages: turns, tools });
    expect(dig(answered.json, 'choices', 0, 'message', 'content')).toMatch(
      /“be brief”.*get_weather returned “.*much rain/,
    );
    const forced = { messages: [{ role: 'user', content: 'x' }], tool_choice: 'required' };
    const { json } = await post(served, path, { model: 'local-chat', ...forced, tools });
    expect(json).toMatchObject({
      choices: [
        {
          finish_reason: 'tool_calls',
          message: { tool_calls: [{ type: 'function', function: { name: 'get_weather' } }] },
        },
      ],
      usage: { prompt_tokens: expect.any(Number) },
    });
    await served.stop();
  },
);

test('what the service refuses, and what its format cannot say, is told in the shape of the request', async () => {
  const { served, asked } = await serveAs('anthropic');
  const unknown = await post(served, '/v1/chat/completions', completion('hi', { model: 'x' }));
  expect([unknown.status, dig(unknown.json, 'error', 'message')]).toEqual([404, expect.stringContaining('model: x')]);
  const two = await post(served, '/v1/chat/completions', completion('hi', { n: 2 }));
  expect([two.status, dig(two.json, 'error', 'message')]).toEqual([400, expect.stringContaining('candidates')]);
  const none = await post(served, '/v1/chat/completions', { model: 'local-chat' });
  expect([none.status, dig(none.json, 'error', 'param')]).toEqual([400, 'messages']);
  expect(asked).toEqual(['/v1/messages 404']);
  await served.stop();
});

test.each([
  ['safety', 'anthropic', { safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }] }],
  ['cachedContent', 'openai', { cachedContent: 'cachedContents/7' }],
  ['search', 'openai', { tools: [{ googleSearch: {} }] }],
] as const)('%s of a request is refused where the format of %s has no place for it', async (field, service, more) => {
  const { served, asked } = await serveAs(service, [], { format: service === 'openai' ? 'completions' : 'messages' });
  const refused = await post(served, `${content}:generateContent`, turn('hi', more));
  expect([refused.status, dig(refused.json, 'error', 'message')]).toEqual([400, expect.stringContaining(field)]);
  expect(asked).toEqual([]);
  await served.stop();
});

test('a request that was translated is recorded, and answered from the recording', async () => {
  const { served, cwd, config, asked } = await serveAs('gemini', ['--record', 'kept']);
  const first = await post(served, '/v1/chat/completions', completion('hi'));
  await served.stop();
  const replaying = await startServe(['--replay', join(cwd, 'kept')], { cwd, config });
  const again = await post(replaying, '/v1/chat/completions', completion('hi'));
  expect([again.status, again.json]).toEqual([200, first.json]);
  expect(asked).toHaveLength(1);
  await replaying.stop();
});

test('a gateway gets the requests of all formats as they are', async () => {
  const { served, asked } = await serveAs('openai', [], { service: 'gateway' });
  expect((await post(served, '/v1/chat/completions', completion('hi'))).status).toBe(200);
  expect((await post(served, '/v1/messages', message('hi'))).status).toBe(404);
  expect(asked).toEqual(['/v1/chat/completions 200', '/v1/messages 404']);
  await served.stop();
});

test('a translated request counts in the budget, and one that could pass it is not sent', async () => {
  const prices = { 'local-chat': { input: 1000, output: 1000 } };
  const { served, asked, cwd } = await serveAs('gemini', ['--budget', './ledger.jsonl:1'], { prices });
  const path = '/v1/chat/completions';
  const bounded = completion('hi', { max_tokens: 20 });
  expect((await post(served, path, bounded)).status).toBe(200);
  const refused = await post(served, path, completion('hi', { max_tokens: 100_000 }));
  expect([refused.status, dig(refused.json, 'error', 'type')]).toEqual([402, 'insufficient_quota']);
  expect(asked).toHaveLength(1);
  await served.stop();
  const ledger = readFileSync(join(cwd, 'ledger.jsonl'), 'utf8');
  expect(ledger).toContain('local-chat');
});
