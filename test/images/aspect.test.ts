import { expect, test } from 'vitest';
import { fitsAspect, matchesSize, parseAspect } from '../../src/images/aspect.ts';

test.each<[string, number | undefined]>([
  ['16:9', 16 / 9],
  ['1:1', 1],
  ['2.35:1', 2.35],
  ['16x9', undefined],
  ['16:', undefined],
  ['0:1', undefined],
  ['1:0', undefined],
  ['-1:1', undefined],
  ['1:1:1', undefined],
  ['', undefined],
])('reads the ratio %j', (text, expected) => {
  expect(parseAspect(text)).toBe(expected);
});

test.each<[number, number, string, boolean]>([
  [1344, 768, '16:9', true],
  [768, 1344, '9:16', true],
  [1024, 1024, '1:1', true],
  [104, 100, '1:1', true],
  [105, 100, '1:1', false],
  [96, 100, '1:1', true],
  [95, 100, '1:1', false],
  [1024, 1024, '16:9', false],
  [1024, 0, '16:9', false],
  [10, 10, 'square', false],
])('whether %i×%i is %s', (width, height, aspect, expected) => {
  expect(fitsAspect({ width, height }, aspect)).toBe(expected);
});

test.each<[number, number, string, boolean | undefined]>([
  [1024, 1024, '1K', true],
  [1344, 768, '1K', true],
  [1536, 672, '1k', true],
  [2752, 1536, '2K', true],
  [2048, 1152, '2K', true],
  [1024, 1024, '2K', false],
  [5504, 3072, '4K', true],
  [512, 512, '0.5K', true],
  [512, 512, '512', true],
  [1024, 768, '1024x768', true],
  [1024, 1024, '1024x768', false],
  [1024, 1024, 'large', undefined],
])('whether %i×%i has the size %s', (width, height, size, expected) => {
  expect(matchesSize({ width, height }, size)).toBe(expected);
});
