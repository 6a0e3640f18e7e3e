import { describe, expect, test } from 'vitest';
import { revealHeaders } from '../../../src/cli/settings/redact.ts';
import type { Config, Settings } from '../../../src/cli/settings/types.ts';
import { type Use, useNames } from '../../../src/library/vendors/services.ts';
import { withNameFor } from '../../../src/cli/settings/profile.ts';
import { resolvePartialSettings } from '../../../src/cli/settings/resolve.ts';
import { inputOf, load, path, resolve, type Start, withSources } from './start.ts';

const env = { GATEWAY_BASE_URL: 'https://env.example', GATEWAY_MODEL: 'env-model', GATEWAY_IMAGE_MODEL: 'env-image' };
const work = {
  baseUrl: 'https://work.example/proxy',
  apiKey: 'sk-work',
  models: { text: 'w-text', image: 'w-image', edit: 'w-edit', chat: 'w-chat' },
  auth: { image: 'api-key', messages: 'bearer' },
  headerNames: { apiKey: 'X-Goog-Api-Key', version: 'anthropic-version' },
  headers: { 'X-Team': 'docs', Authorization: 'Basic sk-basic' },
  maxTokens: 77,
  timeout: '3m',
  allowHttp: true,
  preview: true,
};

const onWork = (extra: Start = {}) => resolve({ config: load({ work }, 'work'), ...extra });

describe('a profile for each use', () => {
  const profiles = { pics: { baseUrl: 'https://p.example' }, talk: { baseUrl: 'https://t.example' }, default: {} };
  const nameOf = (use: Use, profile: object, start: Start = {}) =>
    resolvePartialSettings(inputOf({ config: load(profiles, profile), use, ...start })).profile;

  test('serves that use; edits take that of images, and what the map leaves out takes default', () => {
    const map = { image: 'pics', chat: 'talk' };
    expect(useNames.map((use) => nameOf(use, map))).toEqual(['default', 'pics', 'pics', 'talk']);
    expect(nameOf('edit', { ...map, edit: 'talk' })).toBe('talk');
  });

  test('a profile for each use is overridden by --profile and GATEWAY_PROFILE', () => {
    const map = { text: 'pics', image: 'pics', chat: 'pics' };
    const env = { GATEWAY_PROFILE: 'talk' };
    expect(useNames.map((use) => nameOf(use, map, { env }))).toEqual(['talk', 'talk', 'talk', 'talk']);
    expect(nameOf('chat', map, { env, flags: { profile: 'default' } })).toBe('default');
  });

  test.each<[string, Config['profile'], string, Use[], Config['profile']]>([
    ['a name becomes a map that keeps it', 'a', 'b', ['chat'], { text: 'a', image: 'a', chat: 'b' }],
    ['nothing becomes a map of these uses', undefined, 'b', ['text', 'image'], { text: 'b', image: 'b' }],
    ['a map whose uses are all alike becomes a name', { text: 'b', image: 'b', chat: 'a' }, 'b', ['chat'], 'b'],
    ['edits have their own', 'a', 'b', ['edit'], { text: 'a', image: 'a', edit: 'b', chat: 'a' }],
    ['edits that are like images follow them', { image: 'a', edit: 'b' }, 'a', ['edit'], { image: 'a' }],
    ['a map of every use but one stays a map', { text: 'b', image: 'b' }, 'b', ['edit'], { text: 'b', image: 'b' }],
  ])('%s', (_, before, name, uses, after) => {
    expect(withNameFor(before, name, uses)).toEqual(after);
  });
});

describe('resolveSettings', () => {
  test("a profile's model of texts serves chats, and that of images edits, where they have none of their own", () => {
    const config = load({ work: { ...work, models: { text: 'w-text', image: 'w-image' } } }, 'work');
    const modelOf = (use: Use) => resolve({ config, use }).model;
    expect([modelOf('chat'), modelOf('edit'), modelOf('text'), modelOf('image')]).toEqual([
      'w-text',
      'w-image',
      'w-text',
      'w-image',
    ]);
  });

  test('takes the flag before the environment before the profile before the default, and says so', () => {
    const config = load({ work }, 'work');
    const flags = { baseUrl: 'https://flag.example', model: 'flag-model', timeout: '5s', auth: 'bearer' };
    const variables = { ...env, GATEWAY_TIMEOUT: '4s', GATEWAY_AUTH: 'api-key' };
    const from = `profile work (${path})`;
    const rows: [Settings, object][] = [
      [
        resolve({ flags, env: variables, config }),
        { baseUrl: 'flag --base-url', model: 'flag --model', timeoutMs: 'flag --timeout', auth: 'flag --auth' },
      ],
      [
        resolve({ env: variables, config }),
        {
          baseUrl: 'environment GATEWAY_BASE_URL',
          model: 'environment GATEWAY_MODEL',
          timeoutMs: 'environment GATEWAY_TIMEOUT',
          auth: 'environment GATEWAY_AUTH',
        },
      ],
      [resolve({ config, use: 'chat' }), { baseUrl: from, model: from, timeoutMs: from, auth: from }],
      [
        resolve({ env }),
        {
          baseUrl: 'environment GATEWAY_BASE_URL',
          model: 'environment GATEWAY_MODEL',
          timeoutMs: 'default',
          auth: 'default',
        },
      ],
    ];
    for (const [
      {
        origins: { baseUrl, model, timeoutMs, auth },
      },
      expected,
    ] of rows) {
      expect({ baseUrl: baseUrl?.from, model: model?.from, timeoutMs: timeoutMs.from, auth: auth.from }).toEqual(
        expected,
      );
    }
  });

  test.each([
    ['text', 'w-text', 'auto'],
    ['image', 'w-image', 'api-key'],
    ['edit', 'w-edit', 'api-key'],
    ['chat', 'w-chat', 'bearer'],
  ] as const)('picks model and authentication for %s', (use, model, auth) => {
    const settings = onWork({ use });
    expect([settings.model, settings.auth]).toEqual([model, auth]);
  });

  test.each([
    ['text', 'env-model'],
    ['image', 'env-image'],
    ['edit', 'env-image'],
    ['chat', 'env-model'],
  ] as const)('takes the model of %s from its variable', (use, model) => {
    expect(resolve({ env, use }).model).toBe(model);
  });

  test.each([
    ['text', 'env-model'],
    ['image', 'env-image'],
    ['edit', 'own-edit'],
    ['chat', 'own-chat'],
  ] as const)('takes the model of %s from its own variable first', (use, model) => {
    const own = { ...env, GATEWAY_CHAT_MODEL: 'own-chat', GATEWAY_EDIT_MODEL: 'own-edit' };
    expect(resolve({ env: own, use }).model).toBe(model);
    expect(resolve({ env: { ...own, GATEWAY_CHAT_MODEL: '', GATEWAY_EDIT_MODEL: '' }, use }).model).toMatch(/^env/);
    expect(resolve({ env: own, use, flags: { model: 'flag' } }).model).toBe('flag');
  });

  test.each([
    ['chat asks for 4096 tokens', { use: 'chat', env }, { value: 4096, from: 'default' }],
    [
      'chat asks for what the profile says',
      { use: 'chat', config: load({ work }, 'work') },
      { value: 77, from: `profile work (${path})` },
    ],
    ['text sends no limit of its own', { use: 'text', config: load({ work }, 'work') }, undefined],
    ['chat sends the flag', { use: 'chat', env, flags: { maxTokens: 5 } }, { value: 5, from: 'flag --max-tokens' }],
    ['text sends the flag', { use: 'text', env, flags: { maxTokens: 5 } }, { value: 5, from: 'flag --max-tokens' }],
  ] as const)('%s', (_name, input, expected) => {
    const { maxTokens } = withSources(resolve(input));
    if (expected === undefined) expect(maxTokens).toBeUndefined();
    else expect(maxTokens).toMatchObject(expected);
  });

  test('reads header names from the strongest place for each', () => {
    const settings = onWork({ flags: { headerNames: 'X-Flag-Key,' }, env: { GATEWAY_HEADER_NAMES: 'x-env-key, ' } });
    expect(withSources(settings)['headerNames']).toMatchObject({
      apiKey: { value: 'x-flag-key', from: 'flag --header-names' },
      version: { value: 'anthropic-version', from: `profile work (${path})` },
    });
    expect(withSources(resolve({ env: { ...env, GATEWAY_HEADER_NAMES: ',v' } }))['headerNames']).toMatchObject({
      apiKey: undefined,
      version: { value: 'v', from: 'environment GATEWAY_HEADER_NAMES' },
    });
  });

  test('lets a --header replace the profile header of that name', () => {
    const settings = onWork({ flags: { header: [{ name: 'x-team', value: 'code' }] } });
    expect(revealHeaders(settings.headers)).toEqual({
      'x-team': 'code',
      authorization: 'Basic sk-basic',
    });
    expect(JSON.stringify(settings)).not.toMatch(/sk-work|sk-basic/);
  });

  test('uses the profile called default where nothing names one', () => {
    expect(withSources(resolve({ config: load({ other: {}, default: work }) }))['profile']).toMatchObject({
      value: 'default',
      from: 'default',
    });
    expect(resolvePartialSettings(inputOf({ config: load({ other: work }) })).profile).toBeUndefined();
    const chosen = { flags: { profile: 'work' }, env: { GATEWAY_PROFILE: 'x' }, config: load({ work, x: {} }, 'x') };
    expect(withSources(resolve(chosen))['profile']).toMatchObject({ value: 'work', from: 'flag --profile' });
  });

  test.each([
    ['1', true],
    ['true', true],
    ['Yes', true],
    ['on', true],
    ['no', false],
    ['OFF', false],
    ['', false],
    ['0', false],
    ['false', false],
    ['FALSE', false],
  ])('GATEWAY_OFFLINE and GATEWAY_NO_STDIN %j mean %s', (value, expected) => {
    const settings = resolve({ env: { ...env, GATEWAY_OFFLINE: value, GATEWAY_NO_STDIN: value } });
    expect([settings.offline, settings.noStdin]).toEqual([expected, expected]);
  });

  test.each([['GATEWAY_OFFLINE'], ['GATEWAY_NO_STDIN']])('%s that is neither on nor off is refused', (name) => {
    expect(() => resolve({ env: { ...env, [name]: 'maybe' } })).toThrow(`environment ${name}: "maybe" is neither`);
  });

  test('passes on the warnings of the config file', () => {
    const config = { ...load({ work }, 'work'), warnings: ['open to other users'] };
    expect(resolve({ config }).warnings).toEqual(['open to other users']);
  });

  test('warns of a short timeout only for images', () => {
    expect(resolve({ env, use: 'image', flags: { timeout: '119s' } }).warnings).toEqual([
      'flag --timeout: images may take longer than 119s; at least 120s are recommended',
    ]);
    expect(resolve({ env, use: 'edit', flags: { timeout: '1s' } }).warnings).toHaveLength(1);
    expect(resolve({ env, use: 'edit', flags: { timeout: '2m' } }).warnings).toEqual([]);
    expect(resolve({ env, use: 'text', flags: { timeout: '1s' } }).warnings).toEqual([]);
  });
});

test('the default time limit is 10 minutes', () => {
  expect(withSources(resolve({ env }))['timeoutMs']).toMatchObject({ value: 600_000, from: 'default' });
});

test('resolvePartialSettings leaves out what is missing', () => {
  const survey = resolvePartialSettings(inputOf({}));
  expect(survey).toMatchObject({
    baseUrl: undefined,
    model: undefined,
    key: { kind: 'missing', reason: 'no API key is set' },
  });
});
