import { expect, test } from 'vitest';
import {
  decideRetry,
  defaultRetryPolicy,
  type AttemptFailure,
  retryDelay,
  retryHintMs,
} from '../../../src/library/transport/retry.ts';
import type { RetryPolicy } from '../../../src/library/transport/types.ts';

const now = Date.parse('2026-03-01T12:00:00Z');
const date = 'Sun, 01 Mar 2026 12:00:00 GMT';

test.each<[Record<string, string>, number | undefined, number | undefined]>([
  [{}, undefined, undefined],
  [{ 'retry-after': '3' }, undefined, 3000],
  [{ 'retry-after': ' 1.25 ' }, undefined, 1250],
  [{ 'retry-after': '0' }, undefined, 0],
  [{ 'retry-after-ms': '250', 'retry-after': '9' }, undefined, 250],
  [{ 'retry-after-ms': '0' }, 5000, 0],
  [{ 'retry-after-ms': 'soon', 'retry-after': '9' }, undefined, 9000],
  [{ 'retry-after-ms': '-1' }, 700, 700],
  [{ 'retry-after': 'NaN' }, undefined, undefined],
  [{ 'retry-after': 'Infinity' }, undefined, undefined],
  [{ 'retry-after': '0x10' }, undefined, undefined],
  [{ 'retry-after': '2027' }, undefined, 2_027_000],
  [{ 'retry-after': '99999999999999999999' }, undefined, 2 ** 31 - 1],
  [{ 'retry-after': 'Sun, 01 Mar 2026 12:00:30 GMT' }, undefined, 30_000],
  [{ 'retry-after': 'Sunday, 01-Mar-26 12:00:30 GMT' }, undefined, 30_000],
  [{ 'retry-after': 'Sun, 01 Mar 2026 11:00:00 GMT' }, undefined, 0],
  [{ 'retry-after': '2026-03-01' }, undefined, undefined],
  [{ 'retry-after': '1 Mar 2026 12:00:30 GMT (Sun)' }, undefined, undefined],
  [{ 'retry-after': 'Mon, nonsense' }, 10, 10],
  [{ 'retry-after': '3' }, 9000, 3000],
  [{}, 1234.5, 1235],
  [{}, -1, undefined],
  [{}, Number.NaN, undefined],
  [{}, 1e12, 2 ** 31 - 1],
])('%j with RetryInfo %s asks for %s ms', (headers, bodyHintMs, expected) => {
  expect(retryHintMs(headers, now, bodyHintMs)).toBe(expected);
});

test("clock skew: a date counts from the reply's own Date", () => {
  const headers = { date: 'Mon, 02 Mar 2026 12:00:00 GMT', 'retry-after': 'Mon, 02 Mar 2026 12:00:07 GMT' };
  expect(retryHintMs(headers, now)).toBe(7000);
});

test.each([
  [1, undefined, 0, 500],
  [1, undefined, 0.999, 1000],
  [2, undefined, 0, 1000],
  [3, undefined, 0.5, 3000],
  [9, undefined, 0.999, 29_985],
  [5000, undefined, 0, 15_000],
  [1, 3000, 0, 3000],
  [1, 3000, 0.999, 3300],
  [1, 0, 0, 500],
])('attempt %i with hint %s and random %s waits %i ms', (attempt, hintMs, random, expected) => {
  expect(retryDelay(attempt, hintMs, random)).toBe(expected);
});

function decide(
  outcome: AttemptFailure,
  policy: Partial<RetryPolicy> = {},
  more = { attempt: 1, waitedMs: 0, random: 0 },
): unknown {
  return decideRetry({ failure: outcome, policy: { ...defaultRetryPolicy, ...policy }, now, ...more });
}
const reply = (status: number, headers: Record<string, string> = {}): AttemptFailure => ({
  kind: 'reply',
  status,
  headers,
});

test.each([
  [429, true, true],
  [503, true, true],
  [529, true, true],
  [408, true, false],
  [500, true, false],
  [502, true, false],
  [504, true, false],
  [400, false, false],
  [401, false, false],
  [402, false, false],
  [403, false, false],
  [404, false, false],
  [409, false, false],
  [413, false, false],
  [422, false, false],
  [501, false, false],
])('status %i is repeated: %s, with --retry-safe-only: %s', (status, byDefault, safeOnly) => {
  expect(decide(reply(status))).toMatchObject({ retry: byDefault });
  expect(decide(reply(status), { safeOnly: true })).toMatchObject({ retry: safeOnly });
});

test.each<[string, AttemptFailure, Partial<RetryPolicy>, object]>([
  ['a request that was not sent', { kind: 'not-sent', retryable: true }, {}, { retry: true, waitMs: 500 }],
  ['a bad certificate', { kind: 'not-sent', retryable: false }, {}, { retry: false }],
  ['sent without a reply', { kind: 'final' }, {}, { retry: false }],
  [
    'a spent quota',
    { ...reply(429, { 'x-should-retry': 'true' }), quotaSpent: true } as AttemptFailure,
    {},
    { retry: false },
  ],
  ['a 429 that says no', reply(429, { 'x-should-retry': 'false' }), {}, { retry: false }],
  ['a 409 that says yes', reply(409, { 'x-should-retry': 'TRUE' }), {}, { retry: true, waitMs: 500 }],
  [
    'a 500 that says yes to --retry-safe-only',
    reply(500, { 'x-should-retry': 'true' }),
    { safeOnly: true },
    { retry: false },
  ],
  [
    'a 409 that says yes to --retry-safe-only',
    reply(409, { 'x-should-retry': 'true' }),
    { safeOnly: true },
    { retry: true, waitMs: 500 },
  ],
  ['a 429 of what may not be done twice', reply(429), { undoneOnly: true }, { retry: true, waitMs: 500 }],
  ['a 503 of what may not be done twice', reply(503), { undoneOnly: true }, { retry: false }],
  [
    'a 409 that says yes of what may not be done twice',
    reply(409, { 'x-should-retry': 'true' }),
    { undoneOnly: true },
    { retry: false },
  ],
  ['a 400 that says something else', reply(400, { 'x-should-retry': 'maybe' }), {}, { retry: false }],
  ['no retries wanted', reply(429, { 'retry-after': '2' }), { retries: 0 }, { retry: false, retryAfterMs: 2000 }],
  ['a hint', reply(429, { 'retry-after': '2' }), {}, { retry: true, waitMs: 2000 }],
  [
    'a hint by date',
    reply(503, { date, 'retry-after': 'Sun, 01 Mar 2026 12:00:09 GMT' }),
    {},
    { retry: true, waitMs: 9000 },
  ],
  ['a hint as long as the budget', reply(429, { 'retry-after': '60' }), {}, { retry: true, waitMs: 60_000 }],
  [
    'a hint beyond the budget',
    reply(429, { 'retry-after': '61' }),
    {},
    { retry: false, retryAfterMs: 61_000, isHintTooLong: true },
  ],
  ['a backoff as long as the budget', reply(503), { maxWaitMs: 500 }, { retry: true, waitMs: 500 }],
  ['a backoff beyond the budget', reply(503), { maxWaitMs: 400 }, { retry: false }],
])('decides on %s', (_name, outcome, policy, expected) => {
  expect(decide(outcome, policy)).toEqual(expected);
});

test('stops after the last retry', () => {
  expect(decide(reply(503), {}, { attempt: 2, waitedMs: 0, random: 0 })).toMatchObject({ retry: true });
  expect(decide(reply(503), {}, { attempt: 3, waitedMs: 0, random: 0 })).toEqual({ retry: false });
});

test.each<[string, AttemptFailure, Partial<RetryPolicy>, boolean]>([
  ['a busy service', reply(429), { busyRetries: 5 }, true],
  ['a busy service, where fewer are for it', reply(503), { retries: 5, busyRetries: 1 }, true],
  ['a service that failed', reply(500), { busyRetries: 5 }, false],
  ['an address that nothing answers', { kind: 'not-sent', retryable: true }, { busyRetries: 5 }, false],
])('the retries for a busy service count for that alone: %s', (_, outcome, policy, expected) => {
  expect(decide(outcome, policy, { attempt: 5, waitedMs: 0, random: 0 })).toMatchObject({ retry: expected });
});

test('a retry counts the waits so far, and never waits less than asked', () => {
  const asked = reply(429, { 'retry-after': '10' });
  expect(decide(asked, {}, { attempt: 2, waitedMs: 50_000, random: 0.9 })).toEqual({ retry: true, waitMs: 10_000 });
  expect(decide(asked, {}, { attempt: 2, waitedMs: 50_001, random: 0 })).toMatchObject({
    retry: false,
    isHintTooLong: true,
  });
});

test('a hint longer than the longest timer does not fire early', () => {
  const decision = decide(reply(429, { 'retry-after': '2147484' }), { maxWaitMs: Number.POSITIVE_INFINITY });
  expect(decision).toEqual({ retry: true, waitMs: 2 ** 31 - 1 });
});
