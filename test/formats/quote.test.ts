import { expect, test } from 'vitest';
import { quote } from '../../src/formats/quote.ts';

test.each([
  ['keeps short text', 'a b', 5, 'a b'],
  ['makes one line of many', ' a\r\n\tb\u2028c ', 9, 'a b c'],
  ['keeps text of just the length', 'abcde', 5, 'abcde'],
  ['cuts text that is longer', 'abcdef', 5, 'abcd…'],
  ['counts characters, not halves of them', '🦅🦅🦅🦅', 3, '🦅🦅…'],
  ['leaves control characters to the terminal', '\u001B[2J', 9, '\u001B[2J'],
])('quote %s', (_, text, limit, expected) => {
  expect(quote(text, limit)).toBe(expected);
});
