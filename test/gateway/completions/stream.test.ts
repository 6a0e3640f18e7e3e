import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { completion, dig, key, readChunks, startGateway, sharedGateway } from '../gateway-under-test.ts';

const gateway = sharedGateway();

async function stream(content: unknown, more: object = {}): Promise<unknown[]> {
  const { status, text, headers } = await gateway.post(
    '/v1/chat/completions',
    completion(content, { stream: true, ...more }),
  );
  expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  return readChunks(text);
}

const deltaOf = (chunk: unknown): unknown => dig(chunk, 'choices', 0, 'delta');

describe('a streamed completion', () => {
  it('is the role, the deltas, the finish reason and [DONE]', async () => {
    const chunks = await stream('hello', { max_tokens: 10 });
    const head = { id: expect.stringMatching(/^chatcmpl-/), object: 'chat.completion.chunk', model: 'local-chat' };
    const choice = (delta: object, finish_reason: string | null = null): object => ({
      ...head,
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    });
    expect(chunks).toMatchObject([
      choice({ role: 'assistant', content: '', refusal: null }),
      choice({ content: 'This is the ' }),
      choice({ content: 'offline model local-chat; ' }),
      choice({ content: 'no' }),
      choice({}, 'length'),
      '[DONE]',
    ]);
    for (const chunk of chunks) expect(chunk).not.toHaveProperty('usage');
  });

  it('has a chunk of usage where the request includes it, and null before', async () => {
    const chunks = await stream('hello', { stream_options: { include_usage: true } });
    expect(chunks.slice(0, -2).map((chunk) => dig(chunk, 'usage'))).toEqual(chunks.slice(2).map(() => null));
    expect(chunks.at(-2)).toMatchObject({
      object: 'chat.completion.chunk',
      choices: [],
      usage: { prompt_tokens: 2, completion_tokens: 42, total_tokens: 44 },
    });
  });

  it('adds up to what the same request gives without a stream', async () => {
    const deltas = (await stream('one\n\ndata: [DONE]\n\ntwo')).map((chunk) => dig(deltaOf(chunk), 'content') ?? '');
    const { json } = await gateway.post('/v1/chat/completions', completion('one\n\ndata: [DONE]\n\ntwo'));
    expect(deltas.join('')).toBe(dig(json, 'choices', 0, 'message', 'content'));
  });

  it('brings thoughts before the text', async () => {
    const names = (await stream('hello', { reasoning_effort: 'high' })).map((chunk) =>
      Object.keys(Object(deltaOf(chunk))).join(),
    );
    expect(names.filter((name, index) => name !== names[index - 1])).toEqual([
      'role,content,refusal',
      'reasoning_content',
      'content',
      '',
    ]);
  });

  it('brings a call with its name once and its arguments in pieces', async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const tools = [{ type: 'function', function: { name: 'get_weather', parameters } }];
    const chunks = await stream('the weather in Paris?', { tools });
    expect(deltaOf(chunks[0])).toEqual({ role: 'assistant', content: null, refusal: null });
    const calls = chunks.flatMap((chunk) => dig(deltaOf(chunk), 'tool_calls', 0) ?? []);
    expect(calls[0]).toEqual({
      index: 0,
      id: expect.stringMatching(/^call_/),
      type: 'function',
      function: { name: 'get_weather', arguments: '' },
    });
    expect(calls.length).toBeGreaterThan(2);
    for (const call of calls.slice(1)) expect(Object.keys(Object(call))).toEqual(['index', 'function']);
    const json = calls.map((call) => dig(call, 'function', 'arguments')).join('');
    expect(JSON.parse(json)).toEqual({ city: 'example city' });
    expect(dig(chunks.at(-2), 'choices', 0, 'finish_reason')).toBe('tool_calls');
  });

  it('brings each choice with its index, and pictures whole', async () => {
    const chunks = await stream('a boat', { model: 'local-image', n: 2, image_config: { image_size: '512' } });
    const indexes = chunks.map((chunk) => dig(chunk, 'choices', 0, 'index'));
    expect([...new Set(indexes)]).toEqual([0, 1, undefined]);
    const urls = chunks.flatMap((chunk) => dig(deltaOf(chunk), 'images', 0, 'image_url', 'url') ?? []);
    expect(urls).toEqual([expect.stringMatching(/^data:image\/png;/), expect.stringMatching(/^data:image\/png;/)]);
  });

  it('a streamed completion with a pace arrives before it is whole', async () => {
    const slow = await startGateway({ pace: 600_000 });
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
    const sent = request(`${slow.url}/v1/chat/completions`, { method: 'POST', headers });
    sent.end(JSON.stringify(completion('hello', { stream: true })));
    const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream];
    const [first] = (await once(response, 'data')) as [Buffer];
    expect(String(first)).toMatch(/^data: .*"role":"assistant"/);
    sent.destroy();
    await slow.close(0);
  });
});
