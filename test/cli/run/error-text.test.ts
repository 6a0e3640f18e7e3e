import { expect, test } from 'vitest';
import { run } from '../../helpers/run.ts';

const argv = ['text', '--schema', 'a-file-that-is-not-there-at-all.json', 'hi'];
const plain = { env: { NO_COLOR: '1' } };

test.each([40, 60])(
  'on a terminal of %i columns an error breaks between words, and its hint is indented',
  async (columns) => {
    const whole = await run(argv, plain);
    const ran = await run(argv, { ...plain, tty: { stderr: true }, columns });
    expect(ran.code).toBe(whole.code);
    expect(ran.stderr.split(/\s+/)).toEqual(whole.stderr.split(/\s+/));
    const lines = ran.stderr.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(whole.stderr.trimEnd().split('\n').length);
    for (const line of lines) expect(line.includes(' ', 4) ? line.length : 0).toBeLessThanOrEqual(columns);
    for (const line of lines.slice(1)) expect(line).toMatch(/^ {2}/);
  },
);

test.each([
  ['a pipe', {}],
  ['a terminal that a CI system reads', { tty: { stderr: true }, env: { NO_COLOR: '1', GITHUB_ACTIONS: 'true' } }],
])('an error in %s stays one line', async (_, options) => {
  const wide = await run(argv, { ...plain, ...options, columns: 500 });
  const narrow = await run(argv, { ...plain, ...options, columns: 40 });
  expect(narrow.stderr).toBe(wide.stderr);
});

test('a warning breaks between words too', async () => {
  const { stderr } = await run(['text', '--offline', 'hi', '--var', 'colour=red'], {
    ...plain,
    tty: { stderr: true },
    columns: 40,
  });
  expect(stderr.split('\n')[0]).toBe("gateway-cli: warning: --var 'colour'");
  expect(stderr.split('\n')[1]).toMatch(/^ {2}fills no blank/);
});

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
