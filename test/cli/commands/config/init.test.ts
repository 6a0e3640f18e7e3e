import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { canaryKey } from '../../../helpers/with-server.ts';
import { place } from './place.ts';

const example = 'https://gateway.example.com';

const work = { profile: 'work', profiles: { work: { baseUrl: example, apiKey: canaryKey, models: { text: 't' } } } };

test('init asks until an answer is valid, keeps existing settings, and puts the profile in use', async () => {
  const { cli, config, file } = place({ profiles: { old: { baseUrl: example, timeout: 5 } } });
  const answers = ['nonsense', '', 'nonsense', '', 'https://new.example', 'two words', canaryKey, 'text-model'];
  const ran = await cli(['config', 'init', '--profile', 'new'], { answers });
  expect(ran).toMatchObject({ code: 0, stdout: '' });
  expect(ran.stderr).toContain('type one of gateway, gemini, anthropic');
  expect(ran.stderr).toContain('baseUrl must be a URL');
  expect(ran.stderr).toContain('baseUrl is needed');
  expect(ran.stderr).toContain('the key has an invalid character at position 4');
  expect(ran.stderr).toContain(`key received, ${canaryKey.length} characters`);
  expect(ran.stderr).toContain(`\nwritten: profile new in ${file}\n`);
  expect(ran.stderr).toMatch(/; then try it: gateway-cli text 'Hello'\n$/);
  expect(ran.stderr).not.toContain(canaryKey);
  const made = { baseUrl: 'https://new.example', apiKey: canaryKey, models: { text: 'text-model' } };
  expect(config()).toEqual({ profile: 'new', profiles: { old: { baseUrl: example, timeout: 5 }, new: made } });
  const again = await cli(['config', 'init', '--profile', 'old'], { answers: ['', '', '', ''] });
  expect(again.stderr).toContain(`[${example}]`);
  expect(config()).toMatchObject({ profile: 'old', profiles: { old: { baseUrl: example, timeout: 5 } } });
  const left = await cli(['config', 'init'], { answers: ['', 'https://half.example'] });
  expect(left).toMatchObject({ code: 2 });
  expect(config()).toMatchObject({ profiles: { old: { baseUrl: example } } });
});

test('init asks only what a vendor service needs, and takes the key of its variable', async () => {
  const { cli, config } = place();
  const env = { GEMINI_API_KEY: canaryKey };
  const ran = await cli(['config', 'init'], { env, answers: ['', '', 'gemini-2.5-flash'] });
  expect(ran).toMatchObject({ code: 0, stdout: '' });
  expect(ran.stderr).toContain('Service [gemini]');
  expect(ran.stderr).toContain('empty: GEMINI_API_KEY is used');
  expect(ran.stderr).not.toContain('Base URL');
  expect(config()).toEqual({
    profile: 'gemini',
    profiles: { gemini: { service: 'gemini', models: { text: 'gemini-2.5-flash' } } },
  });
});

test('init leaves a profile of another service as it is', async () => {
  const { cli, config } = place(work);
  const named = await cli(['config', 'init', '--profile', 'work'], { answers: ['anthropic'] });
  expect(named).toMatchObject({ code: 2 });
  expect(named.stderr).toContain('gateway-cli config init --profile anthropic');
  expect(config()).toEqual(work);
  expect((await cli(['config', 'init'], { answers: ['anthropic', '', 'claude'] })).code).toBe(0);
  expect(config()).toMatchObject({ profiles: { ...work.profiles, anthropic: { service: 'anthropic' } } });
});

test.each([
  ['gemini', 'gemini-3.8-flash'],
  ['anthropic', 'claude-sonnet-5-5'],
])('init without a model says what is used for %s, and what to try', async (service, model) => {
  const ran = await place().cli(['config', 'init'], { answers: [service, '', ''] });
  expect(ran.stderr).toContain(`(empty: ${model})`);
  expect(ran.stderr).toMatch(/; then try it: gateway-cli text 'Hello'\n$/);
});

test('init without a model of a gateway ends with how one is found and set', async () => {
  const first = { profile: { text: 'other', chat: 'other' }, profiles: { other: { service: 'anthropic' } } };
  const ran = await place(first).cli(['config', 'init', '--profile', 'own'], {
    answers: ['gateway', example, canaryKey, ''],
  });
  expect(ran.stderr).toContain(
    '\nno model is set; set one of gateway-cli models: gateway-cli config set models.text <model>',
  );
});

test('init asks no key of a service that needs none, and no model is missing there', async () => {
  const ran = await place().cli(['config', 'init'], { answers: ['ollama', ''] });
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.stderr).not.toMatch(/API key|no model/);
});

test('init keeps what another program writes while a person answers', async () => {
  const { cli, config, file } = place({ profiles: { old: { baseUrl: example } } });
  const other = { baseUrl: 'https://other.example', apiKey: canaryKey };
  const write = (): string => {
    writeFileSync(file, JSON.stringify({ profiles: { old: { baseUrl: example, timeout: 5 }, other } }));
    return 'https://new.example';
  };
  const answers = ['gateway', write, '', ''];
  expect(await cli(['config', 'init', '--profile', 'new'], { answers })).toMatchObject({ code: 0 });
  const profiles = { old: { baseUrl: example, timeout: 5 }, other, new: { baseUrl: 'https://new.example' } };
  expect(config()).toEqual({ profile: 'new', profiles });
});
