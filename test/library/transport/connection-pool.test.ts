import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { createConnectionPool } from '../../../src/library/transport/connection.ts';
import { reset } from '../../helpers/scripted-server.ts';
import { failureOf, open, post, serve } from './post.ts';

const origin = 'http://127.0.0.1:1';

function createPool() {
  const pool = createConnectionPool(() => expect.unreachable());
  onTestFinished(() => pool.destroy());
  return pool;
}

/** For tests that move the clock themselves; turns of the event loop are real. */
function holdTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
}

afterEach(() => void vi.useRealTimers());

/** Lets all released connections rest long enough. */
async function rest(): Promise<void> {
  vi.advanceTimersByTime(10);
  await turn();
}

test('a connection is used again after ten milliseconds and one more read', async () => {
  holdTimers();
  const pool = createPool();
  const first = pool.acquire(origin);
  pool.release(origin, first);
  vi.advanceTimersByTime(9);
  await turn();
  expect(pool.acquire(origin)).not.toBe(first);
  vi.advanceTimersByTime(1);
  expect(pool.acquire(origin)).not.toBe(first);
  await turn();
  expect(pool.acquire(origin)).toBe(first);
});

test('the most recently used connection is used first, so that surplus ones expire', async () => {
  holdTimers();
  const pool = createPool();
  const connections = [pool.acquire(origin), pool.acquire(origin), pool.acquire(origin)];
  for (const connection of connections) pool.release(origin, connection);
  await rest();
  expect(pool.acquire(origin)).toBe(connections[2]);
});

test.each([
  { atOnce: 1, spare: 4 },
  { atOnce: 8, spare: 4 },
  { atOnce: 12, spare: 6 },
])(
  'for $atOnce at once, $spare more connections may be open, then the one that rested longest is used',
  ({ atOnce, spare }) => {
    const pool = createPool();
    const connections = Array.from({ length: atOnce }, () => pool.acquire(origin));
    const used = new Set(connections);
    for (let index = 0; index < spare; index++) {
      pool.release(origin, connections[index] ?? expect.unreachable());
      const more = pool.acquire(origin);
      expect(used.has(more)).toBe(false);
      used.add(more);
      connections.push(more);
    }
    pool.release(origin, connections[spare] ?? expect.unreachable());
    expect(pool.acquire(origin)).toBe(connections[0]);
  },
);

test('each origin has connections of its own', async () => {
  holdTimers();
  const pool = createPool();
  const first = pool.acquire(origin);
  pool.release(origin, first);
  await rest();
  expect(pool.acquire('http://127.0.0.1:2')).not.toBe(first);
});

test('requests one after the other, and eight at a time, open no more than they need', async () => {
  const server = await serve();
  const transport = open();
  for (let index = 0; index < 10; index++) {
    server.reply({ body: 'x' });
    expect(await post(server.url, { transport })).toMatchObject({ text: 'x' });
  }
  expect(server.connections).toBeLessThanOrEqual(5);
  const worker = async () => {
    for (let index = 0; index < 10; index++) {
      server.reply({ body: 'x' });
      expect(await post(server.url, { transport })).toMatchObject({ text: 'x' });
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  expect(server.connections).toBeLessThanOrEqual(12);
});

test('nothing is sent after the transport was closed', async () => {
  const server = await serve();
  const transport = open();
  server.reply({ body: 'first' });
  await post(server.url, { transport });
  const waiting = post(server.url, { transport });
  await transport.close();
  expect(failureOf(await waiting)).toMatchObject({ class: 'not-sent', billed: 'no' });
  expect(failureOf(await post(server.url, { transport }))).toMatchObject({ class: 'not-sent', billed: 'no' });
  expect(server.requests).toHaveLength(1);
});

test('after a failure the next request has another connection', async () => {
  const server = await serve();
  const transport = open();
  server.reply({ raw: [reset] });
  server.reply({ body: 'second' });
  expect(failureOf(await post(server.url, { transport })).class).toBe('no-reply');
  expect(await post(server.url, { transport })).toMatchObject({ text: 'second' });
  expect(server.connections).toBe(2);
});

test('a refused or aborted exchange opens no further connection', async () => {
  const server = await serve();
  const transport = open();
  server.reply({ status: 302, headers: { location: 'http://127.0.0.1:1/' } });
  expect(failureOf(await post(server.url, { transport })).class).toBe('bad-reply');
  const controller = new AbortController();
  server.reply({ chunks: ['abc', new Promise(() => {})] });
  const reading = post(server.url, { transport, signal: controller.signal });
  while (server.requests.length < 2) await turn();
  controller.abort(new Error('enough'));
  await reading;
  await Promise.all(server.requests.map(({ closed }) => closed));
  // An extra connection would be open by now: this one is the third.
  server.reply({ body: 'third' });
  expect(await post(server.url, { transport })).toMatchObject({ text: 'third' });
  expect(server.connections).toBe(3);
});

test('an abort while a connection rests sends nothing and leaves it to the next request', async () => {
  const server = await serve();
  const transport = open();
  for (const body of ['first', 'second']) server.reply({ body });
  await post(server.url, { transport });
  const controller = new AbortController();
  const given = post(server.url, { transport, signal: controller.signal });
  controller.abort(new Error('enough'));
  expect(await given).toMatchObject({ sent: false });
  expect(server.requests).toHaveLength(1);
  expect(await post(server.url, { transport })).toMatchObject({ text: 'second' });
  expect(server.connections).toBeLessThanOrEqual(2);
});
