import { expect, test } from 'vitest';
import { run } from '../helpers/run.ts';

/** Every way in which a reply breaks leaves a word on what to type. */
test.each([
  ['text', 'fault-400', 4, 'add --dry-run to see the request'],
  ['chat', 'fault-400', 4, 'add --dry-run to see the request'],
  ['text', 'fault-empty', 9, 'add --raw'],
  ['chat', 'fault-empty', 9, 'add --raw'],
  ['chat', 'fault-bad-event', 9, 'add --raw'],
  ['image gen', 'fault-bad-base64', 9, 'add --raw'],
  ['text', 'fault-cut', 11, 'the same command asks again'],
  ['chat', 'fault-cut', 11, 'the same command asks again'],
  ['chat', 'fault-no-end', 11, 'the same command asks again'],
  ['chat', 'fault-garbage-json', 9, 'check --base-url; --raw prints the reply as it came'],
])('%s -m %s ends with a hint', async (command, model, code, hint) => {
  const ran = await run([...command.split(' '), 'hi', '--offline', '-m', model, '--json']);
  expect(ran.code).toBe(code);
  expect((JSON.parse(ran.stdout) as { error: { hint: string } }).error.hint).toContain(hint);
  expect(ran.stderr).toContain(hint);
});
