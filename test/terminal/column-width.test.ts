import { expect, test } from 'vitest';
import { asColumn, cutToColumns } from '../../src/terminal/break-lines.ts';

test('a column is as wide as its widest text on the screen', () => {
  expect(asColumn(['trip', '旅行', '👨‍👩‍👧 x', 'e\u0301te'])).toEqual(['trip', '旅行', '👨‍👩‍👧 x', 'e\u0301te ']);
  expect(asColumn([])).toEqual([]);
});

test.each([
  ['a short text', 'trip', 4, 'trip'],
  ['a long one', 'a lighthouse', 6, 'a lig…'],
  ['wide characters', '三つの名前', 6, '三つ…'],
  ['an emoji of several code points', 'ab👨‍👩‍👧cd', 5, 'ab👨‍👩‍👧…'],
  ['one that does not fit', 'ab👨‍👩‍👧cd', 4, 'ab…'],
])('%s is cut to columns without half a character', (_, text, columns, cut) => {
  expect(cutToColumns(text, columns)).toBe(cut);
});
