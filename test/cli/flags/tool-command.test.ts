import { expect, test } from 'vitest';
import { parseToolCommand } from '../../../src/cli/flags/format.ts';

test.each([
  ['python3 weather.py', ['python3', 'weather.py']],
  ['  a   b\tc ', ['a', 'b', 'c']],
  [`sh -c 'echo "$HOME" | wc'`, ['sh', '-c', 'echo "$HOME" | wc']],
  ['say "two words" \'\'', ['say', 'two words', '']],
  ['"a\\"b\\\\c\\d"', ['a"b\\c\\d']],
  ["a\\ b \\'c", ['a b', "'c"]],
  [`pre'fix'"ed"`, ['prefixed']],
  ["'a\\b'", ['a\\b']],
  ['$(rm -rf /); `x` > y *', ['$(rm', '-rf', '/);', '`x`', '>', 'y', '*']],
  ['end\\', ['end\\']],
])('splits %j without a shell', (command, words) => {
  expect(parseToolCommand(`f=${command}`).argv).toEqual(words);
});

test('a quote that is not closed is a mistake', () => {
  expect(() => parseToolCommand("f=say 'x")).toThrow("a ' is not closed");
});

test('reads name=command at the first equals sign', () => {
  expect(parseToolCommand('f=env A=1 x')).toEqual({ name: 'f', argv: ['env', 'A=1', 'x'] });
});

test.each(['f', '=x', 'f=', 'f=  ', "f=''"])('refuses %j with an example', (word) => {
  expect(() => parseToolCommand(word)).toThrow('--tool-exec takes name=command');
});
