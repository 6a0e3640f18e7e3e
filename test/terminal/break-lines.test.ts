import { describe, expect, test } from 'vitest';
import { breakLines } from '../../src/terminal/break-lines.ts';

describe('lines for a person', () => {
  test.each([
    ['break between words', 'gateway-cli: usage: one two three', 24, ['gateway-cli: usage: one', '  two three']],
    ['are indented below a hint', 'a\n  one two three', 10, ['a', '  one two', '    three']],
    [
      'keep a long word',
      'see https://example.com/a/long/path now',
      20,
      ['see', '  https://example.com/a/long/path', '  now'],
    ],
    ['end after a long word', 'written: /a/very/long/path.md', 12, ['written:', '  /a/very/long/path.md']],
    [
      'keep a command in one piece',
      '  to see them: gateway-cli models --service gemini',
      30,
      ['  to see them:', '    gateway-cli models --service gemini'],
    ],
    [
      'keep what is to be typed in one piece',
      '  run this first: chmod 600 key',
      20,
      ['  run this first:', '    chmod 600 key'],
    ],
    ['that fit stay as they are', '  a: b c', 10, ['  a: b c']],
    ['leave colours as they are', '\u001b[31mred\u001b[39m one two', 8, ['\u001b[31mred\u001b[39m one', '  two']],
  ])('%s', (_, text, columns, lines) => {
    expect(breakLines(text, columns).split('\n')).toEqual(lines);
  });
});
