import { expect, test } from 'vitest';
import { shell } from '../../helpers/spawn.ts';

test.each(['help --json', '--help --json'])('%j names the commands', async (words) => {
  const { stdout } = await shell(`$BIN ${words}`);
  const { commands, exitCodes, text } = JSON.parse(stdout) as Record<string, unknown>;
  expect(commands).toContainEqual({ name: 'text', summary: 'text in, text out' });
  expect(exitCodes).toContainEqual({ class: 'usage', code: 2, billed: 'no', meaning: expect.any(String) as string });
  expect(text).toContain('Usage: gateway-cli');
});
