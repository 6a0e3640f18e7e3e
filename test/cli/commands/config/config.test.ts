import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { canaryKey } from '../../../helpers/with-server.ts';
import { place } from './place.ts';

const example = 'https://gateway.example.com';

const work = { profile: 'work', profiles: { work: { baseUrl: example, apiKey: canaryKey, models: { text: 't' } } } };

test('set makes file and profile, mode 0600, and unset and use follow', async () => {
  const { cli, config, file } = place();
  expect(await cli(['config', 'set', 'models.text', 'some-model'])).toMatchObject({ code: 0, stdout: '' });
  expect(config()).toEqual({ profiles: { default: { models: { text: 'some-model' } } } });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await cli(['config', 'set', 'baseUrl', example, '--profile', 'work']);
  const used = await cli(['config', 'use', 'work']);
  expect(used).toMatchObject({ code: 0, stdout: '', stderr: `profile work is in use (${file})\n` });
  const gone = await cli(['config', 'unset', 'models.text', '--profile', 'default']);
  expect(gone.stderr).toBe(`models.text was removed from profile default (${file})\n`);
  expect(config()).toEqual({ profile: 'work', profiles: { default: {}, work: { baseUrl: example } } });
  expect((await cli(['config', 'unset', 'timeout'])).stderr).toContain('is not in profile work');
});

test('keeps every one of twelve changes that are made at once', async () => {
  const { cli, config, file } = place(work);
  const names = Array.from({ length: 12 }, (_, index) => `p${index}`);
  const sets = names.map((name) => cli(['config', 'set', 'models.text', name, '--profile', name]));
  expect((await Promise.all(sets)).map(({ code }) => code)).toEqual(names.map(() => 0));
  const profiles = Object.fromEntries(names.map((name) => [name, { models: { text: name } }]));
  expect(config()).toEqual({ ...work, profiles: { ...work.profiles, ...profiles } });
  expect(existsSync(`${file}.lock`)).toBe(false);
});

test.each([
  ['maxTokens', '64', { maxTokens: 64 }],
  ['timeout', '90s', { timeout: '90s' }],
  ['timeout', '90', { timeout: 90 }],
  ['allowHttp', 'true', { allowHttp: true }],
  ['auth.image', 'api-key', { auth: { image: 'api-key' } }],
  ['apiKeyCommand', '["pass", "show me"]', { apiKeyCommand: ['pass', 'show me'] }],
  ['apiKeyCommand', 'pass show', { apiKeyCommand: 'pass show' }],
  ['headers.X-Team.a', 'docs', { headers: { 'X-Team.a': 'docs' } }],
  ['prices.gemini-2.5-*', '{"output": 2.5}', { prices: { 'gemini-2.5-*': { output: 2.5 } } }],
  ['prices', '{"a.b": {"currency": "EUR"}}', { prices: { 'a.b': { currency: 'EUR' } } }],
])('set %s %s is read by its type', async (key, value, expected) => {
  const { cli, config } = place();
  expect(await cli(['config', 'set', key, value])).toMatchObject({ code: 0 });
  expect(config()).toEqual({ profiles: { default: expected } });
});

test('a key comes from stdin or is asked for without echo, and takes the place of another kind', async () => {
  const piped = place({ profiles: { default: { baseUrl: example, apiKeyFile: 'k' } } });
  const ran = await piped.cli(['config', 'set', 'apiKey', '-'], { stdin: `${canaryKey}\n` });
  expect(ran).toMatchObject({ code: 0, stdout: '' });
  expect(ran.stderr).not.toContain(canaryKey);
  expect(piped.config()).toEqual({ profiles: { default: { baseUrl: example, apiKey: canaryKey } } });
  const asked = place();
  const typed = await asked.cli(['config', 'set', 'headers.X-Auth-Token', '-'], { answers: [canaryKey] });
  expect(typed).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('headers.X-Auth-Token: \n') as string,
  });
  expect(asked.config()).toEqual({ profiles: { default: { headers: { 'X-Auth-Token': canaryKey } } } });
});

test('a header whose name merely holds the letters of key is set from argv, and shown', async () => {
  const { cli, config } = place({ profiles: { default: { baseUrl: example } } });
  expect(await cli(['config', 'set', 'headers.x-portkey-provider', 'anthropic'])).toMatchObject({ code: 0 });
  expect(config()).toMatchObject({ profiles: { default: { headers: { 'x-portkey-provider': 'anthropic' } } } });
  expect((await cli(['config', 'list'])).stdout).toMatch(/headers\.x-portkey-provider +anthropic/);
});

test.each([
  ['a key in argv', ['set', 'apiKey', canaryKey], 'apiKey in argv would show it', 'config set apiKey -'],
  ['a secret header in argv', ['set', 'headers.Authorization', canaryKey], 'in argv would show it', '-'],
  ['an unknown key', ['set', 'base_url', 'x'], "there is no setting 'base_url'", 'did you mean: baseUrl?'],
  ['a key of several', ['set', 'model', 'x'], "no setting 'model'", 'did you mean: models.text, models.image, models.'],
  ['a group of keys', ['set', 'headername', 'x'], "no setting 'headername'", 'did you mean: headerNames.apiKey, '],
  ['a key by another name', ['set', 'url', 'x'], "there is no setting 'url'", 'did you mean: baseUrl?'],
  ['a member of every object as a key', ['get', 'constructor'], "no setting 'constructor'", 'keys are '],
  ['a key from afar', ['get', 'colour'], "there is no setting 'colour'", 'baseUrl, apiKey'],
  ['a bad URL', ['set', 'baseUrl', 'ftp://x'], 'baseUrl must be a URL', 'config set baseUrl https://'],
  ['a bad form', ['set', 'auth.text', 'basic'], 'auth.text must be one of auto', 'config set auth.text auto'],
  ['a bad number', ['set', 'maxTokens', 'many'], 'maxTokens must be a whole number', 'config set maxTokens 4096'],
  ['a bad list', ['set', 'apiKeyCommand', '[pass'], 'apiKeyCommand is not a JSON list', 'config set apiKeyCommand'],
  ['an empty value', ['set', 'models.text', ''], 'the value of models.text is empty', 'config unset models.text'],
  ['a bad profile name', ['set', 'baseUrl', example, '--profile', 'a/b'], 'cannot name a profile', 'letters'],
  ['an unknown profile', ['use', 'wrok'], "there is no profile 'wrok'", 'config use work'],
  ['the profile as a key', ['set', 'profile', 'work'], "there is no setting 'profile'", 'keys are '],
  ['a value that is not there', ['get', 'models.image'], 'models.image is not set', 'config set models.image <value>'],
  ['a secret that is not there', ['get', 'headers.x-token'], 'is not set', 'config set headers.x-token -'],
  ['a missing value', ['set', 'baseUrl'], 'the argument <value|-> is missing', 'config set --help'],
  ['init without a terminal', ['init'], 'there is no terminal', 'config set apiKey -'],
])('%s is exit 2, changes nothing and says what to type', async (_, words, message, hint) => {
  const { cli, config } = place(work);
  const ran = await cli(['config', ...words]);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(message);
  expect(ran.stderr).toContain(hint);
  expect(ran.stderr).not.toContain(canaryKey);
  expect(config()).toEqual(work);
});

test('a key that is not there is set as a key is', async () => {
  const ran = await place().cli(['config', 'get', 'apiKey']);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toMatch(
    /apiKey is not set\n {2}set it: gateway-cli config set apiKey - {3}\(it asks, or reads stdin\)\n$/,
  );
});

test('a key of a profile without a base URL is not said to be unset', async () => {
  const ran = await place({ profiles: { default: { apiKey: canaryKey } } }).cli(['config', 'get', 'apiKey']);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toMatch(
    /apiKey is in profile default, and no command uses it\n {2}to see why: gateway-cli doctor\n$/,
  );
});

test('list shows every setting with its origin and no key; get shows one', async () => {
  const { cli, file } = place(work);
  const env = { GATEWAY_MODEL: 'from-env' };
  const listed = await cli(['config', 'list'], { env });
  expect(listed).toMatchObject({ code: 0, stderr: '' });
  const from = `(profile work (${file}))`;
  const rows = listed.stdout.split('\n').map((line) => line.split(/ {2,}/));
  expect(rows).toContainEqual(['baseUrl', example, from]);
  expect(rows).toContainEqual(['apiKey', '(redacted)', from]);
  expect(rows).toContainEqual(['models.text', 'from-env', '(environment GATEWAY_MODEL)']);
  expect(rows).toContainEqual(['timeout', '10m', '(default)']);
  expect(listed.stdout).not.toContain(canaryKey);
  expect(await cli(['config', 'get', 'models.text'])).toMatchObject({ code: 0, stdout: 't\n', stderr: '' });
  expect(await cli(['config', 'get', 'apiKey'])).toMatchObject({ code: 0, stdout: '(redacted)\n' });
  const json = await cli(['config', 'list', '--json'], { env });
  expect(JSON.parse(json.stdout)).toMatchObject({
    schema: 'gateway-cli/config@1',
    path: file,
    profile: 'work',
    profiles: ['work'],
    settings: {
      apiKey: { value: '(redacted)' },
      'models.chat': { value: 'from-env', from: 'environment GATEWAY_MODEL' },
    },
  });
});

test.each([['list'], ['get', 'baseUrl']])('%s does not show a password in a URL', async (...words) => {
  const { cli } = place();
  const env = { GATEWAY_BASE_URL: `https://user:${canaryKey}@host.example/p?key=${canaryKey}` };
  const ran = await cli(['config', ...words], { env });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toContain('https://(redacted)@host.example/p?(redacted)');
  const doctor = await cli(['doctor'], { env });
  expect(doctor.code).toBe(2);
  expect(ran.stdout + doctor.stdout + doctor.stderr).not.toContain(canaryKey);
});

test('path prints the path, also of a file that is not there yet', async () => {
  const { cli, file } = place();
  expect(await cli(['config', 'path'])).toMatchObject({ code: 0, stdout: `${file}\n`, stderr: '' });
  const json = await cli(['config', 'path', '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({ path: file, exists: false });
});

test('a file that is not JSON is named with its line', async () => {
  const { cli, file } = place();
  writeFileSync(file, '{\n "profiles": {,}\n}');
  const ran = await cli(['config', 'set', 'models.text', 'x']);
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(`${file}:2:`);
});

test('get --json reports the value and where it comes from', async () => {
  const { cli, file } = place(work);
  const ran = await cli(['config', 'get', 'models.text', '--json']);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(ran.stdout)).toMatchObject({ key: 'models.text', value: 't', from: `profile work (${file})` });
});

test('a header is found by its name in any case, and a secret one is not shown', async () => {
  const headers = { 'X-Team': 'docs', 'X-Access-Token': canaryKey };
  const { cli } = place({ profile: 'work', profiles: { work: { baseUrl: example, headers } } });
  expect(await cli(['config', 'get', 'headers.X-TEAM'])).toMatchObject({ code: 0, stdout: 'docs\n', stderr: '' });
  const secret = await cli(['config', 'get', 'headers.x-access-token']);
  expect(secret).toMatchObject({ code: 0, stdout: '(redacted)\n', stderr: '' });
  const listed = await cli(['config', 'list', '--json']);
  expect(JSON.parse(listed.stdout)).toMatchObject({ settings: { 'headers.x-access-token': { value: '(redacted)' } } });
  expect(listed.stdout).not.toContain(canaryKey);
});

test('of a key command only the program is shown', async () => {
  const { cli } = place({ profile: 'w', profiles: { w: { baseUrl: example, apiKeyCommand: ['pass', canaryKey] } } });
  expect(await cli(['config', 'get', 'apiKeyCommand'])).toMatchObject({ code: 0, stdout: 'pass …\n', stderr: '' });
});

test('a file that others may read is reported at every command that opens it', async () => {
  const { cli, file } = place(work);
  chmodSync(file, 0o644);
  for (const words of [['list'], ['get', 'baseUrl'], ['use', 'work']]) {
    chmodSync(file, 0o644);
    const ran = await cli(['config', ...words]);
    expect(ran.code).toBe(0);
    expect(ran.stderr).toContain(`warning: ${file} is open to other users (mode 644); type: chmod 600 ${file}`);
  }
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test.each([
  ['another profile', 'other', true],
  ['the same', 'work', false],
  ['nothing', '', false],
])('use says so where GATEWAY_PROFILE names %s', async (_name, GATEWAY_PROFILE, expected) => {
  const { cli, file } = place(work);
  const ran = await cli(['config', 'use', 'work'], { env: { GATEWAY_PROFILE } });
  expect(ran).toMatchObject({ code: 0, stdout: '' });
  const warning = 'gateway-cli: warning: GATEWAY_PROFILE=other wins over it; unset that\n';
  expect(ran.stderr).toBe(`${expected ? warning : ''}profile work is in use (${file})\n`);
});
