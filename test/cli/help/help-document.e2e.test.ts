import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { run } from '../../helpers/run.ts';
import { shell } from '../../helpers/spawn.ts';

const gw = async (words: string): Promise<Record<string, unknown>> =>
  JSON.parse((await run(words.split(' '))).stdout) as Record<string, unknown>;

test('the help of a command as JSON has the schema of what the command prints as JSON', async () => {
  const { resultSchema, command } = await gw('text --help --json');
  expect(command).toBe('gateway-cli text');
  const isValid = new Ajv({ strict: false }).compile(resultSchema as object);
  expect(isValid(await gw('text --offline hi --json'))).toBe(true);
  expect(isValid(await gw('models --base-url nowhere --json'))).toBe(true);
  expect(isValid({ schema: 'gateway-cli/result@1' })).toBe(false);
  expect(await gw('costs --help --json')).not.toHaveProperty('resultSchema');
  expect(await gw('help --json')).toMatchObject({ resultSchema });
});

test.each(['help --json', '--help --json'])('%j names the commands', async (words) => {
  // The built program prints plain help without being loaded: not this one.
  const { stdout } = await shell(`$BIN ${words}`);
  const { commands, exitCodes, text } = JSON.parse(stdout) as Record<string, unknown>;
  expect(commands).toContainEqual({ name: 'text', summary: 'text in, text out' });
  expect(exitCodes).toContainEqual({ class: 'usage', code: 2, billed: 'no', meaning: expect.any(String) as string });
  expect(text).toContain('Usage: gateway-cli');
});
