import { describe, expect, it } from 'vitest';
import type { LogEntry } from '../../src/gateway/types.ts';
import { dig, dotPng, imageOf, key, message, turn, sharedGateway } from './gateway-under-test.ts';

const log: LogEntry[] = [];
const gateway = sharedGateway({ log: (entry) => void log.push(entry) });
const offline = sharedGateway({ refuseUnknown: true });

async function get(path: string, headers: Record<string, string>): Promise<unknown> {
  const response = await fetch(gateway.url + path, { headers });
  expect(response.status).toBe(200);
  return response.json();
}

describe('lists of models', () => {
  it('come in the shape of the content format', async () => {
    const { models } = (await get('/v1beta/models?pageSize=50', { 'x-goog-api-key': key })) as { models: object[] };
    expect(models.map((model) => dig(model, 'name'))).toEqual(
      ['text', 'chat', 'image', 'edit'].map((use) => `models/local-${use}`),
    );
    expect(models[0]).toMatchObject({
      inputTokenLimit: expect.any(Number),
      outputTokenLimit: expect.any(Number),
      supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
    });
    expect(await get('/v1beta/models/local-image', { 'x-goog-api-key': key })).toEqual(models[2]);
  });

  it('come in the shape of the messages format, without the models that draw', async () => {
    const list = await get('/v1/models?limit=20', { 'x-api-key': key });
    const model = (id: string): object => ({
      type: 'model',
      id,
      display_name: expect.any(String),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
    expect(list).toEqual({
      data: [model('local-text'), model('local-chat')],
      has_more: false,
      first_id: 'local-text',
      last_id: 'local-chat',
    });
    expect(await get('/v1/models/local-chat', { 'x-api-key': key })).toEqual(model('local-chat'));
    expect(await get('/v1/models/claude-x', { 'x-api-key': key })).toEqual(model('claude-x'));
  });

  it('at the path of both formats come in the shape that the key is of', async () => {
    for (const [path, headers] of [
      [`/v1/models?key=${key}`, {}],
      ['/v1/models', { 'x-goog-api-key': key }],
    ] as const)
      expect(await get(path, headers)).toHaveProperty('models');
  });

  it('lists of models need the key', async () => {
    const { status } = await fetch(`${gateway.url}/v1/models`);
    expect(status).toBe(401);
  });
});

describe('counts of tokens', () => {
  it('counts of tokens are those of the reply, in the content format', async () => {
    const body = turn('a long question', { systemInstruction: { parts: [{ text: 'be brief' }] } });
    const model = '/v1beta/models/local-text';
    const reply = await gateway.post(`${model}:generateContent`, body);
    const counted = await gateway.post(`${model}:countTokens`, body);
    const tokens = dig(reply.json, 'usageMetadata', 'promptTokenCount');
    expect(counted.json).toEqual({
      totalTokens: tokens,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: tokens }],
    });
    const wrapped = { generateContentRequest: { model: 'models/local-text', ...body } };
    expect((await gateway.post(`${model}:countTokens`, wrapped)).json).toEqual(counted.json);
    expect((await gateway.post(`${model}:countTokens`, { contents: [] })).status).toBe(400);
  });

  it('counts of tokens are those of the reply, in the messages format, and need no max_tokens', async () => {
    const body = message('a long question', { system: 'be brief', thinking: { type: 'enabled', budget_tokens: 5000 } });
    const { input_tokens } = dig((await gateway.post('/v1/messages', { ...body, max_tokens: 9000 })).json, 'usage') as {
      input_tokens: number;
    };
    const asked: object = { ...body, max_tokens: undefined };
    expect(await gateway.post('/v1/messages/count_tokens', asked)).toMatchObject({
      status: 200,
      json: { input_tokens },
    });
    expect((await gateway.post('/v1/messages/count_tokens', { ...asked, messages: [] })).status).toBe(400);
  });
});

describe("a vendor's model", () => {
  const path = (model: string, action = 'generateContent'): string => `/v1beta/models/${model}:${action}`;
  const picture = { inlineData: { mimeType: 'image/png', data: dotPng } };
  const edit = { contents: [{ role: 'user', parts: [{ text: 'invert' }, picture] }] };
  const draw = { generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } };

  const rows: [asked: string, body: object, model: string][] = [
    ['gemini-2.5-flash', turn('hi'), 'local-text'],
    ['gemini-2.5-flash', edit, 'local-text'],
    ['gemini-2.5-flash', turn('a boat', draw), 'local-image'],
    ['gemini-2.5-flash', { ...edit, ...draw }, 'local-edit'],
    ['gemini-2.5-flash-image', turn('a boat'), 'local-image'],
    ['gemini-2.5-flash-image-preview', edit, 'local-edit'],
    ['gemma-3-27b-it', turn('hi'), 'local-text'],
  ];
  it.each(rows)('%s is answered by the local model of the use, which the log names', async (asked, body, model) => {
    const count = log.length;
    const { status, json } = await gateway.post(path(asked), body);
    expect([status, dig(json, 'modelVersion')]).toEqual([200, model]);
    expect(imageOf(json).bytes.length > 20).toBe(/image|edit/.test(model));
    await expect.poll(() => log.slice(count)).toMatchObject([{ model, note: `${asked} is answered by ${model}` }]);
  });

  it.each([
    'nano-banana',
    'nano-banana-2',
    'gemini-nano-banana-2.1',
    'google/gemini-nano-banana-2.1',
    'gemini-3-pro-image',
    'gemini-3.1-flash-image-preview',
    'gpt-image-1',
    'gpt-image-2.6-flare',
    'openai/gpt-image-2',
    'chatgpt-image-latest',
    'imagen-4.0-generate-001',
    'imagen4',
    'dall-e-3',
    'flux',
    'flux-1.1-pro',
    'flux.2-max',
    'black-forest-labs/flux.2-pro',
    'bytedance-seed/seedream-4.5',
    'grok-2-image-1212',
    'qwen-image',
    'stable-diffusion-3.5',
  ])('%s draws, for it is the name of a model of pictures', async (model) => {
    const size = { imageConfig: { imageSize: '512' } };
    const drawn = await gateway.post(path(encodeURIComponent(model)), turn('a boat', { generationConfig: size }));
    expect(imageOf(drawn.json).bytes.length).toBeGreaterThan(100);
    const asked = { model, messages: [{ role: 'user', content: 'a boat' }], image_config: { image_size: '512' } };
    const chat = await gateway.post('/v1/chat/completions', asked);
    expect(dig(chat.json, 'choices', 0, 'message', 'images', 0, 'image_url', 'url')).toMatch(/^data:image/);
    const made = await gateway.post('/v1/images/generations', { model, prompt: 'a boat', size: '64x64' });
    expect([made.status, dig(made.json, 'data', 0, 'b64_json')]).toEqual([200, expect.any(String)]);
  });

  it.each(['gpt-5', 'gemini-3-pro', 'claude-opus-5'])('%s writes', async (model) => {
    const asked = { model, messages: [{ role: 'user', content: 'a boat' }] };
    const { json } = await gateway.post('/v1/chat/completions', asked);
    expect(dig(json, 'choices', 0, 'message', 'content')).toContain('“a boat”');
  });

  it.each([
    ['gemini-3-pro-preview', true],
    ['gemini-3.1-flash', true],
    ['gemini-4-flash', true],
    ['gemini-flash-latest', true],
    ['gemini-2.5-pro', false],
  ])('%s signs its calls: %s', async (model, signs) => {
    const body = turn('get the weather', { tools: [{ functionDeclarations: [{ name: 'get_weather' }] }] });
    for (const action of ['generateContent', 'streamGenerateContent']) {
      const { json } = await gateway.post(path(model, action), body);
      const reply = Array.isArray(json) ? json[0] : json;
      const part = dig(reply, 'candidates', 0, 'content', 'parts', 0);
      expect(dig(part, 'functionCall', 'name')).toBe('get_weather');
      expect(dig(part, 'thoughtSignature')).toEqual(signs ? expect.stringMatching(/^[\w+/]+=*$/) : undefined);
    }
  });

  it('streams and is counted too', async () => {
    const streamed = await gateway.post(path('gemini-2.5-pro', 'streamGenerateContent?alt=sse'), turn('hi'));
    expect(streamed.text).toMatch(/^data: .*local-text/);
    expect((await gateway.post(path('gemini-2.5-pro', 'countTokens'), turn('hi'))).status).toBe(200);
  });

  it('in the messages format is answered by local-chat', async () => {
    const count = log.length;
    const { status, json } = await gateway.post('/v1/messages', message('hi', { model: 'claude-sonnet-4-5' }));
    expect([status, dig(json, 'model')]).toEqual([200, 'local-chat']);
    const note = 'claude-sonnet-4-5 is answered by local-chat';
    await expect.poll(() => log.slice(count)).toMatchObject([{ model: 'local-chat', note }]);
  });

  it('is not found by --offline, whose log is not read', async () => {
    expect((await offline.post(path('gemini-2.5-flash'), turn('hi'))).status).toBe(404);
    const reply = await offline.post('/v1/messages', message('hi', { model: 'claude-9' }));
    expect(reply).toMatchObject({ status: 404, json: { error: { type: 'not_found_error' } } });
  });
});
