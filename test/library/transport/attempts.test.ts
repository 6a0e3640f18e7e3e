import { expect, test } from 'vitest';
import { GatewayError, type RetryNotice } from '../../../src/library/errors.ts';
import {
  defaultRetryPolicy,
  type ErrorReply,
  type RetryOptions,
  sendWithRetries,
} from '../../../src/library/transport/retry.ts';
import { readFailedReply } from '../../../src/library/formats/failure.ts';
import { createUpload } from '../../../src/library/body.ts';
import type { Gate } from '../../../src/library/transport/gate.ts';
import { createPause, cut, reset, type ScriptedServer } from '../../helpers/scripted-server.ts';
import { open, requestTo, serve } from './post.ts';

const kinds = { 401: 'auth', 402: 'quota', 429: 'quota', 500: 'gateway', 503: 'gateway' } as const;

function classify({ status, body }: ErrorReply): GatewayError {
  const spent = body.includes('spent');
  const details = { retryAfterMs: body.includes('hint') ? 4000 : undefined, retryable: spent ? false : undefined };
  return new GatewayError(kinds[status as 401] ?? 'rejected', `status ${status}: ${body.slice(0, 20)}`, details);
}

interface Run {
  waits: number[];
  notices: RetryNotice[];
  result: Promise<unknown>;
}

/** Sends one request; the sleep only records its length. */
function send(server: ScriptedServer, options: Partial<RetryOptions> = {}): Run {
  const waits: number[] = [];
  const notices: RetryNotice[] = [];
  const result = sendWithRetries(
    requestTo(`${server.url}/v1/messages?x=y`, { data: createUpload(Buffer.from('abc')) }),
    {
      fetch: open().fetch,
      signal: new AbortController().signal,
      policy: defaultRetryPolicy,
      classify,
      onRetry: (notice) => notices.push(notice),
      sleep: async (ms) => void waits.push(ms),
      now: () => 0,
      random: () => 0,
      ...options,
    },
  );
  result.catch(() => {});
  return { waits, notices, result };
}

test('returns the reply of the first successful attempt, and sends the same bytes each time', async () => {
  const server = await serve();
  server.reply({ status: 503, body: 'one' });
  server.reply({ status: 429, headers: { 'retry-after': '7' }, body: 'two' });
  server.reply({ body: { ok: true } });
  const { waits, notices, result } = send(server);
  expect(await result).toMatchObject({ attempts: 3, reply: { status: 200 } });
  expect(waits).toEqual([500, 7000]);
  expect(notices.map(({ attempt, waitMs, error }) => [attempt, waitMs, error.message])).toEqual([
    [1, 500, 'status 503: one'],
    [2, 7000, 'status 429: two'],
  ]);
  expect(new Set(server.requests.map((request) => request.text()))).toEqual(new Set(['{"data":"YWJj"}']));
});

test('after the last attempt the header says when to come back, whatever else the reply says', async () => {
  const server = await serve();
  server.reply({ status: 429, headers: { 'retry-after': '2' }, body: 'hint' });
  const { result } = send(server, { policy: { ...defaultRetryPolicy, retries: 0 } });
  await expect(result).rejects.toMatchObject({ details: { retryAfterMs: 2000 } });
});

test('a server that still loads its model is asked until the time of the waits is over', async () => {
  const server = await serve();
  const loading = { status: 503, body: { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } } };
  for (let attempt = 0; attempt < 5; attempt++) server.reply(loading);
  server.reply({ body: 'loaded' });
  const asking = { classify: (failed: ErrorReply) => readFailedReply({ ...failed, format: 'completions' }) };
  expect(await send(server, asking).result).toMatchObject({ attempts: 6 });
  server.reply(loading);
  const { result } = send(server, { ...asking, policy: { ...defaultRetryPolicy, retries: 0 } });
  await expect(result).rejects.toMatchObject({ details: { reason: 'loading' } });
});

test('gives up after the retries with the last error of the gateway', async () => {
  const server = await serve();
  for (const body of ['a', 'b', 'c']) server.reply({ status: 503, headers: { 'retry-after': '1' }, body });
  await expect(send(server).result).rejects.toMatchObject({
    class: 'gateway',
    message: 'status 503: c',
    details: { status: 503, sent: 'yes', retryAfterMs: 1000, request: `POST ${server.url}/v1/messages` },
  });
});

test.each([
  [401, 'auth', ''],
  [404, 'rejected', ''],
  [402, 'quota', ''],
  [429, 'quota', 'spent'],
])('asks once when the status is %i (%s) %s', async (status, kind, body) => {
  const server = await serve();
  server.reply({ status, body });
  const { waits, result } = send(server);
  await expect(result).rejects.toMatchObject({ class: kind, details: { status } });
  expect(waits).toEqual([]);
});

test('uses the RetryInfo of the body as a hint', async () => {
  const server = await serve();
  server.reply({ status: 429, body: 'hint' });
  server.reply({ body: {} });
  const { waits, result } = send(server);
  await result;
  expect(waits).toEqual([4000]);
});

test('a hint above the longest wait ends the call at once as a rate limit', async () => {
  const server = await serve();
  server.reply({ status: 503, headers: { 'retry-after': '3600' }, body: 'v2.5 is down.' });
  const { waits, result } = send(server);
  await expect(result).rejects.toMatchObject({
    class: 'quota',
    exitCode: 5,
    message: 'status 503: v2.5 is down; it asks to come back after 3600 s',
    details: {
      status: 503,
      retryAfterMs: 3_600_000,
      retryable: true,
      reason: 'retry-time',
    },
  });
  expect(waits).toEqual([]);
});

test.each<[string, (server: ScriptedServer) => void, string]>([
  ['nothing came back', (server) => server.reply({ raw: [reset] }), 'no-reply'],
  ['a redirect came', (server) => server.reply({ status: 307, headers: { location: '/x' } }), 'bad-reply'],
  ['no HTTP came', (server) => server.raw('SSH-2.0\r\n'), 'bad-reply'],
])('never repeats a request that was sent when %s', async (_name, script, kind) => {
  const server = await serve();
  script(server);
  await expect(send(server).result).rejects.toMatchObject({ class: kind, details: { sent: 'yes' } });
  expect(server.requests).toHaveLength(1);
});

test('repeats requests that were not sent', async () => {
  const server = await serve();
  server.reply({ body: {} });
  const { fetch } = open();
  let calls = 0;
  const { result, notices } = send(server, {
    async fetch(request, options) {
      if (++calls === 1) throw new GatewayError('not-sent', 'refused', { sent: 'no', retryable: true });
      return await fetch(request, options);
    },
  });
  expect(await result).toMatchObject({ attempts: 2 });
  expect(notices).toHaveLength(1);
});

function* endless(): Generator<string> {
  for (;;) yield 'x'.repeat(65_536);
}

test('reads at most 1 MiB of an error, then closes the connection', async () => {
  const server = await serve();
  server.reply({ status: 400, chunks: endless() });
  let length = 0;
  const { result } = send(server, {
    classify(failed) {
      length = failed.body.length;
      return classify(failed);
    },
  });
  await expect(result).rejects.toMatchObject({ class: 'rejected' });
  expect(length).toBe(1_048_576);
  await server.requests[0]?.closed;
});

test("uses the part of an error's body that arrived before a cut", async () => {
  const server = await serve();
  server.reply({ status: 400, chunks: ['bad field', cut] });
  await expect(send(server).result).rejects.toMatchObject({ message: 'status 400: bad field' });
});

test("an abort while an error's body is read, or in a wait, ends with its reason", async () => {
  const server = await serve();
  const reason = new Error('ctrl-c');
  const reading = new AbortController();
  server.reply({ status: 400, chunks: ['bad', createPause().until] });
  const first = send(server, {
    signal: reading.signal,
    async fetch(request, options) {
      const reply = await open().fetch(request, options);
      setImmediate(() => reading.abort(reason));
      return reply;
    },
  });
  await expect(first.result).rejects.toBe(reason);

  server.reply({ status: 503, body: '' });
  const waiting = new AbortController();
  const { result } = send(server, { signal: waiting.signal, sleep: undefined, onRetry: () => waiting.abort(reason) });
  await expect(result).rejects.toBe(reason);
});

test('a deadline that ends in a wait throws the error of the gateway', async () => {
  const server = await serve();
  server.reply({ status: 429, headers: { 'retry-after': '30' }, body: 'slow down' });
  const controller = new AbortController();
  const { result } = send(server, {
    signal: controller.signal,
    sleep: undefined,
    onRetry: () => controller.abort(new DOMException('time is up', 'TimeoutError')),
  });
  await expect(result).rejects.toMatchObject({ class: 'quota', message: 'status 429: slow down' });
});

test("a deadline that ends while an error's body is read still throws that error", async () => {
  const server = await serve();
  const controller = new AbortController();
  server.reply({ status: 400, chunks: ['bad field', createPause().until] });
  const { result } = send(server, {
    signal: controller.signal,
    async fetch(request, options) {
      const reply = await open().fetch(request, options);
      setImmediate(() => controller.abort(new DOMException('time is up', 'TimeoutError')));
      return reply;
    },
  });
  await expect(result).rejects.toMatchObject({ class: 'rejected', details: { status: 400 } });
});

test('a deadline that ends in front of a closed gate throws the error of the gateway', async () => {
  const server = await serve();
  server.reply({ status: 429, body: 'slow down' });
  const controller = new AbortController();
  let entered = 0;
  const gate: Gate = {
    async enter(signal) {
      if (++entered === 1) return;
      controller.abort(new DOMException('time is up', 'TimeoutError'));
      signal.throwIfAborted();
    },
    close: () => {},
  };
  await expect(send(server, { gate, signal: controller.signal }).result).rejects.toMatchObject({
    class: 'quota',
    message: 'status 429: slow down',
  });
});

test('a gate is entered before each attempt and closed by a 429 only', async () => {
  const server = await serve();
  server.reply({ status: 503, body: '' });
  server.reply({ status: 429, headers: { 'retry-after': '9' }, body: '' });
  server.reply({ body: {} });
  const log: string[] = [];
  const gate: Gate = { enter: async () => void log.push('enter'), close: (ms) => log.push(`close ${ms}`) };
  await send(server, { gate, onSent: () => log.push('sent') }).result;
  expect(log).toEqual(['enter', 'sent', 'enter', 'sent', 'close 9000', 'enter', 'sent']);
});

test('a gate without retries left ends the call', async () => {
  const server = await serve();
  server.reply({ status: 503, body: '' });
  const gate: Gate = { enter: async () => {}, close: () => {}, allowRetry: () => false };
  await expect(send(server, { gate }).result).rejects.toMatchObject({ class: 'gateway' });
});
