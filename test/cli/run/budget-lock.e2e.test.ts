import { expect, test } from 'vitest';
import { shell } from '../../helpers/spawn.ts';

/** A budget whose lock another host took, by a clock that is a year ahead. */
const lock = `echo '{"host":"elsewhere","pid":7,"nonce":"n"}' > team.jsonl.lock && touch -d '+1 year' team.jsonl.lock`;
const text = `$BIN text hi --offline --max-tokens 9 --budget ./team.jsonl:1 --prices '{"*":{"input":"1","output":"10"}}'`;

test('a lock of another host, from the future, does not keep a command beyond its time limit', async () => {
  const { code, stdout } = await shell(`${lock}; timeout 20 ${text} --timeout 1; echo $?`);
  expect([code, stdout]).toEqual([0, expect.not.stringContaining('124')]);
});
