import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { startDeadline } from '../../../src/library/client/deadline.ts';
import { chooseHint } from '../../../src/library/reasons.ts';
import type { GatewayError } from '../../../src/library/errors.ts';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const source = join(import.meta.dirname, '../../../src');

test('no text for people cites a document that they do not have', () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const cited = files.flatMap((name) =>
    readFileSync(join(source, name), 'utf8')
      .split('\n')
      .map((line) => line.split(/\/\/ |\/\*\*|^\s*\* /)[0] ?? '')
      .filter((code) => /\b(spec|wire|design|faults)\.md/.test(code))
      .map((code) => `${name}: ${code.trim()}`),
  );
  expect(cited).toEqual([]);
});

test.each([
  // Pictures are said to need 120s at least: no hint names less.
  [500, '2m'],
  [30_000, '2m'],
  [61_000, '3m'],
  [120_000, '4m'],
  [600_000, '20m'],
])('a timeout of %d ms is answered with a longer one', (ms, longer) => {
  vi.useFakeTimers();
  try {
    const { signal, explain } = startDeadline(ms);
    vi.advanceTimersByTime(ms);
    const error = explain(signal.reason, 'sent') as GatewayError;
    expect(chooseHint(error)).toBe(
      `it may have been billed: check that before you run it again\ngive it more time: --timeout ${longer}`,
    );
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  ['a missing file', './weather.sh', 'there is no such file', 'ls -l '],
  ['a file that may not run', './plain.sh', 'permission to run it', 'chmod +x /'],
  ['a program that is nowhere', 'no-such-program', 'is not a program in PATH', 'no shell runs it'],
])('--tool-exec with %s says so', async (_, command, message, hint) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'plain.sh'), 'true\n', { mode: 0o600 });
  const tools = '{"tools":[{"name":"w","input_schema":{"type":"object"}}]}';
  const argv = ['chat', '--offline', '--tools', '-', '--tool-exec', `w=${command}`, 'hi'];
  const ran = await run(argv, { cwd, stdin: tools, env: { PATH: '/nowhere' } });
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain(message);
  expect(ran.stderr).toContain(hint);
});

test.each([
  [['config', 'set', 'headers.X`id`', ''], "config unset 'headers.X`id`'"],
  [['config', 'set', "headers.X'key", 'value'], String.raw`config set 'headers.X'\''key' -`],
  [['config', 'init', '--profile', 'a;id'], "--profile 'a;id'"],
  [['doctor', '--base-url', 'http://127.0.0.1:9/a;id/v1'], "config set baseUrl 'http://127.0.0.1:9/a;id'"],
  [['batch', 'jobs.jsonl', '--offline', '-o', 'no $(id)/out'], "mkdir -p 'no $(id)'"],
])('%j is answered with a line that is safe to paste', async (argv, line) => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'jobs.jsonl'), '{"prompt":"x"}\n');
  const env = { GATEWAY_CONFIG: join(cwd, 'config.json'), PATH: '/nowhere' };
  const ran = await run(argv, { cwd, env });
  expect(ran.stdout + ran.stderr).toContain(line);
});

test('a notice is broken between words on a terminal, and comes in a pipe only with -v, as one line', async () => {
  const ask = (stderr: boolean, ...more: string[]) =>
    run(['text', 'hi', '--dry-run', ...more], { env: { OPENAI_API_KEY: 'k' }, tty: { stderr }, columns: 30 });
  expect((await ask(true)).stderr).toBe('using OpenAI, gpt-6-luna\n  (OPENAI_API_KEY)\n');
  expect((await ask(false)).stderr).toBe('');
  expect((await ask(false, '-v')).stderr).toContain('using OpenAI, gpt-6-luna (OPENAI_API_KEY)\n');
});
