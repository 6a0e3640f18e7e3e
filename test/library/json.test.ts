import { expect, test } from 'vitest';
import { countValues } from '../../src/library/json.ts';

test.each([
  ['1', 1],
  ['[]', 2],
  ['[[],[],{}]', 7],
  ['{"a":1,"b":[2,3]}', 5],
  [String.raw`["a,[{\",[","\\",","]`, 4],
  ['["never ended, [', 2],
])('%s holds at most this number of values: %d', (text, values) => {
  expect(countValues(text)).toBe(values);
});
