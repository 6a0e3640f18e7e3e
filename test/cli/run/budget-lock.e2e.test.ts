import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

/** Asks with a budget whose lock another host took so many seconds from now. */
function ask(seconds: number, ...more: string[]) {
  const cwd = scratchFolder();
  const lock = join(cwd, 'team.jsonl.lock');
  writeFileSync(lock, '{"host":"elsewhere","pid":7,"nonce":"n"}\n');
  const time = Date.now() / 1000 + seconds;
  utimesSync(lock, time, time);
  const prices = '{"*":{"input":"1","output":"10"}}';
  const flags = ['--max-tokens', '9', '--budget', './team.jsonl:1', '--prices', prices, ...more];
  return run(['text', 'hi', '--offline', ...flags], { cwd });
}

const year = 365 * 24 * 60 * 60;

test('a lock of another host, renewed just now, does not keep a command beyond its time limit', async () => {
  expect((await ask(0, '--timeout', '1')).code).toBe(7);
});

test.each([
  ['from the future', year],
  ['whose owner gave no sign of life for almost a minute', -57],
])('a lock of another host, %s, is taken over', { timeout: 40_000 }, async (_, seconds) => {
  const { code, cwd } = await ask(seconds, '--timeout', '30');
  expect(code).toBe(0);
  expect(readdirSync(cwd).filter((name) => name.startsWith('team.jsonl.lock'))).toEqual([]);
});
