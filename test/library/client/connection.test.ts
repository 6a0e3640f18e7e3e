import { afterEach, expect, test, vi } from 'vitest';
import { createClient } from '../../../src/library/client/client.ts';
import type { ClientOptions } from '../../../src/library/client/client-types.ts';
import type { SendOptions } from '../../../src/library/client/send.ts';
import { startDeadline } from '../../../src/library/client/deadline.ts';
import type { Answered, Fetch, HttpReply } from '../../../src/library/transport/types.ts';

afterEach(() => {
  vi.useRealTimers();
});

function send(
  fetch: Fetch,
  { options, ...sending }: SendOptions & { options?: Partial<ClientOptions> },
): Promise<Answered> {
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', connection: { fetch }, ...options });
  const policy = { retries: 1, maxWaitMs: 1, safeOnly: false };
  const sent = client.send({ path: '/', format: 'content', use: 'text', body: {} }, { policy, ...sending });
  sent.catch(() => {});
  return sent;
}

/** Waits until the signal aborts, sent before or not. */
function silence(isSent: boolean): Fetch {
  return async (_request, { signal, onSent }) => {
    if (isSent) onSent?.();
    return await new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  };
}

async function* bodyOf(...steps: (string | Promise<never>)[]): AsyncGenerator<Uint8Array> {
  for (const step of steps) yield Buffer.from(await step);
}

test.each([
  [false, { class: 'not-sent', billed: 'no' }],
  [true, { class: 'no-reply', billed: 'unknown' }],
])('time that is up before a reply, sent: %s', async (isSent, expected) => {
  vi.useFakeTimers();
  const sending = send(silence(isSent), { deadline: startDeadline(1000) });
  await vi.advanceTimersByTimeAsync(1000);
  await expect(sending).rejects.toMatchObject(expected);
});

test('each attempt is unsent at first, whatever became of the one before', async () => {
  vi.useFakeTimers();
  const answered: HttpReply = { status: 503, headers: { 'retry-after-ms': '0' }, body: bodyOf('busy') };
  let attempts = 0;
  let secondBegan = (): void => {};
  const second = new Promise<void>((resolve) => (secondBegan = resolve));
  const fetch: Fetch = async (request, options) => {
    if (++attempts > 1) {
      secondBegan();
      return await silence(false)(request, options);
    }
    options.onSent?.();
    return answered;
  };
  const sending = send(fetch, { deadline: startDeadline(1000) });
  await second;
  await vi.advanceTimersByTimeAsync(1000);
  await expect(sending).rejects.toMatchObject({ class: 'not-sent' });
});

test('time that is up inside the body is reported while it is read', async () => {
  vi.useFakeTimers();
  const deadline = startDeadline(1000);
  const over = new Promise<never>((_resolve, reject) => {
    deadline.signal.addEventListener('abort', () => reject(deadline.signal.reason as Error));
  });
  const { reply } = await send(async () => ({ status: 200, headers: {}, body: bodyOf('a', over) }), { deadline });
  const chunks = reply.body[Symbol.asyncIterator]();
  await chunks.next();
  const reading = chunks.next();
  reading.catch(() => {});
  await vi.advanceTimersByTimeAsync(1000);
  await expect(reading).rejects.toMatchObject({ class: 'incomplete', billed: 'yes' });
});

test('a refused key is judged by how it was sent, and the body is reported as it came', async () => {
  const bodies: string[] = [];
  const body = '{"error":"Missing Authorization header"}';
  const sending = send(async () => ({ status: 401, headers: {}, body: bodyOf(body) }), {
    deadline: startDeadline(1000),
    options: { apiKey: 'k', headerNames: { apiKey: 'x-api-key' } },
    onEvent: (event) => void (event.type === 'refused' && bodies.push(Buffer.from(event.body).toString())),
  });
  await expect(sending).rejects.toMatchObject({ class: 'auth', details: { reason: 'auth', value: 'bearer' } });
  expect(bodies).toEqual([body]);
});
