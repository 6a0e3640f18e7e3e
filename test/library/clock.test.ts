import { expect, test, vi } from 'vitest';
import { isoTime, localTime } from '../../src/library/clock.ts';

test.each([
  ['a time of today', 1_700_000_000_000, '2023-11-14T22:13:20.000Z', '2023-11-14 22:13'],
  ['a time beyond the last that a calendar has', 8.64e15 + 1, undefined, 'unknown'],
  ['no number', Number.NaN, undefined, 'unknown'],
])('%s is shown as such', (_name, at, iso, local) => {
  vi.stubEnv('TZ', 'UTC');
  expect([isoTime(at), localTime(at)]).toEqual([iso, local]);
});
