import { expect, test } from 'vitest';
import { closest } from '../../src/library/closest.ts';

const names = ['baseUrl', 'apiKey', 'apiKeyFile', 'timeout'];

test.each([
  ['another way to write it', 'base_url', 'baseUrl'],
  ['a letter left out', 'timout', 'timeout'],
  ['two letters changed places', 'apiKye', 'apiKey'],
  ['other capitals', 'APIKEYFILE', 'apiKeyFile'],
  ['nothing near', 'colour', undefined],
  ['nothing at all', '', undefined],
  ['a very long word', 'x'.repeat(100_000), undefined],
])('finds %s', (_name, word, expected) => {
  expect(closest(word, names)).toBe(expected);
});
