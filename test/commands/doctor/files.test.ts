import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const src = join(import.meta.dirname, '../../../src');

test('doctor --files lists each folder that is read or written, and the variables that are set, without their values', async () => {
  const home = scratchFolder();
  for (const name of ['CONFIG', 'STATE', 'CACHE']) vi.stubEnv(`XDG_${name}_HOME`, join(home, name));
  const env = { OPENAI_API_KEY: 'canary-1234', GATEWAY_CONFIG: join(home, 'config.json'), UNRELATED: '1' };
  const { code, stdout, stderr } = await run(['doctor', '--files'], { env });
  expect([code, stderr]).toEqual([0, '']);
  for (const path of ['config.json', 'prompts', 'STATE/gateway-cli/sessions', 'STATE/gateway-cli/budgets'])
    expect(stdout).toContain(join(home, path));
  for (const path of ['STATE/gateway-cli/recovered', 'CACHE/gateway-cli/models', 'CACHE/gateway-cli/lessons'])
    expect(stdout).toContain(join(home, path));
  expect(stdout).toContain('Of these are set: GATEWAY_CONFIG, OPENAI_API_KEY\n');
  expect(stdout).toContain('There is no telemetry.');
  expect(stdout).not.toContain('canary');
  const { stdout: json } = await run(['doctor', '--files', '--json'], { env });
  expect(JSON.parse(json)).toMatchObject({ schema: 'gateway-cli/files@1', telemetry: false, exitCode: 0 });
});

test('doctor --files knows every variable that the source reads by its name', async () => {
  const read = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => [...readFileSync(join(src, name), 'utf8').matchAll(/\benv\['([A-Z_0-9]+)'\]/g)])
    .map(([, name = '']) => name);
  const env = { ...Object.fromEntries(read.map((name) => [name, '/x'])), GITHUB_ACTIONS: 'false', CI: 'false' };
  const { stdout } = await run(['doctor', '--files', '--json'], { env });
  const { set } = JSON.parse(stdout) as { set: string[] };
  expect(set).toEqual([...new Set(read)].toSorted());
});
