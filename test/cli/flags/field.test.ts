import { expect, test } from 'vitest';
import { fieldPathText, parseFieldPath } from '../../../src/cli/flags/set.ts';
import { GatewayError } from '../../../src/errors.ts';

test.each([
  ['text', ['text'], 'text'],
  ['images[0].path', ['images', '0', 'path'], 'images[0].path'],
  ['images.0.path', ['images', '0', 'path'], 'images[0].path'],
  ['answer.a[1][2]', ['answer', 'a', '1', '2'], 'answer.a[1][2]'],
  [String.raw`answer.a\.b`, ['answer', 'a.b'], String.raw`answer.a\.b`],
])('reads --field %s', (word, steps, shown) => {
  expect(parseFieldPath(word, '--field')).toEqual(steps);
  expect(fieldPathText(steps)).toBe(shown);
});

test.each(['', '.', 'a.', 'a..b', 'a[]', 'a[b]', 'a["b"]', '[0'])('refuses --field %j', (word) => {
  expect(() => parseFieldPath(word, '--field')).toThrow(GatewayError);
});
