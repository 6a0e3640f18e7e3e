import { describe, expect, test } from 'vitest';
import { readErrorBody } from '../../../../src/library/formats/error-body.ts';
import { resetDelayMs } from '../../../../src/library/formats/retry-delay.ts';
import { findErrorInReply } from '../../../../src/library/formats/format.ts';
import { fail, openai, type Reply } from './failing.ts';

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
      { class: 'rejected', details: { reason: 'other-field', value: 'max_completion_tokens' } },
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
    ...['Number of input tokens has exceeded your per-minute rate limit', 'Limit of the context size 32k'].map(
      (message): [string, Reply, object] => [
        `a limit of a minute that is used up: ${message}`,
        { status: 429, body: openai({ message, type: 'rate_limit_error' }) },
        { class: 'quota', details: { retryable: true } },
      ],
    ),
    ...[429, 413].map((status): [string, Reply, object] => [
      `OpenAI and Groq: more tokens than those of a minute, with ${status}, which waiting does not mend`,
      {
        status,
        body: openai({
          message: 'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 50012.',
          type: 'tokens',
          code: 'rate_limit_exceeded',
        }),
      },
      { class: 'rejected', details: { reason: 'context-window', retryable: false } },
    ]),
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
        details: { reason: 'prompt', retryable: false },
      },
    ],
    [
      'Azure: a prompt that its filter stopped',
      { status: 400, body: openai({ message: 'The response was filtered', code: 'content_filter', status: 400 }) },
      { class: 'no-result' },
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
  [
    {
      date: 'Tue, 27 Jan 2026 12:00:00 GMT',
      'anthropic-ratelimit-requests-remaining': '3',
      'anthropic-ratelimit-requests-reset': '2026-01-27T12:10:00Z',
      'anthropic-ratelimit-input-tokens-remaining': '0',
      'anthropic-ratelimit-input-tokens-reset': '2026-01-27T12:00:09Z',
    },
    9000,
  ],
  [{ 'anthropic-ratelimit-requests-reset': '2026-01-27T12:10:00Z' }, undefined],
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
