import { getEventListeners } from 'node:events';
import { afterEach, expect, test, vi } from 'vitest';
import { chooseHint } from '../../../src/library/reasons.ts';
import type { GatewayError } from '../../../src/library/errors.ts';
import { startDeadline } from '../../../src/library/client/deadline.ts';

afterEach(() => {
  vi.useRealTimers();
});

test.each([
  ['unsent', '', { class: 'not-sent', billed: 'no', details: { sent: 'no', retryable: true } }],
  [
    'sent',
    'it may have been billed: check that before you run it again\n',
    { class: 'no-reply', billed: 'unknown', details: { sent: 'yes', retryable: false } },
  ],
  [
    'reading',
    'asking again may be billed again\n',
    { class: 'incomplete', billed: 'yes', details: { sent: 'yes', retryable: false } },
  ],
] as const)('time that is up means, %s: %s%j', (phase, cost, expected) => {
  vi.useFakeTimers();
  const deadline = startDeadline(90_000);
  vi.advanceTimersByTime(90_000);
  const error = deadline.explain(deadline.signal.reason, phase) as GatewayError;
  expect(error).toMatchObject(expected);
  expect(error.details).toMatchObject({ reason: 'timeout', value: 3 });
  expect(chooseHint(error)).toBe(`${cost}give it more time: --timeout 3m`);
});

test('an error that is not a timeout stays as it is, also when time is up', () => {
  vi.useFakeTimers();
  const deadline = startDeadline(1000);
  const error = new Error('cut');
  expect(deadline.explain(error, 'sent')).toBe(error);
  vi.advanceTimersByTime(1000);
  expect(deadline.explain(error, 'sent')).toBe(error);
});

test("the caller's abort comes through with its reason, also one from before", () => {
  const caller = new AbortController();
  const { signal } = startDeadline(1000, caller.signal);
  const reason = new Error('ctrl-c');
  caller.abort(reason);
  expect(signal.reason).toBe(reason);
  expect(startDeadline(1000, caller.signal).signal.reason).toBe(reason);
});

test('a time that no timer can take is not over at once', () => {
  vi.useFakeTimers();
  const { signal } = startDeadline(2 ** 31);
  vi.advanceTimersByTime(1_000_000);
  expect(signal.aborted).toBe(false);
  vi.advanceTimersByTime(2 ** 31 - 1);
  expect(signal.aborted).toBe(true);
});

test('a deadline that has ended leaves no timer and no listener, and its timer never holds the process', () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  const caller = new AbortController();
  startDeadline(1_000_000, caller.signal).end();
  startDeadline(1_000_000);
  expect(timers()).toBe(before);
  expect(getEventListeners(caller.signal, 'abort')).toEqual([]);
  vi.useFakeTimers();
  startDeadline(1000).end();
  expect(vi.getTimerCount()).toBe(0);
});
