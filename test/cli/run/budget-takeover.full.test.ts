import { expect, test } from 'vitest';
import { shell } from '../../helpers/spawn.ts';

/** A budget whose lock another host took, by a clock that is a year ahead. */
const lock = `echo '{"host":"elsewhere","pid":7,"nonce":"n"}' > team.jsonl.lock && touch -d '+1 year' team.jsonl.lock`;
const text = `$BIN text hi --offline --max-tokens 9 --budget ./team.jsonl:1 --prices '{"*":{"input":"1","output":"10"}}'`;

test('a lock of another host, from the future, is taken over within a minute', { timeout: 90_000 }, async () => {
  const { stdout } = await shell(`${lock}; timeout 60 ${text} > /dev/null; echo $?; ls team.jsonl.lock 2>&1 | wc -w`);
  expect(stdout).not.toBe('124\n1\n');
  expect(stdout).toMatch(/^0\n/);
});
