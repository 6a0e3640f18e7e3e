import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startGateway } from '../../../src/gateway/testing/index.ts';
import type { Gateway, GatewayOptions } from '../../../src/gateway/testing/index.ts';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

async function start(options: GatewayOptions): Promise<Gateway> {
  const gateway = await startGateway(options);
  onTestFinished(() => gateway.stop());
  return gateway;
}

const said = (content: unknown): object => ({ model: 'm', max_tokens: 99, messages: [{ role: 'user', content }] });

async function post({ url, key }: Gateway, path: string, body: object): Promise<{ status: number; text: string }> {
  const headers = { 'content-type': 'application/json', 'x-api-key': key, 'vendor-b-version': '2023-06-01' };
  const bearer = path.startsWith('/v1/messages') ? {} : { authorization: `Bearer ${key}` };
  const reply = await fetch(url + path, {
    method: 'POST',
    headers: { ...headers, ...bearer },
    body: JSON.stringify(body),
  });
  return { status: reply.status, text: await reply.text() };
}

const asked = { contents: [{ role: 'user', parts: [{ text: 'say hello' }] }] };

test.each([
  ['/v1beta/models/any-name:generateContent', asked],
  ['/v1/messages', said('say hello')],
  ['/v1/chat/completions', said('say hello')],
  ['/v1/responses', { model: 'm', input: 'say hello' }],
])('%s is answered with the text for what its prompt says', async (path, body) => {
  const gateway = await start({ answers: { goodbye: 'Bye', hello: 'Hi there' } });
  const { status, text } = await post(gateway, path, body);
  expect(status).toBe(200);
  expect(text).toMatch(/"Hi there"/);
  expect(gateway.requests()).toMatchObject([{ method: 'POST', path, body, prompt: 'say hello', answered: true }]);
});

test('a tool call is followed by the answer to its result', async () => {
  const tool = { name: 'get_weather', input: { city: 'Rome' } };
  const gateway = await start({ answers: [{ prompt: /weather/i, turns: [{ tool }, 'It is sunny.'] }] });
  const first = await post(gateway, '/v1/messages', said('Weather in Rome?'));
  const call = { type: 'tool_use', id: 'toolu_1', ...tool };
  expect(JSON.parse(first.text)).toMatchObject({
    stop_reason: 'tool_use',
    content: [{ ...call, id: expect.any(String) as string }],
  });
  const { messages } = said('Weather in Rome?') as { messages: object[] };
  const result = { type: 'tool_result', tool_use_id: call.id, content: '25 °C' };
  const turns = [...messages, { role: 'assistant', content: [call] }, { role: 'user', content: [result] }];
  const second = await post(gateway, '/v1/messages', { ...said(''), messages: turns });
  expect(JSON.parse(second.text)).toMatchObject({ stop_reason: 'end_turn', content: [{ text: 'It is sunny.' }] });
});

test('a picture comes as its bytes', async () => {
  const dusk = readFileSync(join(import.meta.dirname, '../../fixtures/dusk.png'));
  const gateway = await start({ answers: { hello: { image: dusk } } });
  const drawn = { type: 'image_generation_call', output_format: 'png', result: dusk.toString('base64') };
  const whole = { model: 'm', input: 'hello' };
  expect(JSON.parse((await post(gateway, '/v1/responses', whole)).text)).toMatchObject({ output: [drawn] });
  const streamed = (await post(gateway, '/v1/responses', { ...whole, stream: true })).text;
  expect([...streamed.matchAll(/^event: response\.(.*)$/gm)].slice(2, 7).map(([, name]) => name)).toEqual([
    'output_item.added',
    'image_generation_call.in_progress',
    'image_generation_call.generating',
    'image_generation_call.completed',
    'output_item.done',
  ]);
  const { text } = await post(gateway, '/v1beta/models/m:generateContent', asked);
  expect(JSON.parse(text)).toMatchObject({
    candidates: [{ content: { parts: [{ inlineData: { mimeType: 'image/png', data: dusk.toString('base64') } }] } }],
  });
});

test.each([
  ['/v1beta/models/m:streamGenerateContent?alt=sse', asked],
  ['/v1/messages', { ...said('hello'), stream: true }],
  ['/v1/chat/completions', { ...said('hello'), stream: true }],
  ['/v1/responses', { model: 'm', input: 'hello', stream: true }],
])('a stream of %s has the given deltas', async (path, body) => {
  const gateway = await start({ answers: { hello: { stream: ['On', 'ce up', 1, 'on'] } } });
  const { text } = await post(gateway, path, body);
  // The events that end a text of the responses format repeat it.
  const piece = path === '/v1/responses' ? /"delta":"([^"]+)"/g : /"(?:text|content)":"([^"]+)"/g;
  const deltas = [...text.matchAll(piece)].map((match) => match[1]);
  expect(deltas).toEqual(['On', 'ce up', 'on']);
});

test('a pause of a stream is waited for', async () => {
  const gateway = await start({ answers: { hello: { stream: ['a', 150, 'b'] } } });
  const started = performance.now();
  await post(gateway, '/v1/chat/completions', { ...said('hello'), stream: true });
  expect(performance.now() - started).toBeGreaterThanOrEqual(145);
});

test('faults come first, one a request, then the answer; a reset begins again', async () => {
  const gateway = await start({ answers: { hello: 'Hi' }, faults: ['fault-503', 'fault-400'] });
  const statuses = async (): Promise<number[]> => {
    const all: number[] = [];
    for (let i = 0; i < 3; i++) all.push((await post(gateway, '/v1/messages', said('hello'))).status);
    return all;
  };
  expect(await statuses()).toEqual([503, 400, 200]);
  expect(gateway.requests().map(({ answered }) => answered)).toEqual([true, true, true]);
  await gateway.reset();
  expect(gateway.requests()).toEqual([]);
  expect(await statuses()).toEqual([503, 400, 200]);
  await gateway.reset({ answers: [{ fault: 'fault-401' }] });
  expect(await statuses()).toEqual([401, 401, 401]);
});

test('a reset to other faults keeps the answers, which begin again', async () => {
  const gateway = await start({ answers: [{ prompt: 'hello', turns: ['first', 'second'] }], faults: ['fault-400'] });
  const ask = async (): Promise<string> => {
    const { status, text } = await post(gateway, '/v1/messages', said('hello'));
    return `${status} ${/first|second/.exec(text)?.[0] ?? ''}`;
  };
  expect([await ask(), await ask(), await ask()]).toEqual(['400 ', '200 first', '200 second']);
  await gateway.reset({ faults: ['fault-503'] });
  expect([await ask(), await ask()]).toEqual(['503 ', '200 first']);
  await gateway.reset({ answers: undefined });
  expect((await post(gateway, '/v1/messages', { ...said('hello'), model: 'local-chat' })).text).toContain('offline');
});

test('a prompt that no answer matches is refused with its words, and known', async () => {
  const gateway = await start({ answers: { hello: 'Hi' } });
  const { status, text } = await post(gateway, '/v1/messages', said('something else'));
  expect({ status, text }).toEqual({ status: 404, text: expect.stringContaining("the prompt 'something else'") });
  expect(gateway.requests()).toMatchObject([{ answered: false, prompt: 'something else' }]);
});

test('tokens that are counted, models that are listed and files that are kept are answers too', async () => {
  const gateway = await start({ answers: { hello: 'Hi' } });
  await post(gateway, '/v1/messages/count_tokens', { model: 'm', messages: [{ role: 'user', content: 'what?' }] });
  await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${gateway.key}` } });
  await upload(gateway);
  expect(gateway.requests().map(({ path, answered }) => [path, answered])).toEqual([
    ['/v1/messages/count_tokens', true],
    ['/v1/models', true],
    ['/v1/files', true],
  ]);
});

/** Uploads a file for a batch. */
async function upload({ url, key }: Gateway): Promise<void> {
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', new Blob([' '.repeat(70_000)]), 'jobs.jsonl');
  const headers = { authorization: `Bearer ${key}` };
  const reply = await fetch(`${url}/v1/files`, { method: 'POST', headers, body: form });
  expect({ status: reply.status, text: await reply.text() }).toMatchObject({ status: 200 });
}

test('a gateway of recordings is not reset to answers', async () => {
  const folder = scratchFolder();
  await run(['text', 'hi', '--offline', '--record', folder]);
  const gateway = await start({ replay: folder });
  await expect(gateway.reset({ answers: { hello: 'Hi' } })).rejects.toThrow('replay cannot be combined with answers');
});

test('without answers the offline models answer', async () => {
  const gateway = await start({});
  expect((await post(gateway, '/v1/messages', { ...said('hello'), model: 'local-chat' })).text).toContain(
    'offline model',
  );
  expect(gateway.requests()).toMatchObject([{ answered: true, model: 'local-chat' }]);
});

test.each([
  [{ answers: { hello: {} } }, "the answer to 'hello' says nothing"],
  [{ answers: [{ turns: [] }] }, 'an answer has no turns'],
  [{ answers: { hello: { image: Buffer.from('no picture') } } }, "the image of the answer to 'hello' is not a picture"],
  [{ faults: ['fault-53'] }, "'fault-53' is not a fault"],
  [{ replay: 'here', faults: ['fault-503'] }, 'replay cannot be combined with answers or faults'],
  [{ replay: '/nowhere' }, 'nowhere'],
])('startGateway refuses %j before it starts', async (options, message) => {
  await expect(startGateway(options)).rejects.toMatchObject({
    class: 'usage',
    message: expect.stringContaining(message),
  });
});
