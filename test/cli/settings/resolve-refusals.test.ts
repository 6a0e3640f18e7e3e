import { describe, expect, test } from 'vitest';
import { GatewayError } from '../../../src/library/errors.ts';
import { firstServiceNames, services } from '../../../src/library/vendors/services.ts';
import { load, noConfig, path, resolve, type Start } from './start.ts';

const env = { GATEWAY_BASE_URL: 'https://env.example', GATEWAY_MODEL: 'env-model', GATEWAY_IMAGE_MODEL: 'env-image' };
const keys = firstServiceNames.flatMap((name) => services[name].keyVariables[0] ?? []);
const twoProfiles = load({ work: {}, home: {} });

function failureOf(start: Start): GatewayError {
  try {
    resolve(start);
  } catch (error) {
    if (error instanceof GatewayError) return error;
  }
  throw new Error('resolved');
}

describe('resolveSettings refuses', () => {
  test.each([
    ['no base URL', { env: { GATEWAY_MODEL: 'm' } }, 'no base URL is set', 'GATEWAY_BASE_URL'],
    ['no model', { env: { GATEWAY_BASE_URL: 'https://x' } }, 'no model is set', 'GATEWAY_MODEL'],
    ['no model of a gateway', { env: { GATEWAY_BASE_URL: 'https://x' } }, 'no model is set', ': gateway-cli models\n'],
    [
      'no model beside the key of a vendor',
      { flags: { baseUrl: 'https://x' }, env: { OPENAI_API_KEY: 'k' } },
      'no model is set',
      "if a vendor's service answers there, name it: --service openai, whose key is in OPENAI_API_KEY\nset --model",
    ],
    [
      'no model of a service without a default',
      { flags: { service: 'ollama' } },
      'no model is set',
      'to see which there are: gateway-cli models --service ollama\n',
    ],
    [
      'no model of a gateway that flags name',
      { flags: { profile: 'work', baseUrl: 'https://x/a b', auth: 'bearer', allowHttp: true }, config: twoProfiles },
      'no model is set',
      ": gateway-cli models --profile work --base-url 'https://x/a b' --auth bearer --allow-http\n",
    ],
    [
      'no model of a URL with a password, which is not repeated',
      { flags: { baseUrl: 'https://me:canary@x' } },
      'no model is set',
      ': gateway-cli models --base-url <url>\n',
    ],
    [
      'no model for images',
      { env: { GATEWAY_BASE_URL: 'https://x', GATEWAY_MODEL: 'm' }, use: 'image' },
      'no image model is set',
      'GATEWAY_MODEL is for text; images have a model of their own\nset --model <model> or GATEWAY_IMAGE_MODEL',
    ],
    ['neither', {}, 'no base URL and no model is set', "gateway-cli text --offline 'Hello'"],
    [
      'neither, where a key is enough',
      {},
      'no base URL and no model is set',
      `set the key of a service: ${keys.slice(0, -1).join(', ')} or ${keys.at(-1)}\nor use Ollama, which needs none: --service ollama\nor your gateway: --base-url <url> (GATEWAY_BASE_URL) and --model <model> (GATEWAY_MODEL), or a profile`,
    ],
    [
      'neither beside the only key, in a profile of a gateway',
      {
        env: { OPENAI_API_KEY: 'k' },
        config: { ...noConfig, config: { profiles: { default: { service: 'gateway' } } } },
      },
      'no base URL and no model is set',
      'name the service: --service openai, whose key is in OPENAI_API_KEY\n',
    ],
    [
      'no base URL beside two keys',
      { env: { GATEWAY_MODEL: 'm', GOOGLE_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' }, use: 'chat' },
      'the keys of several services are set: GOOGLE_API_KEY, ANTHROPIC_API_KEY',
      'name the service:\ngateway-cli chat --service gemini\ngateway-cli chat --service anthropic\n',
    ],
    [
      'images beside the only key, whose service makes none',
      { env: { ANTHROPIC_API_KEY: 'k' }, use: 'image' },
      'Anthropic (service anthropic, environment ANTHROPIC_API_KEY) cannot make images',
      '--service gemini, or --service openai',
    ],
    [
      'no base URL where no profile is in use',
      { env: { GATEWAY_MODEL: 'm' }, config: twoProfiles },
      'no base URL is set',
      'choose a profile (--profile): there are: work, home\nor set the key of a service: GEMINI_API_KEY, ',
    ],
    [
      'no base URL in the profile that is in use',
      { env: { GATEWAY_MODEL: 'm', GATEWAY_PROFILE: 'work' }, config: twoProfiles },
      'no base URL is set',
      `a profile in ${path}`,
    ],
    [
      'neither for images',
      { use: 'image' },
      'no base URL and no image model is set',
      'gateway-cli image gen --offline',
    ],
    [
      'an unknown profile',
      { flags: { profile: 'wrok' }, config: twoProfiles },
      'there are: work, home',
      'did you mean --profile work?',
    ],
    [
      'a profile where the config has none',
      { flags: { profile: 'work' }, config: load({}) },
      'there are none yet',
      'make it: gateway-cli config init --profile work',
    ],
    [
      'a profile without a config',
      { env: { GATEWAY_PROFILE: 'work' } },
      `no profile "work" (environment GATEWAY_PROFILE): there is no ${path}`,
      'make it: gateway-cli config init --profile work',
    ],
    [
      'a profile of the prototype',
      { flags: { profile: '__proto__' }, config: twoProfiles },
      'no profile "__proto__"',
      'make it: gateway-cli config init --profile <name>',
    ],
    ['an empty flag', { env, flags: { model: '' } }, '--model is empty', '--model'],
    [
      'a base URL without scheme',
      { env: { ...env, GATEWAY_BASE_URL: 'localhost:80' } },
      'environment GATEWAY_BASE_URL: not a URL',
      'https://',
    ],
    ['another form', { env: { ...env, GATEWAY_AUTH: 'basic' } }, 'environment GATEWAY_AUTH: must be one of', ''],
    [
      'a bad timeout',
      { env: { ...env, GATEWAY_TIMEOUT: 'x' } },
      'environment GATEWAY_TIMEOUT is not a duration',
      '90s',
    ],
    ['three header names', { env, flags: { headerNames: 'a,b,c' } }, 'flag --header-names: must be', 'x-goog-api-key'],
    ['no header name', { env, flags: { headerNames: ',' } }, 'flag --header-names: must be', 'x-goog-api-key'],
    [
      'a bad header name',
      { env, flags: { headerNames: 'a b' } },
      'flag --header-names: "a b" is not a header name',
      'x-goog-api-key,anthropic-version',
    ],
    [
      'a base URL that is none',
      { env: { ...env, GATEWAY_BASE_URL: 'http://' } },
      'environment GATEWAY_BASE_URL: not a URL',
      'https://',
    ],
    ['no token', { env, flags: { maxTokens: 0 } }, "--max-tokens takes a whole number from 1, not '0'", ''],
    [
      'more tokens than can be',
      { env, flags: { maxTokens: 1.5 } },
      "--max-tokens takes a whole number from 1, not '1.5'",
      '',
    ],
    ['half a token', { env, flags: { maxTokens: 0.5 } }, "--max-tokens takes a whole number from 1, not '0.5'", ''],
  ] as const)('%s', (_name, input, message, hint) => {
    const error = failureOf(input);
    expect(error.class).toBe('usage');
    expect(error.message).toContain(message);
    expect(error.details.hint ?? '').toContain(hint);
  });

  test('and the hint names only what is missing', () => {
    expect(failureOf({ env: { GATEWAY_BASE_URL: 'https://x' } }).details.hint).not.toContain('GATEWAY_BASE_URL');
    expect(failureOf({ env: { GATEWAY_MODEL: 'm' } }).details.hint).not.toContain('GATEWAY_MODEL');
  });

  test('a base URL without quoting it: it may hold a password', () => {
    const { message } = failureOf({ env, flags: { baseUrl: 'user:sk-canary@host' } });
    expect(message).toContain('not a URL');
    expect(message).not.toContain('canary');
  });
});
