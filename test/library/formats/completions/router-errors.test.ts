import { expect, test } from 'vitest';
import { fail, openai, type Reply } from './failing.ts';

const openrouter = (raw: unknown, code = 400): object => ({
  error: { message: 'Provider returned error', code, metadata: { raw, provider_name: 'Crucible' } },
  user_id: 'user_1',
});

test.each<[string, Reply, object]>([
  [
    'OpenRouter: no endpoints for a model',
    { status: 404, body: { error: { message: 'No endpoints found for deepseek/deepseek-v3.1:free.', code: 404 } } },
    { class: 'rejected', details: { reason: 'model' } },
  ],
  [
    'OpenRouter: what the upstream said, as a text',
    { status: 429, body: openrouter('glm is temporarily rate-limited upstream. Please retry shortly.', 429) },
    {
      class: 'quota',
      message: 'the gateway answered 429: glm is temporarily rate-limited upstream. Please retry shortly.',
    },
  ],
  [
    'OpenRouter: what the upstream said, as JSON',
    {
      status: 400,
      body: openrouter('{"error":{"type":"invalid_request_error","code":"x","message":"At most 1 image per prompt."}}'),
    },
    { class: 'rejected', message: 'the gateway answered 400 (invalid_request_error): At most 1 image per prompt.' },
  ],
  [
    'OpenRouter: what the upstream said, as an object',
    { status: 502, body: openrouter({ error: { message: 'Upstream is down' } }, 502) },
    { class: 'gateway', message: 'the gateway answered 502: Upstream is down' },
  ],
  [
    'OpenRouter: nothing more',
    { status: 502, body: openrouter(null, 502) },
    { class: 'gateway', message: 'the gateway answered 502: Provider returned error' },
  ],
  [
    'OpenRouter: no credit',
    { status: 402, body: { error: { message: 'Insufficient credits', code: 402 } } },
    { class: 'quota', details: { reason: 'quota-spent', retryable: false } },
  ],
  [
    'OpenRouter: when the limit of a minute is over',
    {
      status: 429,
      headers: { date: 'Tue, 14 Nov 2023 22:13:20 GMT' },
      body: {
        error: {
          message: 'Rate limit exceeded: free-models-per-min.',
          code: 429,
          metadata: { headers: { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '1700000012000' } },
        },
      },
    },
    { class: 'quota', details: { retryAfterMs: 12_000, retryable: true } },
  ],
  [
    "OpenRouter: the day's free requests are spent",
    { status: 429, body: { error: { message: 'Rate limit exceeded: free-models-per-day', code: 429 } } },
    { class: 'quota', details: { reason: 'quota-spent', retryable: false } },
  ],
  [
    'OpenRouter: an object of the upstream that says nothing',
    { status: 502, body: openrouter({ retryable: true }, 502) },
    { class: 'gateway', message: 'the gateway answered 502: Provider returned error' },
  ],
  [
    "OpenRouter: the key's own limit",
    { status: 403, body: { error: { message: 'Key limit exceeded (total limit).', code: 403 } } },
    { class: 'quota', details: { reason: 'quota-spent', retryable: false } },
  ],
  [
    'OpenRouter: a prompt that its moderation stopped',
    {
      status: 403,
      body: {
        error: { message: 'a/b requires moderation on OpenAI. Your input was flagged for "violence".', code: 403 },
      },
    },
    { class: 'no-result', details: { reason: 'prompt' } },
  ],
  ...['No endpoints found matching your data policy.', 'No allowed providers are available for the model.'].map(
    (message): [string, Reply, object] => [
      `OpenRouter: ${message}`,
      { status: 404, body: { error: { message, code: 404 } } },
      { class: 'rejected', details: { reason: 'key-project' } },
    ],
  ),
  ...['image input', 'tool use. To learn more', 'the requested output modalities: image, text'].map(
    (lacking): [string, Reply, object] => [
      `OpenRouter: no ${lacking}`,
      { status: 404, body: { error: { message: `No endpoints found that support ${lacking}`, code: 404 } } },
      { class: 'rejected', details: { reason: 'model-lacks' } },
    ],
  ),
  ...[
    [404, 'No endpoints found that can handle the requested parameters.'],
    [400, 'Invalid content type. image_url is only supported by certain models.'],
    [400, 'Image input modality is not enabled for models/gemma-3-27b-it'],
    [400, 'This model does not support image inputs.'],
    [400, '"nomic-embed-text" does not support chat'],
    [500, 'model requires more system memory (42.0 GiB) than is available (13.1 GiB)'],
    [500, 'failed to process inputs: this model is missing data required for image input'],
  ].map(([status, message]): [string, Reply, object] => [
    `A model that is not able: ${message}`,
    { status: Number(status), body: openai({ message, type: 'api_error', code: null }) },
    { class: Number(status) < 500 ? 'rejected' : 'gateway', details: { reason: 'model-lacks', retryable: false } },
  ]),
  [
    'Ollama: a model that is not pulled',
    {
      status: 404,
      body: openai({ message: 'model "x" not found, try pulling it first', type: 'api_error', code: null }),
    },
    { class: 'rejected', details: { reason: 'model' } },
  ],
  [
    'Ollama: an error that is a text',
    { status: 404, body: { error: "model 'x' not found" } },
    { class: 'rejected', details: { reason: 'model' } },
  ],
])('%s', (_, reply, expected) => {
  expect(fail(reply)).toMatchObject(expected);
});
