import { chmodSync, readdirSync, readFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { canaryKey, textReply } from '../helpers/with-server.ts';
import { ask, bash, folder, serve, start } from './program.ts';

const nowhere = { url: 'http://127.0.0.1:1' };
const ok = { body: textReply('Hello') };

describe('a key in the arguments', () => {
  test.each([
    [['--api-key', 'KEY']],
    [['--api-key=KEY']],
    [['--nope=KEY']],
    [['-KEY']],
    [['--header', 'Authorization: Bearer KEY']],
    [['--header', 'x-api-key: KEY']],
  ])('%j is exit 2 and not repeated', async (flags) => {
    const ran = await ask(['text', 'x', '--json', ...flags.map((word) => word.replace('KEY', canaryKey))], nowhere);
    expect(ran.code).toBe(2);
    expect(ran.stdout + ran.stderr).not.toContain(canaryKey);
  });

  test('config set takes no key from there', async () => {
    const cwd = folder();
    const ran = await ask(`config set apiKey ${canaryKey}`, nowhere, { cwd, env: { GATEWAY_CONFIG: 'c.json' } });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect([ran.stderr.includes(canaryKey), readdirSync(cwd)]).toEqual([false, []]);
  });

  test.skipIf(process.platform !== 'linux')('no process shows the key in its arguments while it runs', async () => {
    const server = await serve();
    const cwd = folder();
    writeFileSync(join(cwd, 'key'), `${canaryKey}\n`);
    server.reply({ raw: [new Promise(() => undefined)] });
    const { child, ended } = start(['text', 'x', '--api-key-file', 'key'], server, {
      cwd,
      env: { GATEWAY_API_KEY: '' },
    });
    await server.received(1);
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    const lines = pids.map((pid) => readQuietly(`/proc/${pid}/cmdline`));
    child.kill();
    await ended;
    expect(lines.filter((line) => line.includes('gateway-cli')).length).toBeGreaterThan(0);
    expect(lines.filter((line) => line.includes(canaryKey))).toEqual([]);
  });
});

function readQuietly(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Asks with the key of a file that holds this text. */
function askWithFile(key: string, line: string, server: { url: string }) {
  const cwd = folder();
  writeFileSync(join(cwd, 'key'), key);
  return ask(`${line} --api-key-file key`, server, { cwd, env: { GATEWAY_API_KEY: '' } });
}

test.each([
  ['a line break', 'abc\ndef-secret-tail'],
  ['a NUL', 'abc\0def-secret-tail'],
  ['U+2028', 'abc\u2028def-secret-tail'],
  ['a blank', 'abc def-secret-tail'],
])('key with newline or bad characters: %s is exit 3, and the value is not shown', async (_name, key) => {
  const ran = await askWithFile(key, 'text x --json --debug', nowhere);
  expect(ran.code).toBe(3);
  expect(ran.stderr).toContain('the key has an invalid character at position 4 (flag --api-key-file)');
  expect(ran.stdout + ran.stderr).not.toMatch(/abc|secret-tail/);
});

test('trims a key that ends with a newline', async () => {
  const server = await serve();
  server.reply(ok);
  expect((await askWithFile(`${canaryKey}\r\n`, 'text x', server)).code).toBe(0);
  expect(server.requests[0]?.headers['x-vendor-a-api-key']).toBe(canaryKey);
});

describe('a config or .env in the current folder', () => {
  test('cannot set URL, key, proxy or anything else: the attacker gets no request', async () => {
    const [server, attacker] = [await serve(), await serve()];
    const cwd = folder();
    const profile = { baseUrl: attacker.url, apiKeyCommand: ['touch', join(cwd, 'ran')], allowHttp: true };
    const config = JSON.stringify({ profile: 'default', profiles: { default: profile } });
    const env = `GATEWAY_BASE_URL=${attacker.url}\nhttp_proxy=${attacker.url}\nHTTP_PROXY=${attacker.url}\n`;
    for (const name of [
      'config.json',
      'gateway-cli.json',
      '.gateway-cli.json',
      '.gateway-clirc',
      'gateway-cli.config.js',
    ])
      writeFileSync(join(cwd, name), config);
    writeFileSync(join(cwd, '.env'), env);
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ 'gateway-cli': profile }));
    server.reply(ok);
    expect(await bash('$CLI text x', server, { cwd, env: { HOME: folder() } })).toMatchObject({
      code: 0,
      stdout: 'Hello\n',
    });
    expect((await bash('$CLI text x', { url: '' }, { cwd, env: { HOME: folder() } })).code).toBe(2);
    mkdirSync(join(cwd, 'gateway-cli'));
    writeFileSync(join(cwd, 'gateway-cli/config.json'), config, { mode: 0o600 });
    const here = await bash('$CLI text x', { url: '' }, { cwd, env: { XDG_CONFIG_HOME: '.', GATEWAY_API_KEY: '' } });
    expect(here).toMatchObject({ code: 2, stdout: '' });
    expect(here.stderr).toContain('the config folder is not an absolute path');
    expect([attacker.connections, readdirSync(cwd).includes('ran')]).toEqual([0, false]);
  });
});

test('does not take a file in the current folder for the key file of a profile', async () => {
  const server = await serve();
  const cwd = folder();
  mkdirSync(join(cwd, 'home'));
  const config = { profiles: { default: { baseUrl: server.url, apiKeyFile: 'key' } } };
  writeFileSync(join(cwd, 'home/config.json'), JSON.stringify(config), { mode: 0o600 });
  writeFileSync(join(cwd, 'key'), 'key-of-the-attacker');
  const env = { GATEWAY_CONFIG: 'home/config.json', GATEWAY_API_KEY: '', GATEWAY_BASE_URL: '' };
  expect((await ask('text x', server, { cwd, env })).code).toBe(3);
  expect(server.connections).toBe(0);
});

test('the key of a profile goes only to its own origin, also with --base-url', async () => {
  const [mine, other] = [await serve(), await serve()];
  const cwd = folder();
  const config = {
    profiles: { default: { baseUrl: mine.url, apiKey: canaryKey, headers: { 'x-team': 'hidden-header' } } },
  };
  writeFileSync(join(cwd, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  const env = { GATEWAY_CONFIG: 'config.json', GATEWAY_BASE_URL: '', GATEWAY_API_KEY: '' };
  mine.reply(ok);
  expect((await ask('text x', mine, { cwd, env })).code).toBe(0);
  expect(mine.requests[0]?.headers['x-vendor-a-api-key']).toBe(canaryKey);
  const ran = await ask(`text x --base-url ${other.url}`, mine, { cwd, env });
  expect([ran.code, other.connections]).toEqual([3, 0]);
  other.reply(ok);
  const another = { ...env, GATEWAY_API_KEY: 'another' };
  expect((await ask(`text x --base-url ${other.url}`, mine, { cwd, env: another })).code).toBe(0);
  expect(JSON.stringify(other.requests[0]?.rawHeaders)).not.toMatch(/hidden-header|canary/);
});

test.each(['0644', '0640', '0604'])('warns of a config with mode %s', async (mode) => {
  const server = await serve();
  server.reply(ok);
  const cwd = folder();
  writeFileSync(join(cwd, 'c.json'), JSON.stringify({ profiles: { default: { apiKey: canaryKey } } }));
  chmodSync(join(cwd, 'c.json'), mode);
  const ran = await ask('text x', server, { cwd, env: { GATEWAY_CONFIG: 'c.json' } });
  expect(ran.stderr).toMatch(/warning: .*c\.json.*chmod 600/s);
});
