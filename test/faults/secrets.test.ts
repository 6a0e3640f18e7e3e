import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/settings/redact.ts';
import { Secret } from '../../src/settings/secret.ts';
import { extractDataUrls } from '../../src/images/markdown.ts';
import { escapeForTerminal, escapeLine } from '../../src/terminal/escape.ts';
import { failureOf } from '../../src/formats/failure.ts';
import { canaryKey, imageReply, textReply } from '../helpers/with-server.ts';
import { bash, folder, serve, start } from './program.ts';

const nowhere = { url: 'http://127.0.0.1:1' };
const ok = { body: textReply('Hello') };

describe('faults 2d: key on argv', () => {
  test.each(['--api-key KEY', '--api-key=KEY', "--header 'Authorization: Bearer KEY'", "--header 'x-api-key: KEY'"])(
    '%s is exit 2 and not repeated',
    async (flags) => {
      const ran = await bash(`$CLI text x --json ${flags.replaceAll('KEY', canaryKey)}`, nowhere);
      expect(ran.code).toBe(2);
      expect(ran.stdout + ran.stderr).not.toContain(canaryKey);
    },
  );

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

test.each([
  ['a line break', 'abc\\ndef-secret-tail'],
  ['a NUL', 'abc\\0def-secret-tail'],
  ['U+2028', 'abc\\xe2\\x80\\xa8def-secret-tail'],
  ['a blank', 'abc def-secret-tail'],
])('faults 2d: key with newline or bad characters: %s is exit 3, and the value is not shown', async (_name, key) => {
  const ran = await bash(
    `printf '${key}' > key; GATEWAY_API_KEY= $CLI text x --json --debug --api-key-file key`,
    nowhere,
  );
  expect(ran.code).toBe(3);
  expect(ran.stderr).toContain('invalid character at position 4');
  expect(ran.stdout + ran.stderr).not.toMatch(/abc|secret-tail/);
});

test('faults 2d: key with newline at its end works: it is trimmed', async () => {
  const server = await serve();
  server.reply(ok);
  expect(
    (await bash(`printf '${canaryKey}\\r\\n' > key; GATEWAY_API_KEY= $CLI text x --api-key-file key`, server)).code,
  ).toBe(0);
  expect(server.requests[0]?.headers['x-vendor-a-api-key']).toBe(canaryKey);
});

describe('faults 2d: project config or .env in cwd', () => {
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
    expect((await bash('$CLI text x', server, { cwd, env: { XDG_CONFIG_HOME: '.', HOME: '' } })).code).not.toBe(0);
    expect([attacker.connections, readdirSync(cwd).includes('ran')]).toEqual([0, false]);
  });
});

test('faults 2d: key bound to an origin: the key of a profile goes nowhere else, also with --base-url', async () => {
  const [mine, other] = [await serve(), await serve()];
  const cwd = folder();
  const config = {
    profiles: { default: { baseUrl: mine.url, apiKey: canaryKey, headers: { 'x-team': 'hidden-header' } } },
  };
  writeFileSync(join(cwd, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  const env = { GATEWAY_CONFIG: 'config.json', GATEWAY_BASE_URL: '', GATEWAY_API_KEY: '' };
  mine.reply(ok);
  expect((await bash('$CLI text x', mine, { cwd, env })).code).toBe(0);
  expect(mine.requests[0]?.headers['x-vendor-a-api-key']).toBe(canaryKey);
  const ran = await bash(`$CLI text x --base-url ${other.url}`, mine, { cwd, env });
  expect([ran.code, other.connections]).toEqual([3, 0]);
  other.reply(ok);
  await bash(`GATEWAY_API_KEY=another-key $CLI text x --base-url ${other.url}`, mine, { cwd, env });
  expect(JSON.stringify(other.requests[0]?.rawHeaders)).not.toMatch(/hidden-header|canary/);
});

test.each(['0644', '0640', '0604'])('faults 2d: config mode: %s is warned of', async (mode) => {
  const server = await serve();
  server.reply(ok);
  const script = `echo '{"profiles":{"default":{"apiKey":"${canaryKey}"}}}' > c.json; chmod ${mode} c.json; GATEWAY_CONFIG=c.json $CLI text x`;
  const ran = await bash(script, server);
  expect(ran.stderr).toMatch(/warning: .*c\.json.*chmod 600/s);
});

describe('faults 2d: prototype pollution', () => {
  const poison = '{"__proto__":{"polluted":"yes","allowHttp":true},"constructor":{"prototype":{"polluted":"yes"}}}';
  const watch = `import fs from 'node:fs'; process.on('exit', () => fs.writeFileSync('polluted', String(({}).polluted)));`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(watch)}` };

  test.each([
    ['a config', `echo '{"profiles":${poison}}' > c.json; GATEWAY_CONFIG=c.json $CLI text x`],
    ['a profile', `echo '{"profiles":{"default":${poison}}}' > c.json; GATEWAY_CONFIG=c.json $CLI text x`],
    ['--body', `$CLI text x --dry-run --body <(echo '${poison}')`],
    ['--set', `$CLI text x --dry-run --set __proto__.polluted=yes --set constructor.prototype.polluted=yes`],
    ['--set of JSON', `$CLI text x --dry-run --set 'a=${poison}' --set a.__proto__.polluted=yes`],
    [
      'a recovery file',
      `echo '{"schema":"gateway-cli/recovery@1","__proto__":{"polluted":1},"document":["{\\"__proto__\\":{\\"polluted\\":1}}"]}' > r.json; $CLI recover r.json --json`,
    ],
  ])('by %s', async (_name, script) => {
    const ran = await bash(`${script}; cat polluted >&2`, nowhere, { env });
    expect(ran.stderr.endsWith('undefined')).toBe(true);
  });

  test('by a reply', async () => {
    const server = await serve();
    const body = JSON.stringify(textReply('Hello')).replace(
      '{',
      `{"__proto__":{"polluted":1},"usageMetadata":${poison},`,
    );
    server.reply({ body });
    const ran = await bash('$CLI text x --json; cat polluted >&2', server, { env });
    expect(ran).toMatchObject({ stderr: 'undefined' });
  });
});

/** Work per character must not grow with the text: ten times the text may take at most some twenty times as long. */
describe('faults 2d: ReDoS: hostile text costs no more than its length', () => {
  const bodyOf = (body: string) => failureOf({ status: 400, headers: {}, body, format: 'content', authForm: 'bearer' });
  const targets: [string, (text: string) => unknown][] = [
    ['escapeForTerminal', escapeForTerminal],
    ['escapeLine', escapeLine],
    ['the redactor', createRedactor([new Secret('aaaaaaaaaaaaaaaaab'), new Secret('a.*+b(c')])],
    ['data URLs in text', extractDataUrls],
    ['an error body', bodyOf],
    ['an error body in JSON', (text) => bodyOf(JSON.stringify({ error: { message: text } }))],
  ];
  const hostile: [string, (length: number) => string][] = [
    ['blanks', (length) => ' '.repeat(length)],
    ['line breaks', (length) => `${'\r\n\t '.repeat(length / 4)}x`],
    ['nearly the key', (length) => 'a'.repeat(length)],
    ['open pictures', (length) => '![a](data:image/png;base64,'.repeat(length / 27)],
    ['brackets', (length) => '!['.repeat(length / 2)],
    ['controls', (length) => '\u001b\r'.repeat(length / 2)],
  ];
  const cases = targets.flatMap(([name, act]) => hostile.map(([what, make]) => [name, what, act, make] as const));

  test.each(cases)('%s on %s', (_name, _what, act, make) => {
    const took = (length: number) => {
      const text = make(length);
      const tries = [0, 1, 2].map(() => {
        const from = process.cpuUsage();
        act(text);
        const { user, system } = process.cpuUsage(from);
        return (user + system) / 1000;
      });
      return Math.min(...tries);
    };
    took(100_000);
    expect(took(1_000_000)).toBeLessThan(took(100_000) * 40 + 200);
  });
});

test.each([
  ['../../x?y', '/v1beta/models/..%2F..%2Fx%3Fy:generateContent'],
  ['a b#c', '/v1beta/models/a%20b%23c:generateContent'],
  ['x%2e%2e', '/v1beta/models/x%252e%252e:generateContent'],
  ['m:streamGenerateContent?', '/v1beta/models/m%3AstreamGenerateContent%3F:generateContent'],
])('faults 2d: model or path injection: %s is one encoded segment, or refused', async (model, path) => {
  const server = await serve();
  server.always(ok);
  const ran = await bash(`$CLI text x -m '${model}'`, server);
  const paths = server.requests.map((request) => request.path);
  expect(paths).toEqual(ran.code === 2 ? [] : [path]);
});

test.each(['..', '.', 'a\\nb', ''])('faults 2d: model or path injection: %j is exit 2', async (model) => {
  expect((await bash(`$CLI text x -m "$(printf '${model}')"`, nowhere, { env: { GATEWAY_MODEL: '' } })).code).toBe(2);
});

test('a picture named by a hostile model and prompt stays in its folder', async () => {
  const server = await serve();
  server.reply({
    body: imageReply({
      mimeType: 'image/png',
      data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    }),
  });
  const ran = await bash(`$CLI image gen '../../../etc/passwd' -m 'team/m:1' -o '{slug}-{model}.{ext}'`, server);
  expect(ran.code).toBe(0);
  expect(ran.stdout).not.toMatch(/^\.|\//);
});
