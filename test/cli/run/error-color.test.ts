import { expect, test } from 'vitest';
import { run } from '../../helpers/run.ts';

const terminal = { tty: { stderr: true } };
const red = '\u001b[31musage\u001b[39m';

test.each([
  ['a mistake in argv', ['text', '--nonsense']],
  ['a mistake that the command finds', ['text', '--raw', '--curl', 'x']],
])('on a terminal the class of %s is red, and its hint plain', async (_, argv) => {
  const { stderr } = await run(argv, terminal);
  expect(stderr.startsWith(`gateway-cli: ${red}: `)).toBe(true);
  expect(stderr.split('\n').slice(1).join('')).not.toContain('\u001b');
});

test.each([
  ['--no-color', ['text', '--nonsense', '--no-color'], terminal],
  ['--no-color before the command', ['--no-color', 'text', '--raw', '--curl', 'x'], terminal],
  ['NO_COLOR', ['text', '--nonsense'], { ...terminal, env: { NO_COLOR: '1' } }],
  ['a dumb terminal', ['text', '--nonsense'], { ...terminal, env: { TERM: 'dumb' } }],
  ['a pipe', ['text', '--nonsense'], {}],
])('%s shows an error without colour', async (_, argv, options) => {
  const { stderr } = await run(argv, options);
  expect(stderr).toMatch(/^gateway-cli: usage: /);
  expect(stderr).not.toContain('\u001b');
});

test('FORCE_COLOR colours an error in a pipe', async () => {
  const { stderr } = await run(['text', '--nonsense'], { env: { FORCE_COLOR: '1' } });
  expect(stderr).toContain(red);
});
