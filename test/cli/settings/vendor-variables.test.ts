import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Settings } from '../../../src/cli/settings/types.ts';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { test as withServer } from '../../helpers/with-server.ts';
import { load, resolve as resolveStart } from './start.ts';

interface Start {
  env: Record<string, string>;
  flags?: Record<string, unknown>;
  profile?: object;
}

function resolve({ env, flags = {}, profile }: Start): Settings {
  const config = load(profile === undefined ? {} : { default: profile });
  return resolveStart({ env, flags: { model: 'm', ...flags }, config });
}

const relay = 'https://relay.example';

describe("a variable with the address of a vendor's service", () => {
  test.each([
    ['gemini', { GEMINI_API_KEY: 'k', GOOGLE_GEMINI_BASE_URL: relay }, 'GOOGLE_GEMINI_BASE_URL'],
    ['anthropic', { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: relay }, 'ANTHROPIC_BASE_URL'],
    ['openai', { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: `${relay}/v1` }, 'OPENAI_BASE_URL'],
    ['together', { TOGETHER_API_KEY: 'k', TOGETHER_BASE_URL: relay }, 'TOGETHER_BASE_URL'],
  ])('is where its requests go, with the key in the variable beside it: %s', (service, env, variable) => {
    const { key, ...settings } = resolve({ env });
    expect(settings.service).toBe(service);
    expect([settings.baseUrl, settings.origins.baseUrl?.from]).toEqual([relay, `environment ${variable}`]);
    expect(key).toMatchObject({ kind: 'value', origin: { from: `environment ${Object.keys(env)[0]}` } });
  });

  const env = { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: relay };
  const own = { service: 'openai', baseUrl: 'https://profile.example' };
  test.each<[string, Start, string]>([
    ['--base-url', { env, flags: { service: 'openai', baseUrl: 'https://flag.example' } }, 'https://flag.example'],
    [
      'GATEWAY_BASE_URL',
      { env: { ...env, GATEWAY_SERVICE: 'openai', GATEWAY_BASE_URL: 'https://own.example' } },
      'https://own.example',
    ],
    ['the baseUrl of a profile', { env, profile: own }, 'https://profile.example'],
    [
      'the service of a profile that has a key',
      { env, profile: { service: 'openai', apiKey: 'p' } },
      'https://api.openai.com',
    ],
    ['nothing where a profile names only the service', { env, profile: { service: 'openai' } }, relay],
    ['nothing where it is set and empty', { env: { ...env, OPENAI_BASE_URL: '' } }, 'https://api.openai.com'],
    ['nothing where it is for another service', { env, flags: { service: 'anthropic' } }, 'https://api.anthropic.com'],
  ])('comes after %s', (_, start, url) => {
    expect(resolve(start).baseUrl).toBe(url);
  });

  test.each<[string, Start]>([
    ['flag --base-url', { env, flags: { service: 'openai', baseUrl: 'https://other.example' } }],
    [
      'environment GATEWAY_BASE_URL',
      { env: { ...env, GATEWAY_SERVICE: 'openai', GATEWAY_BASE_URL: 'https://other.example' } },
    ],
  ])('does not let the key go to another address, and says so: %s', (from, start) => {
    const only = 'the key in OPENAI_API_KEY is for https://api.openai.com only';
    expect(resolve(start).key).toMatchObject({
      kind: 'missing',
      reason: `${only}, and the base URL is at https://other.example (${from})`,
      hint: expect.stringContaining('GATEWAY_API_KEY') as string,
    });
  });

  test.each([
    ['127.0.0.1:11500', 'http://127.0.0.1:11500'],
    ['0.0.0.0', 'http://127.0.0.1:11434'],
    [':11500', 'http://127.0.0.1:11500'],
    ['box.lan', 'http://box.lan:11434'],
    ['[::1]:11500', 'http://[::1]:11500'],
    ['https://box.example', 'https://box.example'],
    ['http://box.lan:11434/', 'http://box.lan:11434/'],
    ['http://0.0.0.0:11434', 'http://127.0.0.1:11434'],
    ['http://[::]:11500', 'http://127.0.0.1:11500'],
    ['[::1]', 'http://[::1]:11434'],
    [' box.lan ', 'http://box.lan:11434'],
    ['box.lan/ollama', 'http://box.lan:11434/ollama'],
    ['box.lan:1/v1/', 'http://box.lan:1'],
    ['HTTPS://box.example/v1', 'HTTPS://box.example'],
  ])('is read as Ollama reads it: OLLAMA_HOST=%s', (text, url) => {
    expect(resolve({ env: { OLLAMA_HOST: text }, flags: { service: 'ollama' } }).baseUrl).toBe(url);
  });

  test.each([
    [`${relay}/v1/`, relay],
    [` ${relay}/v1//\n`, relay],
    [`${relay}/v1/beta`, `${relay}/v1/beta`],
    [`${relay}/api/v10`, `${relay}/api/v10`],
  ])("is read without the version that OpenAI's clients expect at its end: %j", (text, url) => {
    expect(resolve({ env: { ...env, OPENAI_BASE_URL: text } }).baseUrl).toBe(url);
  });

  test('that is no URL is refused by its name', () => {
    for (const text of ['a:b:c', 'ftp://box.lan'])
      expect(() => resolve({ env: { OLLAMA_HOST: text }, flags: { service: 'ollama' } })).toThrow('OLLAMA_HOST');
    expect(() => resolve({ env: { ...env, OPENAI_BASE_URL: 'relay' } })).toThrow(
      'environment OPENAI_BASE_URL: not a URL',
    );
  });
});

withServer('text goes where OPENAI_BASE_URL says, and stderr, doctor and config list name it', async ({ server }) => {
  const env = { OPENAI_API_KEY: 'sk-0123456789abcdef', OPENAI_BASE_URL: `${server.url}/v1` };
  server.reply({
    body: { choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }] },
  });
  const ran = await run(['text', 'hi', '-m', 'm'], { env, tty: { stderr: true }, columns: 300 });
  expect(ran).toMatchObject({ code: 0, stdout: 'Hi.\n' });
  expect(ran.stderr).toBe(`using OpenAI at ${server.url} (OPENAI_BASE_URL), m (OPENAI_API_KEY)\n`);
  expect(server.requests[0]?.path).toBe('/v1/chat/completions');
  expect((await run(['config', 'list'], { env })).stdout).toContain(`${server.url}  (environment OPENAI_BASE_URL)`);
  server.always({ status: 404 });
  expect((await run(['doctor'], { env })).stdout).toContain(`${server.url}/ (environment OPENAI_BASE_URL)`);
});

describe('a variable with the path of the file of a key', () => {
  withServer('is read where its name is that of the key and _FILE', async ({ server }) => {
    const file = join(scratchFolder(), 'key');
    writeFileSync(file, 'sk-of-a-file-0123456789\n', { mode: 0o600 });
    server.reply({ body: { choices: [{ index: 0, message: { content: 'Hi.' }, finish_reason: 'stop' }] } });
    const env = { OPENAI_API_KEY_FILE: file, OPENAI_BASE_URL: server.url };
    const ran = await run(['text', 'hi', '-m', 'm'], { env, tty: { stderr: true }, columns: 300 });
    expect(ran).toMatchObject({ code: 0, stdout: 'Hi.\n' });
    expect(ran.stderr).toContain('(OPENAI_API_KEY_FILE)');
    expect(server.requests[0]?.headers['authorization']).toBe('Bearer sk-of-a-file-0123456789');
  });

  test.each([
    ['the key itself comes first', { OPENAI_API_KEY: 'k', OPENAI_API_KEY_FILE: '/k' }, 'environment OPENAI_API_KEY'],
    ['an empty key is not set', { OPENAI_API_KEY: '', OPENAI_API_KEY_FILE: '/k' }, 'environment OPENAI_API_KEY_FILE'],
  ])('%s', (_, env, from) => {
    expect(resolve({ env }).key).toMatchObject({ origin: { from } });
  });
});

describe('where the host is not that of the named service, the hint names the key that goes there', () => {
  test.each([
    ['openai', 'OPENAI_API_KEY'],
    ['openrouter', 'OPENROUTER_API_KEY'],
    ['anthropic', 'ANTHROPIC_API_KEY'],
    ['gemini', 'GEMINI_API_KEY'],
  ])('%s, without a key and with %s', (service, variable) => {
    for (const env of [{}, { [variable]: 'k' }]) {
      const { key } = resolve({ env, flags: { service, baseUrl: relay } });
      expect(key).toMatchObject({
        kind: 'missing',
        hint: expect.stringMatching(/^set GATEWAY_API_KEY, or give --api-key-file/) as string,
      });
    }
    expect(resolve({ env: { GATEWAY_API_KEY: 'k' }, flags: { service, baseUrl: relay } }).key).toMatchObject({
      kind: 'value',
    });
  });

  withServer('doctor says the same, and a refused key names no page of the vendor', async ({ server }) => {
    const flags = ['--service', 'openai', '--base-url', relay];
    const ran = await run(['doctor', ...flags], { env: {} });
    expect(ran.stdout).toMatch(
      /^FAILED {2}key .*no API key for https:\/\/relay\.example is set.*\n +set GATEWAY_API_KEY/m,
    );
    server.reply({ status: 401, body: { error: { message: 'Incorrect API key provided', code: 'invalid_api_key' } } });
    const refused = await run(['text', 'hi', '-m', 'm'], {
      env: { GATEWAY_SERVICE: 'openai', GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: 'wrong-0123456789' },
    });
    expect(refused.code).toBe(3);
    expect(refused.stderr).toMatch(/\n {2}check the key \(environment GATEWAY_API_KEY\)\n$/);
    expect(refused.stderr).not.toContain('platform.openai.com');
  });
});

test('a key that is set and empty, as CI leaves it for a fork, is a missing key: exit code 3', async () => {
  const ran = await run(['text', 'hi'], { env: { GEMINI_API_KEY: '' } });
  expect(ran).toMatchObject({ code: 3, stdout: '' });
  expect(ran.stderr).toMatch(/^gateway-cli: auth: no API key is set: GEMINI_API_KEY is empty\n {2}set GEMINI_API_KEY;/);
  const other = await run(['text', 'hi', '--dry-run'], { env: { GEMINI_API_KEY: '', OPENAI_API_KEY: 'k' } });
  expect(other).toMatchObject({ code: 0 });
});

withServer(
  'where another key is sent than that of the variable that chose the service, -v says which',
  async ({ server }) => {
    const env = { OPENAI_API_KEY: 'sk-0123456789abcdef', OPENAI_BASE_URL: `${server.url}/v1` };
    const body = { choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }] };
    server.reply({ body });
    const ran = await run(['text', 'hi', '-m', 'm', '-v', '--api-key-file', '-'], {
      env,
      stdin: 'key-of-a-file-1234\n',
    });
    expect(server.requests[0]?.headers['authorization']).toBe('Bearer key-of-a-file-1234');
    expect(ran.stderr).toContain('m (OPENAI_API_KEY; the key is of flag --api-key-file)\n');
  },
);

describe("headers and tokens of a vendor's account", () => {
  const dry = async (argv: readonly string[], env: Record<string, string>) => {
    const ran = await run(['text', 'hi', '-m', 'm', '--dry-run', ...argv], { env });
    expect(ran.code).toBe(0);
    return ran.stdout;
  };
  const account = { OPENAI_API_KEY: 'k', OPENAI_ORG_ID: 'org-1', OPENAI_PROJECT_ID: 'proj_1' };

  test("OPENAI_ORG_ID and OPENAI_PROJECT_ID go to OpenAI's host, and to that of its own variable", async () => {
    for (const env of [account, { ...account, OPENAI_BASE_URL: `${relay}/v1` }]) {
      const sent = await dry([], env);
      expect(sent).toContain('\nopenai-organization: org-1\n');
      expect(sent).toContain('\nopenai-project: proj_1\n');
    }
    expect(await dry(['--header', 'openai-project: mine'], account)).toContain('\nopenai-project: mine\n');
    const elsewhere = await dry(['--service', 'openai', '--base-url', relay], { ...account, GATEWAY_API_KEY: 'g' });
    const others = await dry([], { ANTHROPIC_API_KEY: 'k', OPENAI_ORG_ID: 'org-1', OPENAI_PROJECT_ID: 'proj_1' });
    expect(elsewhere + others).not.toContain('openai-');
  });

  test('ANTHROPIC_AUTH_TOKEN goes as a bearer; ANTHROPIC_API_KEY comes before it', async () => {
    const token = await dry([], { ANTHROPIC_AUTH_TOKEN: 't' });
    expect(token).toContain('POST https://api.anthropic.com/v1/messages\n');
    expect(token).toContain('\nauthorization: Bearer (redacted)\n');
    expect(token).not.toContain('x-api-key');
    expect(await dry([], { ANTHROPIC_AUTH_TOKEN: 't', ANTHROPIC_API_KEY: 'k' })).toContain('\nx-api-key: (redacted)\n');
    expect(await dry([], { ANTHROPIC_AUTH_TOKEN: 't', ANTHROPIC_BASE_URL: relay })).toContain(
      '\nauthorization: Bearer ',
    );
    const key = await dry(['--auth', 'api-key'], { ANTHROPIC_AUTH_TOKEN: 't' });
    expect(key).toContain('\nx-api-key: (redacted)\n');
  });
});

test('--prices in UTF-16 is told as such, like other files', async () => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'prices.json'), Buffer.from('\uFEFF{"m":{"input":"1"}}', 'utf16le'));
  const ran = await run(['text', 'hi', '--offline', '--prices', 'prices.json'], { cwd });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain("--prices: 'prices.json' is not UTF-8 text");
  expect(ran.stderr).toContain('it looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8');
});
