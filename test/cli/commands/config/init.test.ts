import { writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { startScriptedServer } from '../../../helpers/scripted-server.ts';
import { canaryKey } from '../../../helpers/with-server.ts';
import { place } from './place.ts';

const example = 'https://gateway.example.com';

const work = { profile: 'work', profiles: { work: { baseUrl: example, apiKey: canaryKey, models: { text: 't' } } } };

test('init asks until an answer is valid, keeps existing settings, and puts the profile in use', async () => {
  const { cli, config, file } = place({ profiles: { old: { baseUrl: example, timeout: 5 } } });
  const answers = [
    'nonsense',
    '',
    'nonsense',
    '',
    'https://new.example',
    'two words',
    canaryKey,
    'text-model',
    '',
    'i',
    '',
  ];
  const ran = await cli(['config', 'init', '--profile', 'new'], { answers });
  expect(ran).toMatchObject({ code: 0, stdout: '' });
  expect(ran.stderr).toContain('type one of gateway, gemini, anthropic');
  expect(ran.stderr).toContain('baseUrl must be a URL');
  expect(ran.stderr).toContain('baseUrl is needed');
  expect(ran.stderr).toContain('the key has an invalid character at position 4');
  expect(ran.stderr).toContain(`key received, ${canaryKey.length} characters`);
  expect(ran.stderr).toContain(`\nwritten: profile new in ${file}\n`);
  expect(ran.stderr).toMatch(/\ntry it: gateway-cli text 'Hello'\n$/);
  expect(ran.stderr).not.toContain(canaryKey);
  const made = { baseUrl: 'https://new.example', apiKey: canaryKey, models: { text: 'text-model', image: 'i' } };
  expect(config()).toEqual({ profile: 'new', profiles: { old: { baseUrl: example, timeout: 5 }, new: made } });
  const again = await cli(['config', 'init', '--profile', 'old'], { answers: ['', '', '', '', '', '', ''] });
  expect(again.stderr).toContain(`[${example}]`);
  expect(config()).toMatchObject({ profile: 'old', profiles: { old: { baseUrl: example, timeout: 5 } } });
  const left = await cli(['config', 'init'], { answers: ['', 'https://half.example'] });
  expect(left).toMatchObject({ code: 2 });
  expect(config()).toMatchObject({ profiles: { old: { baseUrl: example } } });
});

test('init asks only what a vendor service needs, and takes the key of its variable', async () => {
  const { cli, config } = place();
  const env = { GEMINI_API_KEY: canaryKey };
  const ran = await cli(['config', 'init'], { env, answers: ['', '', 'gemini-2.5-flash', '', '', 'n'] });
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
  expect((await cli(['config', 'init'], { answers: ['anthropic', '', 'claude', '', ''] })).code).toBe(0);
  expect(config()).toMatchObject({ profiles: { ...work.profiles, anthropic: { service: 'anthropic' } } });
});

test.each([
  ['gemini', 4, 'gemini-3.8-flash'],
  ['anthropic', 3, 'claude-sonnet-5-5'],
])('init without a model says what is used for %s, and what to try', async (service, empty, model) => {
  const ran = await place().cli(['config', 'init'], { answers: [service, ...Array(empty).fill(''), 'n'] });
  expect(ran.stderr).toContain(`(empty: ${model})`);
  expect(ran.stderr).toMatch(/\ntry it: gateway-cli text 'Hello'\n$/);
});

test('init without a model of a service without a default ends with how one is found and set', async () => {
  const ran = await place().cli(['config', 'init'], { answers: ['ollama', '', '', '', 'n'] });
  expect(ran.stderr).not.toContain('API key');
  expect(ran.stderr).toMatch(
    /: gateway-cli models\nset one: gateway-cli config set models.text <model>\nthen try it: gateway-cli text 'Hello'\n$/,
  );
});

test('init without a model tests the list of models, and names some', async () => {
  const server = await startScriptedServer();
  onTestFinished(() => server.close());
  const operations = { 'embed-it': ['embedContent'], 'write-it': ['generateContent'] };
  server.always(({ path, headers }) => {
    if (headers['x-vendor-a-api-key'] !== 'canary-7') return { status: 404 };
    const models = Object.entries(operations).map(([name, supportedGenerationMethods]) => ({
      name: `models/${name}`,
      supportedGenerationMethods,
    }));
    return path.startsWith('/v1beta/models') ? { body: { models } } : { status: 404 };
  });
  const first = { profile: { text: 'other', chat: 'other' }, profiles: { other: { service: 'anthropic' } } };
  const ran = await place(first).cli(['config', 'init', '--profile', 'own'], {
    answers: ['gateway', '', server.url, 'canary-7', '', '', '', 'y'],
  });
  expect(ran.code).toBe(0);
  expect(ran.stderr).toContain('it has models such as write-it\n');
  expect(ran.stderr).toContain('key received, 8 characters\n');
  expect(ran.stderr).not.toContain('short for a key');
});

test('init warns of a key that is too short to be one', async () => {
  const ran = await place().cli(['config', 'init'], { answers: ['gemini', 'canary7', '', '', 'n'] });
  expect(ran.stderr).toContain('key received, 7 characters\ngateway-cli: warning: that is short for a key');
});

test('init tests the profile on request, and reports the result', async () => {
  const server = await startScriptedServer();
  onTestFinished(() => server.close());
  server.reply({ status: 401, body: { error: { message: 'no such key' } } });
  server.always({ status: 401, body: { error: { message: 'no such key' } } });
  const { cli } = place();
  const ran = await cli(['config', 'init'], { answers: ['gateway', server.url, canaryKey, 'm', '', '', 'y'] });
  expect(ran.code).toBe(0);
  expect(ran.stderr).toContain('content, api-key: the gateway answered 401: no such key');
  expect(server.requests[0]?.headers['x-vendor-a-api-key']).toBe(canaryKey);
  expect(ran.stderr).not.toContain(canaryKey);
});

test('init keeps what another program writes while a person answers', async () => {
  const { cli, config, file } = place({ profiles: { old: { baseUrl: example } } });
  const other = { baseUrl: 'https://other.example', apiKey: canaryKey };
  const write = (): string => {
    writeFileSync(file, JSON.stringify({ profiles: { old: { baseUrl: example, timeout: 5 }, other } }));
    return 'https://new.example';
  };
  const answers = ['gateway', write, '', '', '', '', ''];
  expect(await cli(['config', 'init', '--profile', 'new'], { answers })).toMatchObject({ code: 0 });
  const profiles = { old: { baseUrl: example, timeout: 5 }, other, new: { baseUrl: 'https://new.example' } };
  expect(config()).toEqual({ profile: 'new', profiles });
});
