import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tree } from '../../src/cli/command-tree.ts';
import { run } from '../helpers/run.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'dist/man');
const files = readdirSync(folder);
const textOf = (file: string): string => readFileSync(join(folder, file), 'utf8');

/** Words of every command and group. */
const commands = Object.entries(tree)
  .filter(([name]) => !name.startsWith('__'))
  .flatMap(([name, { commands: inside = {} }]) => [[name], ...Object.keys(inside).map((word) => [name, word])]);

test('the program and each command has a man page, which package.json names', () => {
  const expected = ['gateway-cli.1', ...commands.map((words) => `gateway-cli-${words.join('-')}.1`)];
  expect(files.toSorted()).toEqual(expected.toSorted());
  const { man } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { man: string[] };
  expect(man).toEqual(files.toSorted().map((file) => `dist/man/${file}`));
});

test.each(files)('%s has only requests that were meant', (file) => {
  const stray = textOf(file)
    .split('\n')
    .filter((line) => /^[.']/.test(line) && !/^\.(TH|S[HS]|TP|PP|IP|br|R[SE]|E[XE]|ad|nr)\b/.test(line));
  expect(stray).toEqual([]);
});

// `help --help` is the program's.
const documented = commands.filter(([name]) => name !== 'help');

test.each(documented.map((words) => [words.join(' '), words] as const))(
  'the man page of %s has every flag and example of its help',
  async (_, words) => {
    const { stdout: help } = await run([...words, '--help', '--verbose'], { columns: 200 });
    const text = textOf(`gateway-cli-${words.join('-')}.1`)
      .replaceAll(/\\f[BIR]/g, '')
      .replaceAll('\\-', '-');
    const flags = help.match(/^ {2}(?:-\w, )?--[a-z-]+/gm) ?? [];
    expect(flags.length).toBeGreaterThan(5);
    for (const flag of flags) expect(text).toMatch(new RegExp(`^${flag.trim()}\\b`, 'm'));
    for (const heading of ['NAME', 'SYNOPSIS', 'DESCRIPTION', 'OPTIONS', 'SEE ALSO'])
      expect(text).toContain(`\n.SH ${heading}\n`);
    expect(text.includes('\n.SH EXAMPLES\n')).toBe(help.includes('Examples:'));
  },
);
