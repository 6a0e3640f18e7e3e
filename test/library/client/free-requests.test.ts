import { expect, test } from 'vitest';
import { readModelPage } from '../../../src/library/client/free-requests.ts';
import { loadFormat } from '../../../src/library/formats/format.ts';
import type { JsonValue } from '../../../src/library/json.ts';

test('a page of the content format gives names as -m takes them, operations and the next page', () => {
  const page = JSON.parse(
    '{"models":[{"name":"models/gemini-2.5-flash","displayName":"Gemini 2.5 Flash","inputTokenLimit":1048576,"supportedGenerationMethods":["generateContent","countTokens"]},{"displayName":"no name"},7],"nextPageToken":"p2"}',
  );
  expect(readModelPage(page)).toEqual({
    models: [
      {
        id: 'gemini-2.5-flash',
        title: 'Gemini 2.5 Flash',
        operations: ['generateContent', 'countTokens'],
        context: 1048576,
      },
    ],
    next: 'p2',
    goesOn: true,
  });
});

test('a page of the messages format goes on while it has more', () => {
  const model = '{"type":"model","id":"claude-x","display_name":"Claude X","created_at":"2025-09-29T00:00:00Z"}';
  const read = (more: boolean) =>
    readModelPage(JSON.parse(`{"data":[${model}],"has_more":${more},"first_id":"claude-x","last_id":"claude-x"}`));
  expect(read(true)).toEqual({
    models: [{ id: 'claude-x', title: 'Claude X', operations: undefined, createdAt: '2025-09-29T00:00:00.000Z' }],
    next: 'claude-x',
    goesOn: true,
  });
  expect(read(false)).toMatchObject({ next: undefined, goesOn: false });
});

test('the list of an OpenAI-like relay is read all the same', () => {
  const page = JSON.parse('{"object":"list","data":[{"id":"m/1","name":"M One","object":"model","owned_by":"o"}]}');
  expect(readModelPage(page)).toEqual({
    models: [{ id: 'm/1', title: 'M One', operations: undefined }],
    next: undefined,
    goesOn: false,
  });
});

/** What each service says of one model in its list, and what is read of it. */
const entries: [service: string, page: object | object[], read: object][] = [
  [
    'OpenAI, of one that is shut down',
    { object: 'list', data: [{ id: 'gpt-5-mini', object: 'model', created: 1754425928, shutdown_date: '2026-12-11' }] },
    { id: 'gpt-5-mini', endsOn: '2026-12-11', createdAt: '2025-08-05T20:32:08.000Z' },
  ],
  [
    'OpenAI, of one that stays',
    { data: [{ id: 'gpt-6-luna', created: 1788220800, shutdown_date: null }] },
    { id: 'gpt-6-luna', createdAt: '2026-09-01T00:00:00.000Z' },
  ],
  [
    'Anthropic',
    {
      data: [
        {
          type: 'model',
          id: 'claude-opus-4-5',
          display_name: 'Claude Opus 4.5',
          created_at: '2025-11-24T00:00:00Z',
          lifecycle: 'deprecated',
          deprecated_at: '2026-10-01T00:00:00Z',
          retires_at: '2027-01-22T00:00:00Z',
          line: 'opus',
          max_input_tokens: 200000,
          max_tokens: 64000,
          capabilities: { image_input: { supported: true }, pdf_input: { supported: true }, batch: null },
        },
      ],
      has_more: false,
    },
    {
      id: 'claude-opus-4-5',
      title: 'Claude Opus 4.5',
      createdAt: '2025-11-24T00:00:00.000Z',
      lifecycle: 'deprecated',
      endsOn: '2027-01-22',
      line: 'opus',
      context: 200000,
      outputLimit: 64000,
      inputs: ['text', 'image', 'pdf'],
    },
  ],
  [
    'Gemini',
    { models: [{ name: 'models/gemini-3.8-flash', inputTokenLimit: 1048576, outputTokenLimit: 65536 }] },
    { id: 'gemini-3.8-flash', context: 1048576, outputLimit: 65536 },
  ],
  [
    'OpenRouter',
    {
      data: [
        {
          id: 'google/gemini-nano-banana-2.1',
          name: 'Google: Nano Banana 2.1',
          created: 1791244800,
          context_length: 65536,
          architecture: { input_modalities: ['image', 'text'], output_modalities: ['image', 'text'], modality: 'x' },
          pricing: { prompt: '0.0000003', completion: '0.0000025', input_cache_read: '0.00000003', request: '0' },
          top_provider: { context_length: 65536, max_completion_tokens: 32768, is_moderated: false },
          expiration_date: '2027-02-01',
          reasoning: { mandatory: true, default_enabled: true, supported_efforts: ['high', 'minimal', 'other'] },
        },
      ],
    },
    {
      id: 'google/gemini-nano-banana-2.1',
      title: 'Google: Nano Banana 2.1',
      createdAt: '2026-10-06T00:00:00.000Z',
      context: 65536,
      outputLimit: 32768,
      inputs: ['image', 'text'],
      outputs: ['image', 'text'],
      prices: { input: '0.3', output: '2.5', cached: '0.03' },
      endsOn: '2027-02-01',
      efforts: ['minimal', 'high'],
    },
  ],
  [
    'OpenRouter, of a router whose price is that of the model that it chooses',
    { data: [{ id: 'openrouter/auto', pricing: { prompt: '-1', completion: '-1' } }] },
    { id: 'openrouter/auto' },
  ],
  [
    'Mistral',
    {
      data: [
        {
          id: 'mistral-large-2411',
          max_context_length: 131072,
          deprecation: '2026-12-31T00:00:00Z',
          deprecation_replacement_model: 'mistral-large-latest',
          capabilities: { completion_chat: true, vision: true },
        },
      ],
    },
    {
      id: 'mistral-large-2411',
      context: 131072,
      endsOn: '2026-12-31',
      successor: 'mistral-large-latest',
      inputs: ['text', 'image'],
    },
  ],
  [
    'Together, whose list is a bare array',
    [{ id: 'black-forest-labs/FLUX.2', type: 'image', context_length: 512, pricing: { input: 0.27, output: 0.85 } }],
    { id: 'black-forest-labs/FLUX.2', context: 512, outputs: ['image'], prices: { input: '0.27', output: '0.85' } },
  ],
  [
    'vLLM',
    { object: 'list', data: [{ id: 'Qwen/Qwen4-8B', owned_by: 'vllm', root: 'Qwen/Qwen4-8B', max_model_len: 40960 }] },
    { id: 'Qwen/Qwen4-8B', context: 40960 },
  ],
  [
    "LM Studio's own",
    {
      models: [
        {
          type: 'llm',
          key: 'qwen/qwen4-8b',
          display_name: 'Qwen4 8B',
          max_context_length: 40960,
          loaded_instances: [{}],
        },
      ],
    },
    { id: 'qwen/qwen4-8b', title: 'Qwen4 8B', context: 40960, isLoaded: true },
  ],
  [
    "Ollama's own",
    { models: [{ name: 'llama3.2:latest', model: 'llama3.2:latest', modified_at: '2026-11-20T10:00:00+02:00' }] },
    { id: 'llama3.2:latest', createdAt: '2026-11-20T08:00:00.000Z' },
  ],
];

test.each(entries)('the list of %s is read', (_service, page, read) => {
  const [found, ...others] = readModelPage(page as JsonValue)?.models ?? [];
  expect(others).toEqual([]);
  expect(found).toEqual({ title: undefined, operations: undefined, ...read });
});

test('a time, a price and a limit that are none are left out', () => {
  const entry = { id: 'm', shutdown_date: 'soon', created: -1, context_length: 0, pricing: { prompt: 'free' } };
  expect(readModelPage({ data: [entry] })?.models).toEqual([{ id: 'm', title: undefined, operations: undefined }]);
});

test('an empty list may leave its key out, and any other object is not a list', () => {
  expect(readModelPage({})).toEqual({ models: [], next: undefined, goesOn: false });
  expect(readModelPage({ candidates: [] })).toBeUndefined();
  expect(readModelPage('models')).toBeUndefined();
});

test('a token is escaped in the query', async () => {
  const address = async (name: 'content' | 'messages' | 'completions', token?: string) =>
    (await loadFormat(name)).models(token);
  expect(await address('content', 'a&b=')).toEqual({
    path: '/v1beta/models',
    query: 'pageSize=1000&pageToken=a%26b%3D',
  });
  expect(await address('content')).toEqual({ path: '/v1beta/models', query: 'pageSize=1000' });
  expect(await address('messages')).toEqual({ path: '/v1/models', query: 'limit=1000' });
  expect(await address('messages', 'a&b=')).toEqual({ path: '/v1/models', query: 'limit=1000&after_id=a%26b%3D' });
  expect(await address('completions')).toEqual({ path: '/v1/models', query: '' });
});
