import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { startDeadline } from '../../../src/library/client/deadline.ts';
import { createPause } from '../../helpers/scripted-server.ts';
import { failureOf, open, post, requestTo, serve, settled } from './post.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** A clock that the test moves; turns of the event loop stay real. */
function holdTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
}

test('a request whose reply never begins is ended by the deadline, and its outcome is unknown', async () => {
  holdTime();
  const server = await serve();
  server.reply({ raw: [createPause().until] });
  const deadline = startDeadline(600_000);
  const ending = post(server.url, { signal: deadline.signal });
  await server.received(1);
  vi.advanceTimersByTime(599_999);
  expect(deadline.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(await settled(ending)).toMatchObject({ error: deadline.signal.reason, sent: true });
  expect(deadline.explain((await ending).error, 'sent')).toMatchObject({ class: 'no-reply', billed: 'unknown' });
  await server.requests[0]?.closed;
});

test("a request whose reply never begins is ended by the caller's signal with its own reason", async () => {
  const server = await serve();
  server.reply({ raw: [createPause().until] });
  const controller = new AbortController();
  const ending = post(server.url, { signal: controller.signal });
  await server.received(1);
  const reason = new Error('time is up');
  controller.abort(reason);
  expect(await ending).toMatchObject({ error: reason, sent: true });
  await server.requests[0]?.closed;
});

async function* drip(): AsyncGenerator<string> {
  for (;;) {
    yield 'x';
    await setImmediate();
  }
}

test('slow-loris body: slow bytes do not outlast the signal', async () => {
  const server = await serve();
  server.reply({ chunks: drip() });
  const controller = new AbortController();
  const reply = await open().fetch(requestTo(server.url), { signal: controller.signal });
  const reason = new Error('time is up');
  let bytes = 0;
  const reading = (async () => {
    for await (const chunk of reply.body) {
      bytes += chunk.byteLength;
      if (bytes > 10) controller.abort(reason);
      if (bytes > 1000) return;
    }
  })();
  await expect(reading).rejects.toBe(reason);
  await server.requests[0]?.closed;
});

test('a body without a chunk for two minutes is ended', async () => {
  holdTime();
  const server = await serve();
  const pause = createPause();
  server.reply({ chunks: ['abc', pause.until, 'def', createPause().until] });
  const { body } = await open().fetch(requestTo(server.url), { signal: new AbortController().signal });
  const chunks = body[Symbol.asyncIterator]();
  await chunks.next();
  const second = chunks.next();
  vi.advanceTimersByTime(119_999);
  pause.release();
  expect(Buffer.from((await second).value).toString()).toBe('def');
  const third = chunks.next();
  vi.advanceTimersByTime(119_999);
  expect(await settled(third)).toBe('still pending');
  vi.advanceTimersByTime(1);
  expect(await settled(third)).toMatchObject({
    class: 'incomplete',
    message: 'the reply was cut: nothing came for 120 s',
  });
  await server.requests[0]?.closed;
});

test('a silence inside the body ends it as incomplete', async () => {
  const server = await serve();
  server.reply({ chunks: ['abc', createPause().until] });
  const ending = await post(server.url, { idleTimeoutMs: 300 });
  expect(ending.text).toBe('abc');
  expect(failureOf(ending)).toMatchObject({
    class: 'incomplete',
    message: 'the reply was cut: nothing came for 0.3 s',
  });
  await server.requests[0]?.closed;
});

test('a slow reader does not use up the idle time', async () => {
  const server = await serve();
  const pause = createPause();
  server.reply({ chunks: ['abc', pause.until, 'def'] });
  const reply = await open({ idleTimeoutMs: 300 }).fetch(requestTo(server.url), {
    signal: new AbortController().signal,
  });
  const chunks = reply.body[Symbol.asyncIterator]();
  await chunks.next();
  // The reader is busy for longer than the idle time.
  const until = performance.now() + 600;
  while (performance.now() < until);
  pause.release();
  expect(Buffer.from((await chunks.next()).value).toString()).toBe('def');
});

test('an abort before the start sends nothing', async () => {
  const server = await serve();
  const reason = new Error('no');
  const ending = await post(server.url, { signal: AbortSignal.abort(reason) });
  expect(ending).toMatchObject({ error: reason, sent: false });
  expect(server.connections).toBe(0);
});

test('an abort while connecting ends at once', async () => {
  const controller = new AbortController();
  const server = await serve();
  const reason = new Error('no');
  // The server does not speak TLS: the handshake never ends.
  const ending = post(server.url.replace('http:', 'https:'), { signal: controller.signal });
  await setImmediate();
  controller.abort(reason);
  expect(await ending).toMatchObject({ error: reason, sent: false });
});

test('leaving the loop early closes the connection, so that the gateway can stop', async () => {
  const server = await serve();
  server.reply({ chunks: ['abc', createPause().until] });
  const reply = await open().fetch(requestTo(server.url), { signal: new AbortController().signal });
  for await (const chunk of reply.body) {
    expect(Buffer.from(chunk).toString()).toBe('abc');
    break;
  }
  await server.requests[0]?.closed;
});

test('slow reader: the server waits for the reader', async () => {
  const server = await serve();
  let written = 0;
  const block = new Uint8Array(1024 * 1024);
  function* endless(): Generator<Uint8Array> {
    for (;;) {
      written += block.byteLength;
      yield block;
    }
  }
  server.reply({ chunks: endless() });
  const reply = await open().fetch(requestTo(server.url), { signal: new AbortController().signal });
  const chunks = reply.body[Symbol.asyncIterator]();
  await chunks.next();
  let before = -1;
  // Turns of the event loop until the sender pauses.
  for (let still = 0; still < 20; still = written === before ? still + 1 : 0) {
    before = written;
    for (let turn = 0; turn < 50; turn++) await setImmediate();
  }
  expect(written).toBeLessThan(32 * 1024 * 1024);
  await chunks.return?.();
  await server.requests[0]?.closed;
});

test('each of many requests at once reports whether it was sent', async () => {
  const server = await serve();
  server.always(({ path }) => (path === '/cut' ? { raw: [] } : { body: path }));
  const controller = new AbortController();
  const transport = open();
  const answered = Array.from({ length: 20 }, (_, n) => post(`${server.url}/${n}`, { transport }));
  const refused = Array.from({ length: 20 }, () => post('http://127.0.0.1:1/', { transport }));
  const hanging = post(`${server.url}/cut`, { transport, signal: controller.signal });
  const all = await Promise.all([...answered, ...refused]);
  expect(all.map(({ sent }) => sent)).toEqual([...Array(20).fill(true), ...Array(20).fill(false)]);
  expect(all.slice(0, 20).map(({ text }) => text)).toEqual(Array.from({ length: 20 }, (_, n) => `/${n}`));
  controller.abort(new Error('enough'));
  expect((await hanging).sent).toBe(true);
});

test('many requests with one signal cause no warning', async () => {
  const server = await serve();
  server.always({ body: {} });
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  const [transport, { signal }] = [open(), new AbortController()];
  await Promise.all(Array.from({ length: 20 }, () => post(server.url, { transport, signal })));
  await setImmediate();
  expect(warnings).toEqual([]);
});

test('closing ends requests in flight', async () => {
  const server = await serve();
  server.reply({ raw: [] });
  const transport = open();
  const ending = post(server.url, { transport });
  await server.received(1);
  await transport.close();
  expect(failureOf(await ending).class).toBe('no-reply');
});
