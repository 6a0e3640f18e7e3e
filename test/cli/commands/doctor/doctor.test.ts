import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { run } from '../../../helpers/run.ts';
import { canaryKey, test, textReply } from '../../../helpers/with-server.ts';
import { scratchFolder } from '../../../helpers/scratch.ts';

interface Document {
  schema: string;
  ok: boolean;
  exitCode: number;
  checks: { name: string; state: string; text: string; fix?: string; class?: string }[];
  settings: { key: string; value: unknown; from: string }[];
}

/** States by name; the last of a name counts. */
function states(stdout: string): Record<string, string> {
  const { checks } = JSON.parse(stdout) as Document;
  return Object.fromEntries(checks.map(({ name, state }) => [name, state]));
}

/** What the HEAD of the examination is answered with. */
function head(): { headers: Record<string, string> } {
  return { headers: { connection: 'close' } };
}

const message = { id: 'm', role: 'assistant', content: [{ type: 'text', text: 'h' }], stop_reason: 'max_tokens' };

/** What a list of models is asked with, by which the key is tried. */
const noList = { status: 404, body: 'there is none' };
const someList = { body: { models: [{ name: 'models/m' }] } };

test('finds nothing wrong, and names the sources of address and key', async ({ server, cli }) => {
  server.reply({ status: 404, ...head() });
  server.reply(someList);
  const ran = await cli(['doctor']);
  expect(ran.code).toBe(0);
  expect(ran.stdout).toMatch(/^ok {6}key taken {9}the list of one model came with it: m$/m);
  expect(ran.stdout).toMatch(/^ok {6}node {14}gateway-cli \d+\.\d+\.\d+, Node \d+/m);
  expect(ran.stdout).toContain(`${server.url}/ (environment GATEWAY_BASE_URL)`);
  expect(ran.stdout).toContain('there is one (environment GATEWAY_API_KEY)');
  expect(ran.stdout).toMatch(/HTTP 404 to HEAD \/ without a key/);
  expect(ran.stdout).not.toContain(canaryKey);
  const [request] = server.requests;
  expect(request?.method).toBe('HEAD');
  expect(JSON.stringify(request?.headers)).not.toContain(canaryKey);
});

test('doctor --json prints the same checks as one JSON document', async ({ server, cli }) => {
  server.reply({ status: 404, ...head() });
  server.reply(noList);
  server.reply(noList);
  const ran = await cli(['doctor', '--json']);
  const document = JSON.parse(ran.stdout) as Document;
  expect(document).toMatchObject({ schema: 'gateway-cli/doctor@1', ok: true, exitCode: 0 });
  expect(document.settings).toContainEqual({ key: 'models.text', value: 'm', from: 'environment GATEWAY_MODEL' });
  const names = ['node', 'config', 'base URL', 'key', 'models', 'proxy', 'connection', 'key taken'];
  expect(Object.keys(states(ran.stdout))).toEqual(names);
});

test('--live says which form of authentication the gateway takes, and how to use it', async ({ server, cli }) => {
  server.reply(head());
  server.reply({ status: 401, body: { error: { code: 401, message: 'no such key', status: 'UNAUTHENTICATED' } } });
  server.reply({ body: textReply('h') });
  server.reply({ body: message });
  const ran = await cli(['doctor', '--live', '--json']);
  expect(ran.code).toBe(3);
  const { checks } = JSON.parse(ran.stdout) as Document;
  const live = checks.slice(-3);
  expect(live).toMatchObject([
    { name: 'content, api-key', state: 'failed', class: 'auth', fix: 'gateway-cli config set auth.text bearer' },
    { name: 'content, bearer', state: 'ok', text: 'accepted' },
    { name: 'messages', state: 'ok' },
  ]);
  expect(live[0]?.text).toContain('text would use it');
  expect(ran.stderr).toContain('content, api-key');
  expect(ran.stderr).toContain('config set auth.text bearer');
  const [, byKey, byBearer, byMessages] = server.requests;
  expect(byKey?.headers['x-vendor-a-api-key']).toBe(canaryKey);
  expect(byBearer?.headers['authorization']).toBe(`Bearer ${canaryKey}`);
  expect(byMessages?.json()).toEqual({ model: 'm', max_tokens: 16, messages: [{ role: 'user', content: 'hi' }] });
  expect(byKey?.json()).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
    generationConfig: { maxOutputTokens: 16 },
  });
  expect(ran.stdout + ran.stderr).not.toContain(canaryKey);
});

test('--live asks in the forms that the commands would use, and in no other', async ({ server, cli }) => {
  server.reply(head());
  server.reply({ body: textReply('h') });
  server.reply({ body: message });
  const ran = await cli(['doctor', '--live', '--auth', 'bearer', '--json']);
  expect(ran.code).toBe(0);
  expect(states(ran.stdout)).toMatchObject({ 'content, bearer': 'ok', messages: 'ok' });
  expect(server.requests).toHaveLength(3);
});

test('--live finds the header names that a gateway takes, and prints what sets them', async ({ server, cli }) => {
  server.always(({ headers, method, path }) => {
    if (method !== 'POST') return { status: 404, ...head() };
    if (path === '/v1/messages') {
      if (headers['anthropic-version'] !== undefined) return { body: message };
      return { status: 400, body: { error: { message: 'anthropic-version: header is required' } } };
    }
    return headers['x-goog-api-key'] === undefined ? { status: 403, body: {} } : { body: textReply('h') };
  });
  const file = join(scratchFolder(), 'config.json');
  writeFileSync(file, JSON.stringify({ profiles: { work: {} } }), { mode: 0o600 });
  const ran = await cli(['doctor', '--live', '--json', '--profile', 'work'], { env: { GATEWAY_CONFIG: file } });
  expect(ran.code).toBe(3);
  const { checks } = JSON.parse(ran.stdout) as Document;
  expect(checks.flatMap(({ fix }) => fix?.split('\n') ?? [])).toEqual([
    'gateway-cli config set headerNames.apiKey x-goog-api-key --profile work',
    'gateway-cli config set auth.image api-key --profile work',
    'gateway-cli config set headerNames.apiKey x-goog-api-key --profile work',
    'gateway-cli config set headerNames.version anthropic-version --profile work',
  ]);
});

test('--live passes a gateway that has only one format, and fails if neither answers', async ({ server, cli }) => {
  const notFound = { status: 404, body: { error: { code: 404, message: 'Not Found', status: 'NOT_FOUND' } } };
  server.always(({ method, path }) => {
    if (method !== 'POST') return { status: 404, ...head() };
    return path.includes('generateContent') ? { body: textReply('h') } : notFound;
  });
  const one = await cli(['doctor', '--live', '--json']);
  expect(one.code).toBe(0);
  expect(states(one.stdout)).toMatchObject({ 'content, api-key': 'ok', messages: 'warning' });
  server.always(({ method }) => (method === 'POST' ? notFound : { status: 404, ...head() }));
  const none = await cli(['doctor', '--live']);
  expect(none.code).toBe(4);
  expect(none.stderr).toContain('content, api-key; content, bearer; messages\n');
});

/** As at Azure, another path is 404, and the model has a newer name for the limit of tokens. */
const renamed = {
  message: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  type: 'invalid_request_error',
  param: 'max_tokens',
  code: 'unsupported_parameter',
};
const thinking =
  'Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens.';
test('--live finds the completions format of an address whose models refuse max_tokens', async ({ server, cli }) => {
  server.always(({ method, path }) => {
    if (path.endsWith('/chat/completions')) return { status: 400, body: { error: renamed } };
    if (method === 'HEAD') return { status: 404, ...head() };
    return { status: 404, body: { error: { code: '404', message: 'Resource not found' } } };
  });
  const ran = await cli(['doctor', '--live', '--json']);
  expect(ran.code).toBe(2);
  expect(states(ran.stdout)).toMatchObject({ 'content, api-key': 'warning', messages: 'warning', format: 'failed' });
  expect(ran.stderr).toMatch(/one check failed: format\n {2}gateway-cli config set format completions\n/);
});

test.for([
  ['the limit has another name', 'max_completion_tokens in place of max_tokens', { error: renamed }],
  ['thinking alone used up the limit', '16 tokens were not enough', { error: { message: thinking } }],
] as const)('--live counts a 400 as reached where %s', async ([, text, body], { server, cli }) => {
  server.always(({ method }) => (method === 'HEAD' ? { status: 404, ...head() } : { status: 400, body }));
  const ran = await cli(['doctor', '--live', '--json', '--format', 'completions']);
  expect(ran.code).toBe(0);
  const { checks } = JSON.parse(ran.stdout) as Document;
  expect(checks.at(-1)).toMatchObject({ name: 'completions', state: 'ok', text: expect.stringContaining(text) });
});

test('the last line of a failure is what to type', async ({ server, cli }) => {
  server.always(({ method, headers }) => {
    if (method !== 'POST') return { status: 404, ...head() };
    return headers['authorization'] === undefined ? { body: textReply('h') } : { status: 401, body: {} };
  });
  const env = { GATEWAY_AUTH: 'bearer' };
  const refused = await cli(['doctor', '--live'], { env });
  expect(refused.stderr).toMatch(
    /leave out GATEWAY_AUTH, and type:\n(?: +gateway-cli config set auth\.\w+ api-key\n)+$/,
  );
  const unset = await run(['doctor']);
  expect(unset.stderr).toMatch(/to try it without a gateway: gateway-cli text --offline 'Hello'\n$/);
});

test('--live leaves out the format that the service does not have', async ({ server, cli }) => {
  server.reply(head());
  server.reply({ status: 400, body: { error: { message: 'API key not valid' } } });
  const ran = await cli(['doctor', '--live', '--json', '--service', 'gemini']);
  expect(ran.code).not.toBe(0);
  expect(server.requests).toHaveLength(2);
});

test('--live offline asks the local gateway in every form', async () => {
  const ran = await run(['doctor', '--live', '--offline', '--json']);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(states(ran.stdout)).toMatchObject({
    gateway: 'ok',
    'content, api-key': 'ok',
    'content, bearer': 'ok',
    messages: 'ok',
  });
});

const key = { GATEWAY_API_KEY: canaryKey, GATEWAY_MODEL: 'm', GATEWAY_IMAGE_MODEL: 'm' };

test.each([
  ['nothing set', {}, 2, { models: 'failed', key: 'failed', 'base URL': 'failed' }, 'set the key of a service: GEMINI'],
  [
    'no key',
    { GATEWAY_BASE_URL: 'http://127.0.0.1:1', GATEWAY_MODEL: 'm' },
    3,
    { key: 'failed', connection: 'failed' },
    'GATEWAY_API_KEY',
  ],
  ['plain http', { ...key, GATEWAY_BASE_URL: 'http://gateway.example' }, 2, { 'base URL': 'failed' }, 'https://'],
  [
    'a fragment',
    { ...key, GATEWAY_BASE_URL: 'https://gateway.example#a' },
    2,
    { 'base URL': 'failed' },
    'https://host',
  ],
  [
    'a closed port',
    { ...key, GATEWAY_BASE_URL: 'http://127.0.0.1:1' },
    7,
    { connection: 'failed' },
    'start the server on this',
  ],
  ['no such host', { ...key, GATEWAY_BASE_URL: 'https://gateway.invalid' }, 7, { connection: 'failed' }, 'name in the'],
  [
    'a bad proxy',
    { ...key, GATEWAY_BASE_URL: 'https://gateway.example', HTTPS_PROXY: 'socks://x' },
    2,
    { proxy: 'failed' },
    'http://host:port',
  ],
  [
    'a dead proxy',
    { ...key, GATEWAY_BASE_URL: 'https://gateway.example', HTTPS_PROXY: 'http://127.0.0.1:1' },
    7,
    { proxy: 'ok', connection: 'failed' },
    'HTTPS_PROXY',
  ],
  [
    'a bad duration',
    { ...key, GATEWAY_BASE_URL: 'http://127.0.0.1:1', GATEWAY_TIMEOUT: 'soon' },
    2,
    { settings: 'failed' },
    '90s',
  ],
])('%s: the first failure is the exit code, and its fix is said', async (_, env, code, expected, fix) => {
  const ran = await run(['doctor', '--json'], { env });
  expect(ran.code).toBe(code);
  expect(states(ran.stdout)).toMatchObject(expected);
  const { checks } = JSON.parse(ran.stdout) as Document;
  const first = checks.find(({ state }) => state === 'failed');
  expect(first?.fix ?? '').toContain(fix);
  expect(ran.stderr).toContain('failed: ');
  expect(ran.stdout + ran.stderr).not.toContain(canaryKey);
});

test('a config file that is broken, or open to others, is reported with the command that fixes it', async () => {
  const cwd = scratchFolder();
  const file = join(cwd, 'config.json');
  writeFileSync(file, '{', { mode: 0o644 });
  const broken = await run(['doctor'], { env: { GATEWAY_CONFIG: file } });
  expect(broken).toMatchObject({ code: 2 });
  expect(broken.stdout).toMatch(/FAILED {2}config .*config\.json:1:2/);
  writeFileSync(file, '{}');
  const open = await run(['doctor'], { env: { GATEWAY_CONFIG: file } });
  expect(open.stdout).toMatch(/warning config .*open to other users.*\n +chmod 600/);
});

test('a CONNECT proxy is gone through, its password never shown', async ({ server, cli }) => {
  const proxy = createServer().on('connect', (_request, socket) => {
    socket.on('error', () => undefined);
    socket.end(`HTTP/1.1 407 no\r\n\r\n`);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  const port = (proxy.address() as AddressInfo).port;
  const ran = await cli(['doctor', '--json'], {
    env: { GATEWAY_BASE_URL: 'https://gateway.example', HTTPS_PROXY: `http://user:hidden-pass@127.0.0.1:${port}` },
  });
  expect(ran.code).toBe(7);
  expect(ran.stdout).toContain('407');
  expect(ran.stdout + ran.stderr).not.toContain('hidden-pass');
  expect(server.requests).toEqual([]);
});

test('--live leaves out a format that no model is set for', async ({ server }) => {
  const env = { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: canaryKey };
  server.reply({ status: 404, ...head() });
  const none = await run(['doctor', '--live', '--json'], { env });
  expect(states(none.stdout)).toMatchObject({ content: 'skipped', messages: 'skipped' });
  server.reply({ status: 404, ...head() });
  server.reply({ body: message });
  const chat = await run(['doctor', '--live', '--json'], { env: { ...env, GATEWAY_CHAT_MODEL: 'c' } });
  expect(states(chat.stdout)).toMatchObject({ content: 'skipped', messages: 'ok' });
});

test('asks only for the models that the service has commands for', async ({ server }) => {
  const env = { GATEWAY_BASE_URL: server.url, GATEWAY_API_KEY: canaryKey, GATEWAY_SERVICE: 'anthropic' };
  const examine = async (more: Record<string, string>) => {
    server.reply({ status: 404, ...head() });
    server.reply(noList);
    const { stdout } = await run(['doctor', '--json'], { env: { ...env, ...more } });
    return (JSON.parse(stdout) as Document).checks.find(({ name }) => name === 'models');
  };
  expect(await examine({})).toMatchObject({ state: 'ok', text: 'text claude-sonnet-5-5, chat claude-sonnet-5-5' });
  expect(await examine({ GATEWAY_MODEL: 'c' })).toMatchObject({ state: 'ok', text: 'text c, chat c' });
});
