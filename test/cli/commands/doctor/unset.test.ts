import { expect, test } from 'vitest';
import { firstServiceNames, services } from '../../../../src/library/vendors/services.ts';
import { run } from '../../../helpers/run.ts';

test('the keys of two services lead to the choice of one', async () => {
  const { code, stdout } = await run(['doctor'], { env: { GEMINI_API_KEY: 'canary-1', OPENAI_API_KEY: 'canary-2' } });
  expect(code).toBe(2);
  expect(stdout).toContain('the keys of several services are set: GEMINI_API_KEY, OPENAI_API_KEY\n');
  expect(stdout).toContain('or for good: GATEWAY_SERVICE=gemini\n');
  expect(stdout).not.toContain('canary');
});

test('a terminal gets whole words below each other, and commands in one piece', async () => {
  const ran = await run(['doctor'], { tty: { stdout: true }, columns: 60, env: { NO_COLOR: '1' } });
  const [first, ...more] = ran.stdout.split('\n');
  expect(first).toBe('FAILED  base URL          no base URL is set');
  const keys = firstServiceNames.flatMap((name) => services[name].keyVariables[0] ?? []).slice(0, -1);
  const indent = ' '.repeat(26);
  expect(more.slice(0, keys.length + 1)).toEqual([
    `${indent}set the key of a service:`,
    ...keys.map((key, at) => `${indent}  ${key}${at + 1 < keys.length ? ',' : ' or'}`),
  ]);
  expect(ran.stdout).toContain("\n                            gateway-cli text --offline 'Hello'\n");
});
