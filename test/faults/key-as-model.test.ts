import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { startFakeServer } from '../fake-servers/start.ts';
import { run } from '../helpers/run.ts';
import { scratchFolder } from '../helpers/scratch.ts';

const key = 'sk-key-0123456789abcdef';
const json = { 'content-type': 'application/json' };

let home: string;
beforeEach(() => {
  home = scratchFolder();
  for (const name of ['XDG_CACHE_HOME', 'XDG_STATE_HOME', 'XDG_CONFIG_HOME']) vi.stubEnv(name, home);
});

/** A server that takes the key for the name of its model, its tier and its successor, everywhere. */
async function serveEchoes(): Promise<Record<string, string>> {
  const message = { role: 'assistant', content: 'Hello.' };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  const answer = { id: key, model: key, service_tier: key, choices, usage };
  const listed = { id: key, lifecycle: 'deprecated', successor: key, created: 1_800_000_000 };
  const server = await startFakeServer(({ method }) => ({
    status: 200,
    headers: json,
    body: JSON.stringify(method === 'GET' ? { data: [listed, { ...listed, id: 'm' }] } : answer),
  }));
  onTestFinished(() => server.close());
  return { GATEWAY_BASE_URL: server.url, GATEWAY_FORMAT: 'completions', GATEWAY_API_KEY: key, GATEWAY_MODEL: 'm' };
}

/** Every file below a folder. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

test('a key that a service echoes as the name of its model is in no file and in nothing that is printed', async () => {
  const env = await serveEchoes();
  writeFileSync(join(home, 'jobs.jsonl'), '{"id":"1","prompt":"x","maxTokens":16}\n');
  const price = JSON.stringify({ '*': { input: '1', output: '1' } });
  const paid = ['--budget', './spent.jsonl:1', '--prices', price];
  const lines = [
    ['models'],
    ['models', '--json'],
    ['text', 'hi', '--max-tokens', '16', ...paid],
    ['text', 'hi', '--max-tokens', '16', '--json', ...paid],
    ['chat', 'hi', '--max-tokens', '16', '--session', 's.jsonl', '--json', ...paid],
    ['batch', 'jobs.jsonl', '-o', 'out', ...paid],
  ];
  for (const argv of lines) {
    const ran = await run(argv, { env, cwd: home });
    expect(ran.code).toBe(0);
    expect(ran.stdout + ran.stderr).not.toContain(key);
  }
  for (const path of filesIn(home)) expect(readFileSync(path, 'utf8'), path).not.toContain(key);
  expect(readFileSync(join(home, 'spent.jsonl'), 'utf8')).toContain('"model":"(redacted)"');
});
