import { describe, expect, test } from 'vitest';
import { chooseHint } from '../../../src/library/reasons.ts';
import type { GatewayError } from '../../../src/library/errors.ts';
import { readFailedReply } from '../../../src/library/formats/failure.ts';
import type { FailedReply } from '../../../src/library/formats/failure.ts';

const error = (value: object) => JSON.stringify({ error: { message: 'm', ...value } });

function failing(reply: Partial<FailedReply>): GatewayError {
  return readFailedReply({ status: 400, headers: {}, body: '', format: 'content', ...reply });
}

describe('the hint of a failure', () => {
  test.each<[string, Partial<FailedReply>, string]>([
    ['401 without words', { status: 401 }, 'check the key (GATEWAY_API_KEY); gateway-cli doctor --live'],
    ['an invalid key', { body: error({ details: [{ reason: 'API_KEY_INVALID' }] }) }, 'GATEWAY_API_KEY'],
    ['404', { status: 404 }, 'check --model and --base-url'],
    [
      '404 for a model of the content format',
      {
        status: 404,
        body: error({ code: 404, status: 'NOT_FOUND', message: 'models/x is not found for API version v1beta' }),
      },
      'check --model: the gateway does not offer it',
    ],
    [
      '404 for a model of the messages format',
      { status: 404, body: '{"type":"error","error":{"type":"not_found_error","message":"model: x"}}' },
      'check --model: the gateway does not offer it',
    ],
    [
      '404 in the shape of the messages format',
      { status: 404, body: '{"type":"error","error":{"type":"not_found_error","message":"Not found"}}' },
      'this looks like the messages format: add --format messages',
    ],
    [
      "404 with the page of Google's hosts",
      { status: 404, format: 'messages', body: '<title>Error 404 (Not Found)!!1</title>' },
      'this looks like the content format: add --format content',
    ],
    ['413', { status: 413 }, 'smaller or fewer images'],
    [
      'sides too long by code',
      {
        status: 400,
        body: error({ details: { error_code: 'image_dimensions_too_large', max_side_length_pixels: 2000 } }),
      },
      'make the picture smaller',
    ],
    [
      'sides too long in words',
      {
        status: 400,
        body: error({ message: 'At least one of the image dimensions exceed max allowed size: 8000 pixels' }),
      },
      "magick <file> -resize '2000x2000>'",
    ],
    ['429', { status: 429 }, '--retries 5 --retry-max-time 5m'],
    ['a spent quota', { status: 429, body: error({ type: 'insufficient_quota' }) }, "the account's plan"],
    ['402', { status: 402 }, "the account's plan"],
    ['500', { status: 500 }, '--retries 5 --retry-max-time 5m'],
    [
      '503 for a model that is not offered (deviation 21)',
      { status: 503, body: error({ code: 'model_not_found' }) },
      'check --model',
    ],
    [
      '503 for a model without a channel (deviation 21)',
      { status: 503, body: error({ message: '模型 X 无可用渠道' }) },
      'check --model',
    ],
    [
      'an overload inside a 200, which is not retried',
      { status: 200, body: error({ code: 503, status: 'UNAVAILABLE' }) },
      'run the same command again later',
    ],
    [
      'a rate limit inside a 200',
      { status: 200, body: error({ code: 429, status: 'RESOURCE_EXHAUSTED' }) },
      'run the same command again later',
    ],
    ['a spent quota inside a 200', { status: 200, body: error({ type: 'insufficient_quota' }) }, "the account's plan"],
    ['a body that is no reply', { status: 200, body: '<html>' }, 'check --base-url and --model; --raw'],
    [
      'an unknown field of the content format (formats 1)',
      {
        body: error({
          message: `Invalid JSON payload received. Unknown name "aspectRatio" at 'generation_config': Cannot find field.`,
        }),
      },
      "the field 'aspectRatio'",
    ],
    [
      'an unknown field of the messages format',
      { body: error({ message: 'metadata.colour: Extra inputs are not permitted' }) },
      "the field 'metadata.colour'",
    ],
    [
      'a field violation',
      { body: error({ details: [{ fieldViolations: [{ field: 'contents[0].role' }] }] }) },
      "the field 'contents[0].role': leave that field out",
    ],
    [
      'a field that a flag sets',
      { body: error({ details: [{ fieldViolations: [{ field: 'generation_config.stop_sequences[0]' }] }] }) },
      'change --stop, or leave it out',
    ],
    [
      'a field of the content format that a flag sets',
      { body: error({ message: `Unknown name "imageSize" at 'generation_config.image_config': Cannot find field.` }) },
      'change --size, or leave it out',
    ],
    [
      'a field that a model of Anthropic no longer takes',
      { body: error({ message: 'temperature is deprecated for this model.' }) },
      'change --temperature, or leave it out',
    ],
    [
      'two fields that exclude each other',
      { body: error({ message: '`temperature` and `top_p` cannot both be specified for this model.' }) },
      'change --temperature, or leave it out',
    ],
    [
      'tools that a model of Ollama does not take',
      { body: error({ message: 'registry.ollama.ai/library/gemma3:4b does not support tools' }) },
      'change --tools, or leave it out',
    ],
    [
      'what a model of Google does not take',
      { body: error({ message: 'Developer instruction is not enabled for models/gemma-3-27b-it' }) },
      'change --system, or leave it out',
    ],
    ...[
      ['OpenAI', "This model's maximum context length is 128000 tokens."],
      ['OpenAI (newer)', 'Your input exceeds the context window of this model. Please adjust your input.'],
      ['Anthropic', 'prompt is too long: 210000 tokens > 200000 maximum'],
      [
        'Anthropic (with the answer)',
        'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again',
      ],
      [
        'OpenRouter',
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens",
      ],
      ['Google', 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'],
      ['llama.cpp', 'the request exceeds the available context size, try increasing it'],
    ].map(([who, message]): [string, Partial<FailedReply>, string] => [
      `a prompt that is too long, in the words of ${who}`,
      { body: error({ message }) },
      'send a shorter prompt',
    ]),
    ...[
      [
        'OpenAI',
        'max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.',
      ],
      [
        'Anthropic',
        'max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku',
      ],
      [
        'vLLM',
        "'max_tokens' or 'max_completion_tokens' is too large: 100000. This model's maximum context length is 4096 tokens",
      ],
      [
        'Google',
        'Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive).',
      ],
    ].map(([who, message]): [string, Partial<FailedReply>, string] => [
      `a limit of tokens that is too large, in the words of ${who}`,
      { body: error({ message }) },
      'change --max-tokens, or leave it out',
    ]),
    [
      'pictures alone, in the words of OpenRouter',
      {
        status: 404,
        body: error({ message: 'No endpoints found that support the requested output modalities: image, text' }),
      },
      `if the model answers only with pictures: --set 'modalities=["image"]'\nelse name another with -m; to see`,
    ],
    [
      'a name that is none of a model, in the words of OpenRouter',
      { body: error({ code: 400, message: 'x/y is not a valid model ID' }) },
      'check --model: the gateway does not offer it',
    ],
    ['a request that is refused for a reason of its own', { body: error({}) }, 'add --dry-run to see the request'],
  ])('after %s says what to type next, and names no flag before the command line does', (_, reply, expected) => {
    expect(chooseHint(failing(reply))).toContain(expected);
    expect(chooseHint(failing(reply), 'library') ?? '').not.toMatch(/(?:^|\s)--?[a-z]/);
  });

  test('stays short however long the name of a field is', () => {
    const refused = failing({ body: error({ message: `Unknown name "${'x'.repeat(10_000)}"` }) });
    expect(chooseHint(refused)?.length).toBeLessThan(140);
  });
});

test('the hint of a 429 names more retries than there were', () => {
  expect(chooseHint(failing({ status: 429 }).withDetails({ value: 12 }))).toContain(
    '--retries 24 --retry-max-time 12m',
  );
});
