import { describe, expect, test } from 'vitest';
import { hintOf } from '../../src/advice.ts';
import type { GatewayError } from '../../src/errors.ts';
import { failureOf } from '../../src/formats/failure.ts';
import type { FailedReply } from '../../src/formats/failure.ts';

const error = (value: object) => JSON.stringify({ error: { message: 'm', ...value } });

function failing(reply: Partial<FailedReply>): GatewayError {
  return failureOf({ status: 400, headers: {}, body: '', format: 'content', ...reply });
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
    ['429', { status: 429 }, '--retries 5 --retry-max-time 5m'],
    ['a spent quota', { status: 429, body: error({ type: 'insufficient_quota' }) }, "the account's plan"],
    ['402', { status: 402 }, "the account's plan"],
    ['500', { status: 500 }, '--retries 5 --retry-max-time 5m'],
    [
      '503 for a model that is not offered (wire 6 #21)',
      { status: 503, body: error({ code: 'model_not_found' }) },
      'check --model',
    ],
    [
      '503 for a model without a channel (wire 6 #21)',
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
    ['a redirect', { status: 302 }, "set the base URL to the gateway's own address"],
    ['a body that is no reply', { status: 200, body: '<html>' }, 'check --base-url and --model; --raw'],
    [
      'an unknown field of the content format (wire 1)',
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
    [
      'a name that is none of a model, in the words of OpenRouter',
      { body: error({ code: 400, message: 'x/y is not a valid model ID' }) },
      'check --model: the gateway does not offer it',
    ],
    ['a request that is refused for a reason of its own', { body: error({}) }, 'add --dry-run to see the request'],
  ])('after %s says what to type next, and names no flag before the command line does', (_, reply, expected) => {
    expect(hintOf(failing(reply))).toContain(expected);
    expect(failing(reply).details.hint ?? '').not.toMatch(/(?:^|\s)--?[a-z]/);
  });

  test('stays short however long the name of a field is', () => {
    const refused = failing({ body: error({ message: `Unknown name "${'x'.repeat(10_000)}"` }) });
    expect(hintOf(refused)?.length).toBeLessThan(140);
    expect(refused.details.hint?.length).toBeLessThan(140);
  });
});

test('the hint of a 429 names more retries than there were', () => {
  expect(hintOf(failing({ status: 429 }).but({ value: 12 }))).toContain('--retries 24 --retry-max-time 12m');
});
