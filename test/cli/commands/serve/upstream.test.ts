import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { scratchFolder } from '../../../helpers/scratch.ts';
import { recordedFiles } from '../../../helpers/recorded-files.ts';
import { run } from '../../../helpers/run.ts';
import { type FakeServer, startFakeServer } from '../../../fake-servers/start.ts';
import { startServe, writeConfig } from '../../../library/recordings/served.ts';

const keys = { gemini: 'canary-of-gemini-5510', claude: 'canary-of-claude-8841', gpt: 'canary-of-openai-2207' };

async function startNamed(name: string): Promise<FakeServer> {
  const server = await startFakeServer(() => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: `{"from":"${name}"}`,
  }));
  onTestFinished(() => server.close());
  return server;
}

async function place() {
  const [gemini, claude, gpt] = [await startNamed('gemini'), await startNamed('claude'), await startNamed('gpt')];
  const cwd = scratchFolder();
  const config = writeConfig(cwd, {
    gemini: { service: 'gemini', baseUrl: gemini.url, models: { text: 't', image: 'i' } },
    claude: { service: 'anthropic', baseUrl: claude.url, apiKey: keys.claude, models: { chat: 'c' } },
    gpt: { service: 'openai', baseUrl: gpt.url, apiKey: keys.gpt, models: { text: 'g' } },
    llama: { service: 'ollama', baseUrl: gpt.url, models: { text: 'l' } },
  });
  return { gemini, claude, gpt, cwd, config, env: { GEMINI_API_KEY: keys.gemini, ANTHROPIC_API_KEY: 'of-another' } };
}

const contentPath = '/v1beta/models/t:generateContent';

async function ask(url: string, path: string, headers: Record<string, string>): Promise<unknown> {
  const reply = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{}',
  });
  return reply.json();
}

test('serve --upstream needs no key for a service that has none', async () => {
  const { gemini: _gemini, claude: _claude, gpt, ...start } = await place();
  const served = await startServe(['--upstream', 'llama'], start);
  expect(await ask(served.url, '/v1/chat/completions', { authorization: `Bearer ${served.key}` })).toEqual({
    from: 'gpt',
  });
  expect(gpt.requests[0]?.headers['authorization']).toBeUndefined();
  await served.stop();
});

test('secret headers of the profile that a service without a key repeats are masked in recordings', async () => {
  const secret = 'canary-of-the-proxy-6120';
  const server = await startFakeServer(({ headers }) => ({ status: 200, headers: {}, body: JSON.stringify(headers) }));
  onTestFinished(() => server.close());
  const cwd = scratchFolder();
  const headers = { 'x-corp-token': secret };
  const config = writeConfig(cwd, {
    llama: { service: 'ollama', baseUrl: server.url, headers, models: { text: 'l' } },
  });
  const served = await startServe(['--upstream', 'llama', '--record', 'kept'], { cwd, config });
  const reply = await ask(served.url, '/v1/chat/completions', { authorization: `Bearer ${served.key}` });
  expect(reply).toMatchObject(headers);
  await served.stop();
  const kept = recordedFiles(join(cwd, 'kept')).map((name) => readFileSync(join(cwd, 'kept', name), 'utf8'));
  expect(kept.join('')).toContain('x-corp-token');
  expect(kept.join('')).not.toContain(secret);
});

test('serve --upstream passes everything on with the key of its profile, and keeps the keys out of recordings', async () => {
  const { gpt, gemini: _gemini, claude: _claude, ...start } = await place();
  const served = await startServe(['--upstream', 'gpt', '--record', 'kept'], start);
  expect(served.env).toMatchObject({ GATEWAY_MODEL: 'g' });
  const bearer = { authorization: `Bearer ${served.key}` };
  const asked = [
    await ask(served.url, '/v1/chat/completions', bearer),
    await ask(served.url, '/v1/images/generations', bearer),
    await ask(served.url, '/v1/embeddings', bearer),
    await (await fetch(`${served.url}/v1/models`, { headers: bearer })).json(),
  ];
  expect(asked.map((reply) => (reply as { from: string }).from)).toEqual(Array(4).fill('gpt'));
  expect(gpt.requests.map(({ path, headers }) => [path, headers['authorization']])).toEqual(
    ['/v1/chat/completions', '/v1/images/generations', '/v1/embeddings', '/v1/models'].map((path) => [
      path,
      `Bearer ${keys.gpt}`,
    ]),
  );
  await served.stop();
  const folder = join(start.cwd, 'kept');
  const kept = recordedFiles(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  expect(kept.join('')).toContain('gpt');
  for (const key of [...Object.values(keys), served.key]) expect(kept.join('')).not.toContain(key);
});

const replies: Readonly<Record<string, object>> = {
  gemini: { candidates: [{ content: { parts: [{ text: 'Hi.' }] }, finishReason: 'STOP' }] },
  claude: { role: 'assistant', content: [{ type: 'text', text: 'Hi.' }], stop_reason: 'end_turn' },
  gpt: { choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }] },
};
const ownProfiles: [string, object, string, string][] = [
  ['gemini', { service: 'gemini' }, 'gemini', contentPath],
  ['claude', { service: 'anthropic' }, 'claude', '/v1/messages'],
  ['gpt', { service: 'openai' }, 'gpt', '/v1/chat/completions'],
  ['relay', { format: 'completions' }, 'gpt', '/v1/chat/completions'],
];
test.each(ownProfiles)(
  'a command of serve --upstream speaks as the profile does, while it is recorded and from the recording: %s',
  async (profile, own, words, path) => {
    const body = JSON.stringify(replies[words]);
    const upstream = await startFakeServer(() => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body,
    }));
    onTestFinished(() => upstream.close());
    const cwd = scratchFolder();
    const settings = { ...own, baseUrl: upstream.url, apiKey: keys.gpt, models: { text: 't' } };
    const config = writeConfig(cwd, { [profile]: settings });
    const vendorKeys = { OPENAI_API_KEY: 'own', GEMINI_API_KEY: 'own', ANTHROPIC_API_KEY: 'own' };
    for (const flags of [
      ['--upstream', profile, '--record', 'tape'],
      ['--replay', 'tape'],
    ]) {
      const served = await startServe(flags, { cwd, config, env: vendorKeys });
      const kept = Object.fromEntries(Object.entries(vendorKeys).filter(([name]) => !served.unset?.includes(name)));
      const ran = await run(['text', 'hi'], { cwd, env: { ...kept, ...served.env } });
      expect(ran).toMatchObject({ code: 0, stdout: 'Hi.\n', stderr: '' });
      await served.stop();
    }
    expect(upstream.requests.map((request) => request.path)).toEqual([path]);
  },
);

test('serve --upstream takes the name of a service whose key variable is set, without a profile', async () => {
  const cwd = scratchFolder();
  const env = { OPENAI_API_KEY: keys.gpt, GATEWAY_API_KEY: 'of-another' };
  const served = await startServe(['--upstream', 'openai'], { cwd, config: join(cwd, 'none.json'), env });
  expect(served.env).toMatchObject({ GATEWAY_SERVICE: 'openai' });
  await served.stop();
  const ran = await run(['serve', '--upstream', 'openai', '--port', '0'], { cwd, env: { GATEWAY_API_KEY: 'own' } });
  expect(ran).toMatchObject({ code: 3, stdout: '' });
  expect(ran.stderr).toMatch(
    /service openai has no key, and .* no other than OPENAI_API_KEY.*\n {2}set OPENAI_API_KEY;/,
  );
});

test('serve --upstream asks a service at the address in the variable that belongs to its key', async () => {
  const gpt = await startNamed('gpt');
  const cwd = scratchFolder();
  const env = { OPENAI_API_KEY: keys.gpt, OPENAI_BASE_URL: `${gpt.url}/v1` };
  const served = await startServe(['--upstream', 'openai'], { cwd, config: join(cwd, 'none.json'), env });
  const headers = { authorization: `Bearer ${served.key}` };
  expect(await ask(served.url, '/v1/chat/completions', headers)).toEqual({ from: 'gpt' });
  expect(gpt.requests.map(({ headers }) => headers['authorization'])).toEqual([`Bearer ${keys.gpt}`]);
});

test('a profile that is not there is a usage error', async () => {
  const { cwd, config, env } = await place();
  const ran = await run(['serve', '--upstream', 'cluade', '--port', '0'], {
    cwd,
    env: { GATEWAY_CONFIG: config, ...env },
  });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('did you mean --upstream claude?');
});

test('a profile without a key says which variable would do', async () => {
  const { cwd, config } = await place();
  const env = { GATEWAY_CONFIG: config, GATEWAY_API_KEY: keys.claude };
  const ran = await run(['serve', '--upstream', 'gemini', '--port', '0'], { cwd, env });
  expect(ran).toMatchObject({ code: 3, stdout: '' });
  expect(ran.stderr).toContain('profile gemini has no key, and serve --upstream takes no other than GEMINI_API_KEY');
  expect(ran.stderr).toContain('GATEWAY_API_KEY does not count here');
});
