import { imageSize } from 'image-size';
import { describe, expect, it } from 'vitest';
import { completion, dig, dotPng, key, sharedGateway } from '../gateway-under-test.ts';

const gateway = sharedGateway();

const path = '/v1/chat/completions';

async function ask(content: unknown, more: object = {}): Promise<unknown> {
  const { status, json } = await gateway.post(path, completion(content, more));
  expect([status, json]).toEqual([200, json]);
  return json;
}

const messageOf = (json: unknown): unknown => dig(json, 'choices', 0, 'message');
const textOf = (json: unknown): string => String(dig(messageOf(json), 'content'));

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

describe('a chat completion', () => {
  it('has every field of a reply and says that it is offline', async () => {
    expect(await ask('hello')).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f]{24}$/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'local-chat',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: expect.stringMatching(/offline model local-chat.*“hello”/),
            refusal: null,
            annotations: [],
          },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: expect.objectContaining({ prompt_tokens: 2, completion_tokens: 42, total_tokens: 44 }),
      service_tier: 'default',
      system_fingerprint: null,
    });
  });

  it('is the same for the same request, and has an id of the request in a header', async () => {
    expect(await ask('hello')).toEqual(await ask('hello'));
    const { headers } = await gateway.post(path, completion('hello'));
    expect(headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/);
  });

  it.each(['/chat/completions', '/chat/completions?a=b', '/v1/chat/completions'])(
    'is answered at %s',
    async (address) => {
      expect((await gateway.post(address, completion('hi'))).status).toBe(200);
    },
  );

  it('has as many choices as n says, each with a text of its own', async () => {
    const json = await ask('hello', { n: 3 });
    const choices = dig(json, 'choices') as { index: number; message: { content: string } }[];
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(new Set(choices.map(({ message }) => message.content)).size).toBeGreaterThan(1);
  });

  it.each(['max_tokens', 'max_completion_tokens'])('obeys %s', async (name) => {
    expect(await ask('hello', { [name]: 2 })).toMatchObject({
      choices: [{ message: { content: 'This is ' }, finish_reason: 'length' }],
      usage: { completion_tokens: 2 },
    });
  });

  it.each([[' offline'], [['nowhere', ' offline']]])('stops at %j', async (stop) => {
    expect(await ask('hello', { stop })).toMatchObject({
      choices: [{ message: { content: 'This is the' }, finish_reason: 'stop' }],
    });
  });

  it('reads system and developer messages, earlier turns and parts', async () => {
    const messages = [
      { role: 'system', content: 'be brief' },
      { role: 'developer', content: [{ type: 'text', text: 'be kind' }] },
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'yes?' },
      { role: 'user', content: [{ type: 'text', text: 'second' }] },
    ];
    expect(textOf(await ask('', { messages }))).toMatch(/“be brief\nbe kind”.*turn 2.*“first”.*“second”/s);
  });

  it('reads pictures and files that the message holds, and leaves addresses alone', async () => {
    const parts = [
      { type: 'text', text: 'look' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${dotPng}`, detail: 'low' } },
      { type: 'image_url', image_url: { url: 'https://example.invalid/a.png' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${btoa('%PDF-1.7 ')}` } },
    ];
    const text = textOf(await ask(parts));
    expect(text).toContain('image/png (70 bytes)');
    expect(text).toContain('application/pdf (9 bytes)');
    expect(text.match(/With it came/g)).toHaveLength(2);
  });

  it('thinks where it is asked to, and counts it', async () => {
    const json = await ask('hello', { reasoning_effort: 'low' });
    expect(dig(messageOf(json), 'reasoning_content')).toContain('does not think');
    expect(dig(json, 'usage', 'completion_tokens_details', 'reasoning_tokens')).toBeGreaterThan(0);
    expect(messageOf(await ask('hello', { reasoning_effort: 'none' }))).not.toHaveProperty('reasoning_content');
  });

  it('fits a JSON Schema, or is any JSON', async () => {
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
    const strict = { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } };
    expect(JSON.parse(textOf(await ask('hello', { response_format: strict })))).toEqual({ ok: false });
    expect(JSON.parse(textOf(await ask('json', { response_format: { type: 'json_object' } })))).toMatchObject({
      offline: true,
    });
    expect(textOf(await ask('hello', { response_format: { type: 'text' } }))).toMatch(/^This is/);
  });

  it.each([
    ['flex', 'flex'],
    ['auto', 'default'],
  ])('names the service tier: of %s it is %s', async (asked, tier) => {
    expect(await ask('hello', { service_tier: asked })).toMatchObject({ service_tier: tier });
  });
});

describe('tools', () => {
  const named = { type: 'function', function: { name: 'get_weather' } };
  const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named] } };
  const rows: [name: string, prompt: string, choice: unknown, called: boolean][] = [
    ['auto calls what the prompt names', 'the weather in Paris?', undefined, true],
    ['auto calls nothing else', 'hello', 'auto', false],
    ['required calls in any case', 'hello', 'required', true],
    ['a named function is called', 'hello', named, true],
    ['an allowed function is called', 'hello', allowed, true],
    ['none never calls', 'the weather in Paris?', 'none', false],
  ];
  it.each(rows)('%s', async (_, prompt, choice, called) => {
    const json = await ask(prompt, { tools: [weather], ...(choice !== undefined && { tool_choice: choice }) });
    expect(dig(json, 'choices', 0, 'finish_reason')).toBe(called ? 'tool_calls' : 'stop');
    expect(dig(messageOf(json), 'content') === null).toBe(called);
  });

  it('a call has an id, a name and arguments as JSON text; its result is answered in words', async () => {
    const json = await ask('the weather in Paris?', { tools: [weather] });
    const call = {
      id: expect.stringMatching(/^call_/),
      type: 'function',
      function: { name: 'get_weather', arguments: '{"city":"example city"}' },
    };
    expect(dig(messageOf(json), 'tool_calls')).toEqual([call]);
    const messages = [
      { role: 'user', content: 'the weather in Paris?' },
      messageOf(json),
      { role: 'tool', tool_call_id: dig(messageOf(json), 'tool_calls', 0, 'id'), content: 'clear sky' },
    ];
    const answer = await ask('', { tools: [weather], messages });
    expect(textOf(answer)).toContain('The tool get_weather returned “clear sky”');
    expect(dig(answer, 'choices', 0, 'finish_reason')).toBe('stop');
  });

  it('calls of several choices have ids of their own', async () => {
    const json = await ask('x', { tools: [weather], tool_choice: 'required', n: 2 });
    const ids = [0, 1].map((index) => dig(json, 'choices', index, 'message', 'tool_calls', 0, 'id'));
    expect(new Set(ids).size).toBe(2);
  });
});

describe('pictures in a chat', () => {
  it('come with words, in the asked ratio', async () => {
    const more = { modalities: ['image', 'text'], image_config: { aspect_ratio: '16:9', image_size: '512' } };
    const json = await ask('a boat', { model: 'gpt-4o', ...more });
    expect(json).toMatchObject({ model: 'local-image', choices: [{ finish_reason: 'stop' }] });
    expect(textOf(json)).toContain('680×384');
    expect(pictureSize(json)).toMatchObject({ type: 'png', width: 680, height: 384 });
  });

  it('come without words where only a picture is asked for', async () => {
    const json = await ask('a boat', { model: 'local-image', modalities: ['image'] });
    expect(dig(messageOf(json), 'content')).toBe('');
    expect(pictureSize(json)).toMatchObject({ width: 1024, height: 1024 });
  });

  it('are edits of the picture in the message', async () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${dotPng}` } };
    const parts = [{ type: 'text', text: 'make it blue' }, image];
    const json = await ask(parts, { model: 'google/gemini-2.5-flash-image', modalities: ['image', 'text'] });
    expect(json).toMatchObject({ model: 'local-edit' });
    expect(pictureSize(json)).toMatchObject({ width: 1, height: 1 });
  });

  function pictureSize(json: unknown): object {
    const url = String(dig(messageOf(json), 'images', 0, 'image_url', 'url'));
    expect(url).toMatch(/^data:image\/png;base64,/);
    return imageSize(Buffer.from(url.slice(url.indexOf(',') + 1), 'base64'));
  }
});

describe('the list of models', () => {
  const get = async (address: string, headers: Record<string, string>): Promise<unknown> =>
    (await fetch(gateway.url + address, { headers })).json();
  const bearer = { authorization: `Bearer ${key}` };
  const model = (id: string): object => ({ id, object: 'model', created: expect.any(Number), owned_by: 'gateway-cli' });

  it.each(['/v1/models', '/models'])('has the shape of the format at %s only for a bearer token', async (address) => {
    const data = ['text', 'chat', 'image', 'edit'].map((use) => model(`local-${use}`));
    expect(await get(address, bearer)).toEqual({ object: 'list', data });
  });

  it('has that of the messages format for a bearer token with a version', async () => {
    const json = await get('/v1/models', { ...bearer, 'anthropic-version': '2026-10-21' });
    expect(json).toMatchObject({ first_id: 'local-text', has_more: false });
  });

  it('has single models, and those of vendors', async () => {
    expect(await get('/v1/models/local-image', bearer)).toEqual(model('local-image'));
    expect(await get('/v1/models/gpt-5', bearer)).toEqual(model('gpt-5'));
    expect(await get('/v1/models/nope', bearer)).toMatchObject({ error: { code: 'model_not_found' } });
  });
});
