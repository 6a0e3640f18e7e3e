import { expect, test } from 'vitest';
import { findJsonFault, jsonFaultWords } from '../../src/library/json-position.ts';

test.each([
  ['nothing', '', 1, 1, 'a value'],
  ['a value without quotes', '{\n  "a": b\n}', 2, 8, 'a value'],
  ['a missing comma', '{\n  "a": 1\n  "b": 2\n}', 3, 3, "',' or '}'"],
  ['a comma too much in an object', '{"a": 1,\n}', 2, 1, 'a key in double quotes'],
  ['a comma too much in a list', '[1, 2, ]', 1, 8, 'a value'],
  ['a key in single quotes', "{'a': 1}", 1, 2, 'a key in double quotes'],
  ['a missing colon', '{"a" 1}', 1, 6, "':' after the key"],
  ['a comment', '{\r\n  // why\r\n}', 2, 3, 'a key in double quotes'],
  ['a missing end', '{"a": [1', 1, 9, "',' or ']'"],
  ['a string without end', '{"a": "b}', 1, 7, 'a string without raw line breaks, and its end'],
  ['a raw line break in a string', '["a\nb"]', 1, 2, 'a string without raw line breaks, and its end'],
  ['a bad escape', String.raw`["\x41"]`, 1, 2, 'a string without raw line breaks, and its end'],
  ['something after the end', '{} {}', 1, 4, 'the end of the file'],
  ['a number with a leading zero', '[01]', 1, 3, "',' or ']'"],
])('finds %s', (_name, text, line, column, expected) => {
  expect(() => JSON.parse(text)).toThrow(SyntaxError);
  expect(findJsonFault(text)).toEqual({ line, column, expected });
});

test('steps over everything that is right', () => {
  const right = String.raw`{"a": [true, false, null, -1.5e+3, 0, "x\"\u00e9\n"], "b": {}, "c": []}`;
  expect(JSON.parse(right)).toBeTypeOf('object');
  expect(findJsonFault(`${right}!`)).toEqual({ line: 1, column: right.length + 1, expected: 'the end of the file' });
});

test('survives deep nesting and long strings', () => {
  expect(findJsonFault('['.repeat(1_000_000)).column).toBe(1_000_001);
  expect(findJsonFault(`"${'\\\\'.repeat(500_000)}`).column).toBe(1);
});

test('reports a fault in words', () => {
  expect(jsonFaultWords("{\n'a':1}")).toBe('a key in double quotes is expected at line 2, column 1');
});

test.each([
  ['one that is long', 'x'.repeat(20_000_000)],
  ['one of many escapes', '\\n'.repeat(5_000_000)],
])('a string without an end is found: %s', (_, text) => {
  expect(findJsonFault(`{"a":"${text}`)).toMatchObject({ line: 1, column: 6 });
  expect(findJsonFault(`{"a":"${text}" "b"}`)).toMatchObject({ column: text.length + 9 });
});
