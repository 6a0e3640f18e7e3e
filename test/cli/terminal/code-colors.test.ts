import { Chalk } from 'chalk';
import { expect, test } from 'vitest';
import { colourCode } from '../../../src/cli/terminal/code-colors.ts';

const chalk = new Chalk({ level: 1 });
const { cyan, dim, green, magenta, yellow } = chalk;

test.each([
  ['a string and a keyword', 'const a = "b c";', magenta('const') + cyan(' a = ') + green('"b c"') + cyan(';')],
  ['an escaped quote', String.raw`x('it\'s')`, cyan('x(') + green(String.raw`'it\'s'`) + cyan(')')],
  ['a comment after code', 'ls -l  # all of "them"', cyan('ls -l  ') + dim('# all of "them"')],
  ['a comment in a line', 'f(/* why */ 2)', cyan('f(') + dim('/* why */') + cyan(' ') + yellow('2') + cyan(')')],
  ['a number', 'x = -1_000.5', cyan('x = -1_000.5')],
  ['a fraction', 'y = 1_000.5', cyan('y = ') + yellow('1_000.5')],
  ['no comment in a URL or a colour', 'curl https://x.example/#a', cyan('curl https://x.example/#a')],
  ['no keyword in a name', 'for-each a.new in_x', cyan('for-each a.new in_x')],
  ['no string from an apostrophe', "it doesn't, won't it", cyan("it doesn't, won't it")],
  ['no string without its end', 'say "hi', cyan('say "hi')],
])('%s', (_, line, shown) => {
  expect(colourCode(line, chalk)).toBe(shown);
});

test('without colours a line stays as it is', () => {
  expect(colourCode('const a = 1; // b', new Chalk({ level: 0 }))).toBe('const a = 1; // b');
});

test('a line that is too long to look through has one colour', () => {
  const line = 'const a = "b"; '.repeat(100);
  expect(colourCode(line, chalk)).toBe(cyan(line));
});
