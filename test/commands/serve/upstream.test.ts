import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { run } from '../../helpers/run.ts';
import { startStandIn } from '../../stand-ins/start.ts';
import { startServe, writeConfig } from '../../recordings/served.ts';

const keys = { claude: 'canary-of-claude-8841', gpt: 'canary-of-openai-2207' };

async function place() {
  const gpt = await startStandIn(() => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: '{"from":"gpt"}',
  }));
  onTestFinished(() => gpt.close());
  const cwd = scratchFolder();
  const config = writeConfig(cwd, {
    gemini: { service: 'gemini', models: { text: 't', image: 'i' } },
    gpt: { service: 'openai', baseUrl: gpt.url, apiKey: keys.gpt, models: { text: 'g' } },
    llama: { service: 'ollama', baseUrl: gpt.url, models: { text: 'l' } },
  });
  return { gpt, cwd, config, env: { OPENAI_API_KEY: 'of-another' } };
}

async function ask(url: string, path: string, headers: Record<string, string>): Promise<unknown> {
  const reply = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{}',
  });
  return reply.json();
}

test('serve --upstream passes chats, pictures and lists on with the key of the profile', async () => {
  const { gpt, ...start } = await place();
  const served = await startServe(['--upstream', 'gpt'], start);
  expect(served.env).toMatchObject({ GATEWAY_MODEL: 'g' });
  const bearer = { authorization: `Bearer ${served.key}` };
  const paths = ['/v1/chat/completions', '/v1/images/generations', '/v1/embeddings', '/v1/models'];
  for (const path of paths) expect(await ask(served.url, path, bearer)).toEqual({ from: 'gpt' });
  expect(gpt.requests.map(({ path, headers }) => [path, headers['authorization']])).toEqual(
    paths.map((path) => [path, `Bearer ${keys.gpt}`]),
  );
  await served.stop();
});

test('serve --upstream needs no key for a service that has none', async () => {
  const { gpt, ...start } = await place();
  const served = await startServe(['--upstream', 'llama'], start);
  expect(await ask(served.url, '/v1/chat/completions', { authorization: `Bearer ${served.key}` })).toEqual({
    from: 'gpt',
  });
  expect(gpt.requests[0]?.headers['authorization']).toBeUndefined();
  await served.stop();
});

test('what a service without a key repeats of the headers of its profile is masked in recordings', async () => {
  const secret = 'canary-of-the-proxy-6120';
  const server = await startStandIn(({ headers }) => ({ status: 200, headers: {}, body: JSON.stringify(headers) }));
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
  const kept = readdirSync(join(cwd, 'kept')).map((name) => readFileSync(join(cwd, 'kept', name), 'utf8'));
  expect(kept.join('')).toContain('x-corp-token');
  expect(kept.join('')).not.toContain(secret);
});

test('an unknown profile is a usage error with the nearest name', async () => {
  const { cwd, config, env } = await place();
  const argv = ['serve', '--upstream', 'lama', '--port', '0'];
  const ran = await run(argv, { cwd, env: { GATEWAY_CONFIG: config, ...env } });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('did you mean --upstream llama?');
});

test('a profile without a key says which variable would do', async () => {
  const { cwd, config } = await place();
  const env = { GATEWAY_CONFIG: config, GATEWAY_API_KEY: keys.claude };
  const ran = await run(['serve', '--upstream', 'gemini', '--port', '0'], { cwd, env });
  expect(ran).toMatchObject({ code: 3, stdout: '' });
  expect(ran.stderr).toContain('profile gemini has no key, and serve --upstream takes no other than GEMINI_API_KEY');
  expect(ran.stderr).toContain('GATEWAY_API_KEY does not count here');
});
