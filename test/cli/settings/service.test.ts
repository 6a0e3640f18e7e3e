import { describe, expect, test } from 'vitest';
import { readKey } from '../../../src/cli/settings/key.ts';
import type { Settings } from '../../../src/cli/settings/types.ts';
import type { Use } from '../../../src/library/vendors/services.ts';
import { load, resolve as resolveStart, type Start as CommonStart, withSources } from './start.ts';

const google = 'https://generativelanguage.googleapis.com';

interface Start extends Omit<CommonStart, 'config'> {
  profiles?: object;
  profile?: string;
}

function resolve({ flags = {}, profiles = {}, profile, ...start }: Start): Settings {
  return resolveStart({ ...start, flags: { model: 'm', ...flags }, config: load(profiles, profile) });
}

const noEffects = {
  readFile: () => Promise.reject(new Error('no file is read')),
  readStdin: () => Promise.reject(new Error('stdin is not read')),
};
const keyOf = async (start: Start) => (await readKey(resolve(start).key, noEffects)).reveal();

describe('the service', () => {
  test('named by the flag gives base URL, headers and the variable of its key', async () => {
    const start = { flags: { service: 'gemini' }, env: { GEMINI_API_KEY: 'g-key' } };
    expect(withSources(resolve(start))).toMatchObject({
      service: { value: 'gemini', from: 'flag --service' },
      baseUrl: { value: google, from: 'service gemini' },
      auth: { value: 'api-key', from: 'service gemini' },
      headerNames: { apiKey: { value: 'x-goog-api-key' }, version: { value: 'anthropic-version' } },
    });
    expect(await keyOf(start)).toBe('g-key');
  });

  test.each<[string, Start, string]>([
    ['the flag', { flags: { service: 'gemini' }, env: { GATEWAY_SERVICE: 'anthropic' } }, 'gemini'],
    ['the variable', { env: { GATEWAY_SERVICE: 'gemini' } }, 'gemini'],
    ['the profile', { profiles: { default: { service: 'gemini' } } }, 'gemini'],
    ['the host of the base URL', { flags: { baseUrl: `${google}/v1beta` } }, 'gemini'],
    ['the host of the URL of the profile', { profiles: { default: { baseUrl: google } } }, 'gemini'],
    ['nobody', { flags: { baseUrl: 'https://gateway.example' } }, 'gateway'],
    ['a host that only looks alike', { flags: { baseUrl: `${google}.evil.example` } }, 'gateway'],
    ['the host, but without TLS', { flags: { baseUrl: google.replace('https', 'http') } }, 'gateway'],
  ])('is chosen by %s', (_, start, service) => {
    expect(resolve(start).service).toBe(service);
  });

  test.each<[Use, string, string]>([
    ['text', 'GEMINI_API_KEY', 'name it: --service gemini, whose key is in GEMINI_API_KEY\nelse set GATEWAY_API_KEY'],
    ['chat', 'ANTHROPIC_API_KEY', 'name it: --service anthropic, whose key is in ANTHROPIC_API_KEY\nelse set GATEWAY_'],
  ])('has to be named for the key of a vendor to go to this machine: %s', (use, variable, hint) => {
    const at = (baseUrl: string) => resolve({ flags: { baseUrl }, env: { [variable]: 'k' }, use }).key;
    expect(at('http://127.0.0.1:1')).toMatchObject({ kind: 'missing', hint: expect.stringContaining(hint) as string });
    expect(at('https://gateway.example')).toMatchObject({ hint: expect.not.stringContaining(variable) as string });
  });

  test.each<[Use, string, boolean]>([
    ['text', 'http://127.0.0.1:1', true],
    ['chat', 'http://localhost:1', true],
    ['image', 'http://127.0.0.1:1', false],
    ['text', 'https://gateway.example', false],
  ])('may be that of a server on this machine, which needs no key: %s at %s: %s', (use, baseUrl, isTold) => {
    const { key } = resolve({ flags: { baseUrl }, use });
    const local =
      "if a server with OpenAI's format answers there, such as llama.cpp, vLLM or LM Studio: --service openai";
    const general =
      'set GATEWAY_API_KEY, or give --api-key-file <path> (- reads stdin), or type: gateway-cli config set apiKey -';
    expect(key).toEqual({
      kind: 'missing',
      reason: 'no API key is set',
      hint: isTold ? `${general}\n${local}` : general,
    });
  });

  test('whose key is missing names its variable, and where a key is made', () => {
    expect(resolve({ flags: { service: 'anthropic' }, use: 'chat' }).key).toEqual({
      kind: 'missing',
      reason: 'no API key of anthropic is set',
      hint: expect.stringMatching(/^set ANTHROPIC_API_KEY; you make a key at https:\/\/\S+$/) as unknown,
    });
  });

  test('keeps the names and forms that the user sets', () => {
    const flags = { service: 'gemini', baseUrl: 'http://127.0.0.1:1', headerNames: 'x-own', auth: 'bearer' };
    expect(withSources(resolve({ flags }))).toMatchObject({
      headerNames: { apiKey: { value: 'x-own' }, version: { value: 'anthropic-version' } },
      auth: { value: 'bearer', from: 'flag --auth' },
    });
  });

  test('vendors means the real names of both headers', () => {
    const flags = { baseUrl: 'https://gateway.example', headerNames: 'vendors' };
    expect(withSources(resolve({ flags }))['headerNames']).toMatchObject({
      apiKey: { value: 'x-goog-api-key' },
      version: { value: 'anthropic-version' },
    });
  });

  test('a profile of another service is not used unless it was named', () => {
    const profiles = { work: { baseUrl: 'https://work.example', models: { text: 'w' }, apiKey: 'w-key' } };
    const flags = { service: 'gemini', model: undefined };
    expect(withSources(resolve({ flags, profiles, profile: 'work' }))['model']).toMatchObject({
      from: 'service gemini',
    });
    const asked = resolve({ flags: { ...flags, profile: 'work' }, profiles });
    expect(asked).toMatchObject({ baseUrl: 'https://work.example', model: 'w' });
  });

  test.each<[string, Start, string]>([
    ['an unknown name', { flags: { service: 'gemni' } }, 'did you mean gemini?'],
    ['another service at its host', { flags: { service: 'anthropic', baseUrl: google } }, 'leave one of them out'],
    ['pictures at Anthropic', { flags: { service: 'anthropic' }, use: 'image' }, '--service gemini'],
    [
      'images with the profile of Anthropic in use',
      { profiles: { g: { service: 'gemini' }, c: { service: 'anthropic' } }, profile: 'c', use: 'image' },
      'gateway-cli config use g --for image',
    ],
    [
      'images with a profile of Anthropic that was named',
      { flags: { profile: 'c' }, profiles: { g: { service: 'gemini' }, c: { service: 'anthropic' } }, use: 'image' },
      '--service gemini',
    ],
    ['images at Anthropic, which has others,', { flags: { service: 'anthropic' }, use: 'image' }, 'has: text, chat'],
  ])('%s is refused, and the hint says what to take', (_, start, hint) => {
    expect(() => resolve(start)).toThrow(
      expect.objectContaining({
        class: 'usage',
        details: expect.objectContaining({ hint: expect.stringContaining(hint) }),
      }),
    );
  });

  test('offline every command has its model, whatever service is set', () => {
    const env = { GATEWAY_SERVICE: 'gemini' };
    expect(resolve({ flags: { offline: true }, env, use: 'chat' }).service).toBe('gateway');
  });
});

describe('with only one key', () => {
  test.each([
    ['GEMINI_API_KEY', 'gemini', 'content'],
    ['ANTHROPIC_API_KEY', 'anthropic', 'messages'],
    ['OPENAI_API_KEY', 'openai', 'responses'],
    ['OPENROUTER_API_KEY', 'openrouter', 'completions'],
  ])('%s chooses the service %s, its format and its default model', async (variable, service, format) => {
    const env = { [variable]: 'the-key', GATEWAY_API_KEY: 'of-another' };
    const settings = resolve({ flags: { model: undefined }, env, use: 'chat' });
    expect(withSources(settings)).toMatchObject({
      service: { value: service, from: `environment ${variable}` },
      format: { value: format, from: `service ${service}` },
      model: { from: `service ${service}` },
    });
    expect(await keyOf({ env })).toBe('the-key');
  });

  test('a base URL, a profile or a service that is named comes before it', () => {
    const env = { GEMINI_API_KEY: 'k' };
    expect(resolve({ env, flags: { baseUrl: 'https://a.example' } }).service).toBe('gateway');
    expect(resolve({ env, profiles: { default: { baseUrl: 'https://a.example' } } }).service).toBe('gateway');
    expect(resolve({ env, flags: { service: 'anthropic' } }).service).toBe('anthropic');
    expect(resolve({ env, flags: { offline: true } }).service).toBe('gateway');
    const gateway = { service: 'gateway', baseUrl: 'https://a.example' };
    expect(resolve({ env, profiles: { default: gateway } }).service).toBe('gateway');
  });

  test('a profile that names neither a service nor a base URL leaves it the choice', async () => {
    const start = { env: { GEMINI_API_KEY: 'k' }, profiles: { default: { timeout: '3m', budget: 'team:5' } } };
    expect(withSources(resolve(start))).toMatchObject({
      service: { value: 'gemini', from: 'environment GEMINI_API_KEY' },
      baseUrl: { value: google },
      timeoutMs: { value: 180_000 },
    });
    expect(await keyOf(start)).toBe('k');
  });
});

describe('a profile whose key is for another host', () => {
  const profiles = { default: { service: 'gemini', baseUrl: 'https://relay.example', apiKey: 'of-relay' } };
  const env = { GEMINI_API_KEY: 'g-key' };

  test("leaves the service's own host to the key in the service's variable", async () => {
    expect(await keyOf({ flags: { baseUrl: google }, profiles, env })).toBe('g-key');
  });

  test('is the reason that is told where no key may go', () => {
    const { key } = resolve({ flags: { baseUrl: 'https://other.example' }, profiles, env });
    expect(key).toMatchObject({ kind: 'missing', reason: expect.stringContaining('the key of profile default') });
  });
});

test.each([
  ['openai', 'http://127.0.0.1:1234/v1', 'none'],
  ['openai', 'http://localhost:1234/v1', 'none'],
  ['openai', 'https://relay.example/v1', 'missing'],
  ['openai', undefined, 'missing'],
  ['gemini', 'http://127.0.0.1:1234', 'missing'],
  ['ollama', 'https://relay.example/v1', 'none'],
])("no key is needed for a server of OpenAI's format on this machine, but on every other: %s at %s", (...row) => {
  const [service, baseUrl, kind] = row;
  expect(resolve({ flags: { service, ...(baseUrl && { baseUrl }) } }).key.kind).toBe(kind);
});

describe("the key in a vendor's variable", () => {
  const env = { GEMINI_API_KEY: 'g-key' };

  test.each<[string, Start, string]>([
    [
      'GATEWAY_API_KEY where a profile names the service',
      { env: { ...env, GATEWAY_API_KEY: 'own' }, profiles: { default: { service: 'gemini' } } },
      'own',
    ],
    ['the key of the profile', { env, profiles: { default: { service: 'gemini', apiKey: 'own' } } }, 'own'],
  ])('comes after %s', async (_, start, key) => {
    expect(await keyOf(start)).toBe(key);
  });

  test('GEMINI_API_KEY comes before GOOGLE_API_KEY, and an empty one counts as unset', async () => {
    const flags = { service: 'gemini' };
    expect(await keyOf({ flags, env: { ...env, GOOGLE_API_KEY: 'other' } })).toBe('g-key');
    expect(await keyOf({ flags, env: { GEMINI_API_KEY: '', GOOGLE_API_KEY: 'other' } })).toBe('other');
  });

  test('goes to this machine where the service was named', async () => {
    expect(await keyOf({ flags: { service: 'gemini', baseUrl: 'http://127.0.0.1:1' }, env })).toBe('g-key');
  });

  test.each<[string, Start, string]>([
    ['another host', { flags: { service: 'gemini', baseUrl: 'https://relay.example' }, env }, 'is for https://gen'],
    ['this machine as a gateway of no name', { flags: { baseUrl: 'http://127.0.0.1:1' }, env }, 'no API key is set'],
    ['the host of another vendor', { flags: { service: 'anthropic' }, env }, 'no API key of anthropic is set'],
  ])('does not go to %s', async (_, start, reason) => {
    await expect(
      keyOf({ ...start, use: start.flags?.service === 'anthropic' ? 'chat' : 'text' }),
    ).rejects.toMatchObject({
      class: 'auth',
      message: expect.stringContaining(reason),
    });
  });
});

describe('of a profile for another service than the named one', () => {
  const own = {
    baseUrl: 'https://a.example',
    models: { text: 'mine' },
    timeout: '3m',
    maxTokens: 7,
    markdown: false,
    prices: { m: { input: 1 } },
  };
  const start = { flags: { service: 'gemini' }, use: 'text' } as const;

  test('prices and defaults hold, its URL and its models do not', () => {
    const settings = resolve({ ...start, profiles: { default: own } });
    expect(withSources(settings)).toMatchObject({
      baseUrl: { value: google },
      timeoutMs: { value: 180_000 },
      markdown: { value: false },
    });
    expect(Object.keys(settings.prices)).toEqual(['m']);
    const flags = { service: 'gemini', model: undefined };
    expect(withSources(resolve({ ...start, flags, profiles: { default: own } }))['model']).toMatchObject({
      from: 'service gemini',
    });
  });

  test('a profile that names no service and no URL is for any service', () => {
    const profiles = { default: { models: { text: 'mine' } } };
    const settings = resolve({ flags: { service: 'gemini', model: undefined }, profiles });
    expect(withSources(settings)['model']).toMatchObject({ value: 'mine' });
    expect(withSources(settings)['baseUrl']).toMatchObject({ value: google });
  });
});
