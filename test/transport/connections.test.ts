import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type Lane, openConnections } from '../../src/transport/connections.ts';
import { reset } from '../helpers/scripted-server.ts';
import { failureOf, open, post, serve } from './post.ts';

const origin = 'http://127.0.0.1:1';

function connections(elapsed?: () => number) {
  const opened = openConnections(() => expect.unreachable(), elapsed);
  onTestFinished(() => opened.destroy());
  return opened;
}

/** Whether a lane is there before the next turn of the event loop. */
async function isAtHand(taking: Promise<Lane>): Promise<boolean> {
  let taken = false;
  void taking.then(() => (taken = true));
  for (let step = 0; step < 10; step++) await Promise.resolve();
  return taken;
}

/** Until a connection that was kept just now is free. */
async function rested(): Promise<void> {
  await turn();
  await turn();
}

test('a connection is used again once it was quiet for ten milliseconds', async () => {
  let now = 0;
  const { take } = connections(() => now);
  const first = await take(origin);
  first.keep();
  await rested();
  now = 9;
  const second = await take(origin);
  expect(second.client).not.toBe(first.client);
  now = 10;
  expect((await take(origin)).client).toBe(first.client);
});

test('the system is asked for what arrived before a connection is used again, however long it was quiet', async () => {
  let now = 0;
  const { take } = connections(() => now);
  const first = await take(origin);
  first.keep();
  await rested();
  now = 1000;
  const again = take(origin);
  expect(await isAtHand(again)).toBe(false);
  expect((await again).client).toBe(first.client);
});

test.each([
  { atOnce: 1, spare: 4 },
  { atOnce: 8, spare: 4 },
  { atOnce: 12, spare: 6 },
])(
  'of $atOnce at once $spare more may be open, then the one that rested longest is used',
  async ({ atOnce, spare }) => {
    const { take } = connections(() => 0);
    const lanes = await Promise.all(Array.from({ length: atOnce }, () => take(origin)));
    const used = new Set(lanes.map(({ client }) => client));
    for (let index = 0; index < spare; index++) {
      lanes[index]?.keep();
      await rested();
      const more = await take(origin);
      expect(used.has(more.client)).toBe(false);
      used.add(more.client);
      lanes.push(more);
    }
    lanes[spare]?.keep();
    await rested();
    expect((await take(origin)).client).toBe(lanes[0]?.client);
  },
);

test('at the limit a connection that rests is waited for, and none is opened', async () => {
  const { take } = connections(() => 0);
  const lanes = await Promise.all(Array.from({ length: 8 }, () => take(origin)));
  for (const lane of lanes.slice(0, 4)) lane.keep();
  await rested();
  lanes.push(...(await Promise.all(Array.from({ length: 4 }, () => take(origin)))));
  const known = new Set(lanes.map(({ client }) => client));
  expect(known.size).toBe(12);
  // Four are free, and five rest: the last of five has to wait for one of these.
  for (const lane of lanes.slice(4, 9)) lane.keep();
  const again = await Promise.all(Array.from({ length: 5 }, () => take(origin)));
  expect(again.filter(({ client }) => known.has(client))).toHaveLength(5);
  expect(again[4]?.client).toBe(lanes[4]?.client);
});

test('the connection that was used last is taken first: those that nobody needs grow old and are closed', async () => {
  let now = 0;
  const { take } = connections(() => now);
  const lanes = await Promise.all([take(origin), take(origin), take(origin)]);
  for (const lane of lanes) {
    lane.keep();
    await rested();
  }
  now = 10;
  expect((await take(origin)).client).toBe(lanes[2]?.client);
});

test('each origin has connections of its own', async () => {
  const { take } = connections();
  const first = await take(origin);
  first.keep();
  await rested();
  expect((await take('http://127.0.0.1:2')).client).not.toBe(first.client);
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

test('nothing is sent any more once the transport is closed', async () => {
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

test('what is refused or given up is not connected for once more', async () => {
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
  // Whoever connects again does so by now: a new connection behind theirs is the third.
  server.reply({ body: 'third' });
  expect(await post(server.url, { transport })).toMatchObject({ text: 'third' });
  expect(server.connections).toBe(3);
});

test('who gives up while a connection rests has sent nothing, and leaves it to the next', async () => {
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
