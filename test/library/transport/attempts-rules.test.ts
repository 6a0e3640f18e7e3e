import { EventEmitter, once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { type ErrorDetails, GatewayError } from '../../../src/library/errors.ts';
import { defaultRetryPolicy, type RetryOptions, sendWithRetries } from '../../../src/library/transport/retry.ts';
import { longestTimerMs } from '../../../src/library/clock.ts';
import type { Fetch, FetchCall, HttpReply } from '../../../src/library/transport/types.ts';
import { requestTo } from './post.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** Sends with the given outcomes, one for each fetch; `calls` counts them. */
function send(
  ends: readonly ((call: FetchCall) => Promise<HttpReply>)[],
  options: Partial<RetryOptions> = {},
): { calls: () => number; waits: number[]; result: Promise<unknown> } {
  let calls = 0;
  const waits: number[] = [];
  const fetch: Fetch = async (_, call) => {
    const end = ends[calls++];
    if (end === undefined) throw new Error('one fetch too many');
    return await end(call);
  };
  const result = sendWithRetries(requestTo('http://127.0.0.1:1/'), {
    fetch,
    signal: new AbortController().signal,
    policy: defaultRetryPolicy,
    classify: ({ status }) => new GatewayError('gateway', `status ${status}`),
    sleep: async (ms) => void waits.push(ms),
    now: () => 0,
    random: () => 0,
    ...options,
  });
  result.catch(() => {});
  return { calls: () => calls, waits, result };
}

async function* bodyOf(...steps: (string | (() => unknown))[]): AsyncGenerator<Uint8Array> {
  for (const step of steps) {
    if (typeof step === 'string') yield Buffer.from(step);
    else await step();
  }
}

const answer =
  (status: number, headers: Record<string, string> = {}, ...steps: (string | (() => unknown))[]) =>
  async (): Promise<HttpReply> => ({ status, headers, body: bodyOf(...steps) });

const failure = (kind: 'not-sent' | 'no-reply' | 'incomplete', details?: ErrorDetails) => () =>
  Promise.reject(new GatewayError(kind, 'it failed', details));

const never = (): Promise<never> => new Promise(() => {});

test('all waits together stay within the budget', async () => {
  const { waits, result } = send([answer(503), answer(503)], { policy: { ...defaultRetryPolicy, maxWaitMs: 1200 } });
  await expect(result).rejects.toMatchObject({ message: 'status 503' });
  expect(waits).toEqual([500]);
});

test.each([
  ['what was sent, even without `retryable: false`', failure('no-reply', { sent: 'yes' })],
  ['what was sent, even if the error is retryable', failure('no-reply', { sent: 'yes', retryable: true })],
  ['a reply that was cut', failure('incomplete', { sent: 'yes', retryable: true })],
  ['a certificate that is not trusted', failure('not-sent', { sent: 'no', retryable: false })],
])('an attempt that is never repeated: %s', async (_, end) => {
  const { calls, result } = send([end]);
  await expect(result).rejects.toMatchObject({ message: 'it failed' });
  expect(calls()).toBe(1);
});

test('an abort throws its own reason, with the attempts that were made, and no retry is reported', async () => {
  const controller = new AbortController();
  const reason = new GatewayError('interrupted', 'ended by INT');
  const notices: unknown[] = [];
  const end = async (): Promise<never> => {
    controller.abort(reason);
    throw reason;
  };
  const { result } = send([end], { signal: controller.signal, onRetry: (notice) => notices.push(notice) });
  await expect(result).rejects.toMatchObject({
    class: 'interrupted',
    message: 'ended by INT',
    details: { attempts: 1 },
  });
  expect(notices).toEqual([]);
});

test.each([
  ['no', 'before anything is sent', undefined, 'unsent'],
  ['unknown', 'while an attempt is under way', undefined, 'sent'],
  ['no', 'before the attempt after a 429', 429, 'unsent'],
  ['no', 'in the wait after a 429', 429, 'wait'],
  ['unknown', 'in the wait after a 500', 500, 'wait'],
] as const)('a request may have been billed: %s, if a signal comes %s', async (billed, _, status, moment) => {
  const controller = new AbortController();
  const end = (): void => controller.abort(new GatewayError('interrupted', 'ended by INT'));
  const failed = async (call: FetchCall) => (call.onSent?.(), answer(status ?? 0)());
  const ended = async (call: FetchCall): Promise<never> => {
    if (moment === 'sent') call.onSent?.();
    end();
    throw controller.signal.reason;
  };
  const { result } = send(status === undefined ? [ended] : [failed, ended], {
    signal: controller.signal,
    classify: (reply) => new GatewayError(reply.status === 429 ? 'quota' : 'gateway', 'no'),
    ...(moment === 'wait' && { onRetry: end, sleep: undefined }),
  });
  await expect(result).rejects.toMatchObject({ class: 'interrupted', billed });
});

test('an abort without a reason ends a wait too', async () => {
  const controller = new AbortController();
  const { result } = send([answer(503)], {
    signal: controller.signal,
    sleep: undefined,
    onRetry: () => controller.abort(),
  });
  await expect(result).rejects.toMatchObject({ name: 'AbortError' });
});

test("an error's body that never ends is read for five seconds", async () => {
  vi.useFakeTimers();
  const { result } = send([answer(400, {}, 'bad field', never)], {
    classify: ({ body }) => new GatewayError('rejected', body),
  });
  await vi.advanceTimersByTimeAsync(5000);
  await expect(result).rejects.toMatchObject({ class: 'rejected', message: 'bad field' });
});

test('the last 429 closes the gate too, for the time of its hint', async () => {
  const closed: number[] = [];
  const { result } = send([answer(429, { 'retry-after': '9' })], {
    policy: { ...defaultRetryPolicy, retries: 0 },
    gate: { enter: async () => {}, close: (ms) => void closed.push(ms) },
  });
  await expect(result).rejects.toMatchObject({ details: { retryAfterMs: 9000 } });
  expect(closed).toEqual([9000]);
});

test('a failure that may have been billed stays so if the gateway asks for too long a wait', async () => {
  const { result } = send([answer(500, { 'retry-after': '3600' })]);
  await expect(result).rejects.toMatchObject({ class: 'quota', billed: 'unknown' });
});

test('a wait longer than the longest timer does not end at once', async () => {
  const controller = new AbortController();
  const headers = { 'retry-after-ms': String(longestTimerMs) };
  const told = new EventEmitter();
  const waiting = once(told, 'wait');
  const { calls, result } = send([answer(503, headers), answer(200)], {
    policy: { ...defaultRetryPolicy, maxWaitMs: 4 * longestTimerMs },
    random: () => 0.9,
    signal: controller.signal,
    sleep: undefined,
    onRetry: () => void told.emit('wait'),
  });
  const warnings: string[] = [];
  const warned = ({ name }: Error): void => void warnings.push(name);
  process.on('warning', warned);
  await waiting;
  await setImmediate();
  controller.abort();
  await expect(result).rejects.toMatchObject({ name: 'AbortError' });
  process.off('warning', warned);
  // Of a time that is too long Node makes 1 ms, and says so.
  expect([calls(), warnings]).toEqual([1, []]);
});

test('an error with a spent quota is not retried, whatever its status', async () => {
  const classify = (): GatewayError => new GatewayError('gateway', 'no credit', { retryable: false });
  const { calls, result } = send([answer(503)], { classify });
  await expect(result).rejects.toMatchObject({ message: 'no credit' });
  expect(calls()).toBe(1);
});

test("after the size limit an error's body is closed and no timer is left", async () => {
  vi.useFakeTimers();
  let [pulled, closed] = [0, false];
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (; pulled < 100; pulled++) yield new Uint8Array(512 * 1024);
    } finally {
      closed = true;
    }
  }
  const { result } = send([async () => ({ status: 400, headers: {}, body: endless() })]);
  await expect(result).rejects.toMatchObject({ message: 'status 400' });
  expect([pulled, closed, vi.getTimerCount()]).toEqual([1, true, 0]);
});

test('an error whose body can only be read, not closed, is still told', async () => {
  const next = async () => ({ done: true, value: undefined }) as const;
  const body = { [Symbol.asyncIterator]: () => ({ next }) };
  await expect(send([async () => ({ status: 400, headers: {}, body })]).result).rejects.toThrow('status 400');
});

test.each([101, 199, 300])('the status %i is an error: only 2xx is an answer', async (status) => {
  await expect(send([answer(status)]).result).rejects.toMatchObject({
    message: `status ${status}`,
    details: { status },
  });
});

test('a failure that is no error of the program comes out as it is, and is not retried', async () => {
  const bug = new TypeError('a bug');
  await expect(send([() => Promise.reject(bug)]).result).rejects.toBe(bug);
});

test('what an error without a reply says about when to come back stays', async () => {
  const { result } = send([failure('no-reply', { sent: 'yes', retryAfterMs: 3000 })]);
  await expect(result).rejects.toMatchObject({ details: { retryAfterMs: 3000 } });
});

test('a request that was not sent because its call ended is not retried', async () => {
  const controller = new AbortController();
  const end = async (): Promise<never> => {
    controller.abort(new Error('enough'));
    throw new GatewayError('not-sent', 'no connection', { sent: 'no', retryable: true });
  };
  const { calls, waits, result } = send([end], { signal: controller.signal });
  await expect(result).rejects.toMatchObject({ message: 'no connection' });
  expect([calls(), waits]).toEqual([1, []]);
});

test('a call that ends is explained by whether its last attempt was sent, not one before', async () => {
  const told: boolean[] = [];
  const explain = (thrown: unknown, isSent: boolean): unknown => (told.push(isSent), thrown);
  const sent = (end: () => Promise<HttpReply>) => (call: FetchCall) => {
    call.onSent?.();
    return end();
  };
  const lost = failure('no-reply', { sent: 'yes' });
  const refused = failure('not-sent', { sent: 'no', retryable: false });
  for (const ends of [[refused], [sent(lost)], [sent(answer(503)), refused], [refused]])
    await expect(send(ends, { explain }).result).rejects.toThrow('it failed');
  const gate = { enter: () => Promise.reject(new Error('it failed while it waited')), close: () => {} };
  await expect(send([], { explain, gate }).result).rejects.toThrow('while it waited');
  expect(told).toEqual([false, true, false, false, false]);
});

test('an attempt is paid for before it is sent, and one that is not paid for is none', async () => {
  const paid = (call: FetchCall) => Promise.resolve(call.beforeSend?.()).then(answer(503));
  let payments = 0;
  const reserve = async (): Promise<void> => {
    if (++payments === 2) throw new GatewayError('over-budget', 'the budget is spent');
  };
  const { calls, result } = send([paid, paid], { reserve });
  await expect(result).rejects.toMatchObject({ message: 'the budget is spent', details: { attempts: 1 } });
  expect(calls()).toBe(2);
});

test('what a recording answers counts as no attempt', async () => {
  const recorded = async (): Promise<HttpReply> => ({ ...(await answer(200)()), recordedAt: 0 });
  expect(await send([answer(503), recorded]).result).toMatchObject({ attempts: 1 });
});

test.each([
  [60, [60_000]],
  [61, []],
])('a 429 that asks to wait %i s closes the gate for %j ms: what gives up holds nobody back', async (seconds, ms) => {
  const closed: number[] = [];
  const { result } = send([answer(429, { 'retry-after': `${seconds}` }), answer(400)], {
    gate: { enter: async () => {}, close: (pause) => void closed.push(pause) },
  });
  await expect(result).rejects.toThrow('status');
  expect(closed).toEqual(ms);
});

test.each([
  ['retries', 2],
  ['loading', undefined],
] as const)('an error for the reason %s says after how many retries it is final: %s', async (reason, value) => {
  const classify = (): GatewayError => new GatewayError('gateway', 'no', { reason });
  await expect(send([answer(501)], { classify }).result).rejects.toMatchObject({ details: { reason, value } });
});
