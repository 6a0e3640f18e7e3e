import { expect, test } from 'vitest';
import { run } from '../../helpers/run.ts';

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
  expect(more.slice(0, 4)).toEqual([
    '                          set the key of a service:',
    '                            GEMINI_API_KEY,',
    '                            ANTHROPIC_API_KEY,',
    '                            OPENAI_API_KEY or',
  ]);
  expect(ran.stdout).toContain("\n                            gateway-cli text --offline 'Hello'\n");
});
