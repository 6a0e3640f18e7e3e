import { describe, expect, test } from 'vitest';
import { readErrorBody } from '../../../src/formats/error-body.ts';
import { failureOf } from '../../../src/formats/failure.ts';
import { resetDelayMs } from '../../../src/formats/retry-delay.ts';
import { findErrorInReply } from '../../../src/formats/format.ts';

interface Reply {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

function fail({ status, body, headers = {} }: Reply): ReturnType<typeof failureOf> {
  return failureOf({ status, headers, body: JSON.stringify(body), format: 'completions' });
}

const openai = (error: object): object => ({ error: { param: null, ...error } });
const openrouter = (raw: unknown, code = 400): object => ({
  error: { message: 'Provider returned error', code, metadata: { raw, provider_name: 'Crucible' } },
  user_id: 'user_1',
});

describe('says what a service means with', () => {
  test.each<[string, Reply, object]>([
    [
      'OpenAI: a wrong key',
      {
        status: 401,
        body: openai({
          message: 'Incorrect API key provided: sk-x.',
          type: 'invalid_request_error',
          code: 'invalid_api_key',
        }),
      },
      { class: 'auth' },
    ],
    [
      'OpenAI: no credit, which waiting does not mend',
      {
        status: 429,
        body: openai({
          message: 'You exceeded your current quota.',
          type: 'insufficient_quota',
          code: 'insufficient_quota',
        }),
      },
      { class: 'quota', details: { reason: 'quota-spent', retryable: false } },
    ],
    ...['for deepseek/deepseek-chat-v3.1:free.'].map((what): [string, Reply, object] => [
      `OpenRouter: no endpoints ${what}`,
      { status: 404, body: { error: { message: `No endpoints found ${what}`, code: 404 }, user_id: 'user_1' } },
      { class: 'rejected', details: { reason: 'model' } },
    ]),
    [
      'OpenAI: too many requests',
      {
        status: 429,
        headers: { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1m20s' },
        body: openai({ message: 'Rate limit reached', type: 'requests', code: 'rate_limit_exceeded' }),
      },
      { class: 'quota', details: { retryable: true, retryAfterMs: 80_000 } },
    ],
    [
      'OpenAI: a parameter that the model lacks',
      {
        status: 400,
        body: openai({
          message: "Unsupported parameter: 'max_tokens' is not supported with this model.",
          type: 'invalid_request_error',
          param: 'max_tokens',
          code: 'unsupported_parameter',
        }),
      },
      { class: 'rejected', details: { reason: 'field', value: 'max_tokens' } },
    ],
    [
      'OpenAI: a value that the model lacks',
      {
        status: 400,
        body: openai({
          message: "Unsupported value: 'temperature' does not support 0.2 with this model.",
          type: 'invalid_request_error',
          param: 'temperature',
          code: 'unsupported_value',
        }),
      },
      { class: 'rejected', details: { reason: 'field', value: 'temperature' } },
    ],
    [
      'OpenAI: too long a prompt, whose parameter is not refused',
      {
        status: 400,
        body: openai({ message: 'maximum context length', param: 'messages', code: 'context_length_exceeded' }),
      },
      { class: 'rejected', details: { reason: 'context-window' } },
    ],
    [
      'OpenAI: no such model',
      {
        status: 404,
        body: openai({
          message: 'The model `x` does not exist',
          type: 'invalid_request_error',
          code: 'model_not_found',
        }),
      },
      { class: 'rejected', details: { reason: 'model' } },
    ],
    [
      'OpenAI: a picture that its moderation stopped',
      {
        status: 400,
        body: openai({
          message: 'Your request was rejected by the safety system.',
          type: 'image_generation_user_error',
          code: 'moderation_blocked',
        }),
      },
      {
        class: 'no-result',
        billed: 'unknown',
        details: { hint: 'change the prompt, or try another model', retryable: false },
      },
    ],
    [
      'Azure: a prompt that its filter stopped',
      { status: 400, body: openai({ message: 'The response was filtered', code: 'content_filter', status: 400 }) },
      { class: 'no-result' },
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
        body: openrouter(
          '{"error":{"type":"invalid_request_error","code":"x","message":"At most 1 image per prompt."}}',
        ),
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
      { class: 'no-result', details: { hint: 'change the prompt, or try another model' } },
    ],
    ...['No endpoints found matching your data policy.', 'No allowed providers are available for the model.'].map(
      (message): [string, Reply, object] => [
        `OpenRouter: ${message}`,
        { status: 404, body: { error: { message, code: 404 } } },
        { class: 'rejected', details: { hint: expect.stringContaining("in the vendor's console") } },
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
      [400, '"nomic-embed-text" does not support chat'],
      [500, 'model requires more system memory (42.0 GiB) than is available (13.1 GiB)'],
      [500, 'failed to process inputs: this model is missing data required for image input'],
    ].map(([status, message]): [string, Reply, object] => [
      `Ollama: ${message}`,
      { status: Number(status), body: openai({ message, type: 'api_error', code: null }) },
      { class: status === 400 ? 'rejected' : 'gateway', details: { reason: 'model-lacks', retryable: false } },
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
    [
      'vLLM',
      {
        status: 404,
        body: {
          object: 'error',
          message: 'The model `x` does not exist.',
          type: 'NotFoundError',
          param: null,
          code: 404,
        },
      },
      {
        class: 'rejected',
        message: 'the gateway answered 404 (NotFoundError): The model `x` does not exist.',
        details: { reason: 'model' },
      },
    ],
    [
      'LM Studio: an unknown path, with status 200',
      { status: 200, body: { error: 'Unexpected endpoint or method. (POST /chat/completions)' } },
      {
        class: 'gateway',
        message: 'the gateway answered 200 with an error: Unexpected endpoint or method. (POST /chat/completions)',
      },
    ],
    [
      'Mistral: a field that it does not know',
      {
        status: 422,
        body: {
          object: 'error',
          message: { detail: [{ loc: ['body', 'seed'], msg: 'Extra inputs are not permitted' }] },
        },
      },
      { class: 'rejected', message: 'the gateway answered 422: body.seed: Extra inputs are not permitted' },
    ],
  ])('%s', (_, reply, expected) => {
    expect(fail(reply)).toMatchObject(expected);
  });
});

test.each<[Record<string, string>, number | undefined]>([
  [{}, undefined],
  [{ 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '6m0s' }, 360_000],
  [{ 'x-ratelimit-reset-requests': '17ms' }, 17],
  [
    {
      'x-ratelimit-remaining-requests': '9',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '2m59.56s',
    },
    179_560,
  ],
  [
    {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '3s',
    },
    3000,
  ],
  [{ 'x-ratelimit-remaining-tokens': '-1', 'x-ratelimit-reset-tokens': '0' }, undefined],
  [{ 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': 'soon' }, undefined],
])('reads how long a limit lasts from %j: %s ms', (headers, expected) => {
  expect(resetDelayMs(headers)).toBe(expected);
});

test('finds no error in a reply that has candidates, unless it has one', () => {
  const choices = [{ message: { content: 'a' } }];
  expect(findErrorInReply({ choices, message: 'success', code: 0 })).toBeUndefined();
  expect(findErrorInReply({ choices, error: { message: 'x' } })).toMatchObject({ message: 'x' });
  expect(findErrorInReply({ choices: [], error: 'x' })).toMatchObject({ message: 'x' });
  expect(readErrorBody('{"choices":[],"error":"x"}')).toMatchObject({ message: 'x' });
});
