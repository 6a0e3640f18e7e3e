import { expect, test } from 'vitest';
import { run } from '../../helpers/run.ts';

/** The words of each hint are tested where they are made. */
test.each([
  ['text', 'fault-400', 4],
  ['chat', 'fault-empty', 9],
  ['chat', 'fault-bad-event', 9],
  ['image gen', 'fault-bad-base64', 9],
  ['text', 'fault-cut', 11],
  ['chat', 'fault-no-end', 11],
  ['chat', 'fault-garbage-json', 9],
])('%s -m %s ends with a hint, on stderr and in the document', async (command, model, code) => {
  const ran = await run([...command.split(' '), 'hi', '--offline', '-m', model, '--json']);
  expect(ran.code).toBe(code);
  const { hint } = (JSON.parse(ran.stdout) as { error: { hint: string } }).error;
  expect(hint).not.toBe('');
  expect(ran.stderr).toContain(hint.replaceAll('\n', '\n  '));
});

test.each([
  ['image gen hi -m fault-cut', false],
  ['image gen hi -m fault-cut --json', true],
  ['image gen hi -m fault-cut --raw', true],
  ['text hi -m fault-cut', true],
  ['chat hi -m fault-no-end', true],
])('%s says whether the part that came is kept: %s', async (line, isKept) => {
  const ran = await run([...line.split(' '), '--offline']);
  expect(ran.code).toBe(11);
  expect(ran.stdout !== '').toBe(isKept);
  expect(ran.stderr.includes('what came is kept')).toBe(isKept);
  expect(ran.stderr).toContain('the same command asks again, which may be billed again');
});

test.each([
  ['text', 'fault-error-200'],
  ['chat', 'fault-error-200'],
  ['chat', 'fault-error-event'],
])('%s -m %s fails inside a reply, where --retries changes nothing', async (command, model) => {
  const ran = await run([command, 'hi', '--offline', '-m', model, '--retries', '5']);
  expect(ran.code).toBe(6);
  expect(ran.stderr).toContain('run the same command again later');
  expect(ran.stderr).not.toContain('--retries 5');
});

test('a refusal of a chat asks for no picture, and says each thing once', async () => {
  const ran = await run(['chat', 'hi', '--offline', '-m', 'fault-safety']);
  expect(ran.code).toBe(10);
  expect(ran.stderr).toContain('change the prompt, or try another model');
  expect(ran.stderr).toContain('the model refused: finishReason refusal, general_harms, This offline model');
});
