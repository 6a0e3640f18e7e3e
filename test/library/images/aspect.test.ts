import { expect, test } from 'vitest';
import { fitsAspect, matchesSize } from '../../../src/library/images/aspect.ts';

test.each<[number, number, string, boolean]>([
  [1344, 768, '16:9', true],
  [768, 1344, '9:16', true],
  [1024, 1024, '1:1', true],
  [1456, 672, '19.5:9', true],
  [1504, 640, '2.35:1', true],
  [104, 100, '1:1', true],
  [105, 100, '1:1', false],
  [96, 100, '1:1', true],
  [95, 100, '1:1', false],
  [1024, 1024, '16:9', false],
  [1024, 0, '16:9', false],
])('whether %i×%i is %s', (width, height, aspect, expected) => {
  expect(fitsAspect({ width, height }, aspect)).toBe(expected);
});

test.each<[number, number, string, boolean]>([
  [1024, 1024, '1K', true],
  [1344, 768, '1K', true],
  [1536, 672, '1K', true],
  [2752, 1536, '2K', true],
  [2048, 1152, '2K', true],
  [1024, 1024, '2K', false],
  [5504, 3072, '4K', true],
  [512, 512, '512', true],
  [1024, 768, '1024x768', true],
  [1024, 1024, '1024x768', false],
])('whether %i×%i has the size %s', (width, height, size, expected) => {
  expect(matchesSize({ width, height }, size)).toBe(expected);
});
