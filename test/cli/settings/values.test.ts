import { describe, expect, test } from 'vitest';
import { GatewayError } from '../../../src/library/errors.ts';
import { formatDuration, parseAge, parseDuration } from '../../../src/cli/settings/values.ts';

describe('parseDuration', () => {
  test.each([
    ['bare seconds', '90', 90_000],
    ['ms', '500ms', 500],
    ['s', '90s', 90_000],
    ['m', '2m', 120_000],
    ['h', '1h', 3_600_000],
    ['decimals', '1.5s', 1500],
    ['a decimal without its zero', '.5m', 30_000],
    ['a decimal of nothing', '2.s', 2000],
    ['blanks around', ' 3s ', 3000],
    ['less than a millisecond', '0.2ms', 1],
    ['the longest a timer can hold', '596h', 2_145_600_000],
  ])('reads %s', (_name, text, ms) => {
    expect(parseDuration(text, 'it')).toBe(ms);
  });

  test.each([
    ['nothing', ''],
    ['zero', '0'],
    ['zero with a unit', '0.0s'],
    ['negative', '-1s'],
    ['a word', 'soon'],
    ['another unit', '3d'],
    ['two units', '1h30m'],
    ['a capital', '5M'],
    ['an exponent', '1e3'],
    ['hexadecimal', '0x10'],
    ['infinity', 'Infinity'],
    ['longer than a timer can hold', '597h'],
    ['a very long number', '9'.repeat(100_000)],
  ])('refuses %s', (_name, text) => {
    expect(() => parseDuration(text, 'it')).toThrow(GatewayError);
    expect(() => parseDuration(text, 'it')).toThrow(expect.objectContaining({ class: 'usage' }));
  });

  test('says in the message what the duration was for', () => {
    expect(() => parseDuration('x', 'flag --timeout')).toThrow('flag --timeout is not a duration: "x"');
    expect(() => parseDuration('0', 'flag --timeout')).toThrow('flag --timeout takes a duration above 0');
  });
});

test.each([
  [600_000, '10m'],
  [90_000, '90s'],
  [1500, '1500ms'],
  [3_600_000, '1h'],
  [0, '0ms'],
  [999.6, '1s'],
])('formats %d ms as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test.each(['7d', '12h', '1.5h', '0.25s', '500ms'])('an age of %s is read again as it is written', (text) => {
  const ms = parseAge(text, '--max-age');
  expect(parseAge(formatDuration(ms), '--max-age')).toBe(ms);
});
