import { expect, test } from 'vitest';
import { shell } from '../../helpers/spawn.ts';

/** A budget whose lock another host took at a time. */
const lockFrom = (time: string): string =>
  `echo '{"host":"elsewhere","pid":7,"nonce":"n"}' > team.jsonl.lock && touch -d '${time}' team.jsonl.lock`;
const text = `$BIN text hi --offline --max-tokens 9 --budget ./team.jsonl:1 --prices '{"*":{"input":"1","output":"10"}}'`;

test.each([
  ['from the future', '+1 year'],
  ['renewed just now', 'now'],
])('a lock of another host, %s, does not keep a command beyond its time limit', async (_, time) => {
  const { code, stdout } = await shell(`${lockFrom(time)}; timeout 20 ${text} --timeout 1; echo $?`);
  expect([code, stdout]).toEqual([0, expect.not.stringContaining('124')]);
});

test.each([
  ['from the future', '+1 year'],
  ['whose owner gave no sign of life for almost a minute', '-57 seconds'],
])('a lock of another host, %s, is taken over', async (_, time) => {
  const { stdout } = await shell(
    `${lockFrom(time)}; timeout 40 ${text} > /dev/null; echo $?; ls team.jsonl.lock* 2>&1 | wc -w`,
  );
  expect(stdout).toMatch(/^0\n/);
  expect(stdout).not.toContain('124');
});
