import { describe, expect, test } from 'vitest';
import { load, resolve } from './start.ts';

const env = { GATEWAY_BASE_URL: 'https://env.example', GATEWAY_MODEL: 'env-model' };
const profile = { baseUrl: 'https://work.example', apiKey: 'sk-work', headers: { 'x-team': 'docs' } };

describe('resolveSettings offline', () => {
  test.each([
    ['text', 'local-text'],
    ['image', 'local-image'],
    ['edit', 'local-edit'],
    ['chat', 'local-chat'],
  ] as const)('%s needs no settings', (use, model) => {
    const settings = resolve({ flags: { offline: true }, use });
    expect(settings).toMatchObject({
      baseUrl: undefined,
      model,
      key: { kind: 'missing', reason: 'no key is read offline', hint: 'leave --offline out' },
      warnings: [],
    });
  });

  test('replaces a model that is not there, and says so', () => {
    const settings = resolve({ flags: { offline: true }, env });
    expect(settings.model).toBe('local-text');
    expect(settings.warnings).toEqual(['local-text answers offline instead of env-model (environment GATEWAY_MODEL)']);
  });

  test.each(['local-image', 'fault-429', 'models/local-text'])('keeps %s', (model) => {
    const settings = resolve({ flags: { offline: true, model } });
    expect([settings.model, settings.warnings]).toEqual([model, []]);
  });

  test('sends neither key nor headers of a profile, nor any base URL', () => {
    const settings = resolve({
      config: load({ default: profile }),
      flags: { offline: true },
      env: { ...env, GATEWAY_API_KEY: 'sk-env' },
    });
    expect(settings).toMatchObject({ baseUrl: undefined, key: { kind: 'missing' }, headers: [] });
  });

  test('a replay needs no base URL, but a model', () => {
    expect(resolve({ flags: { replay: true, model: 'm' } }).baseUrl).toBeUndefined();
    expect(() => resolve({ flags: { replay: true } })).toThrow('no model is set');
  });

  test.each([
    ['the flag', { offline: true, baseUrl: 'http://x' }, {}],
    ['the environment', { baseUrl: 'http://x' }, { GATEWAY_OFFLINE: '1' }],
  ])('refuses --base-url beside %s', (_name, flags, variables) => {
    expect(() => resolve({ flags, env: variables })).toThrow(expect.objectContaining({ class: 'usage' }));
  });
});
