import { stat } from 'node:fs/promises';
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

test('a connection rests until the system was asked whether it still stands', async () => {
  const { take } = connections();
  const first = await take(origin);
  // A reply is news of the system, like this: at the end of the same turn nobody has asked for more.
  await stat('.');
  first.keep();
  await turn();
  const second = take(origin);
  expect(await isAtHand(second)).toBe(false);
  expect((await second).client).toBe(first.client);
});

test('one that has just rested is at hand, one that lay idle is listened to for a turn', async () => {
  let now = 0;
  const { take } = connections(() => now);
  const first = await take(origin);
  for (const [ms, atHand] of [
    [5, true],
    [6, false],
  ] as const) {
    first.keep();
    await rested();
    now += ms;
    const next = take(origin);
    expect(await isAtHand(next)).toBe(atHand);
    expect((await next).client).toBe(first.client);
  }
});

test('of eight at once a quarter more may be open, so that not every reply waits', async () => {
  const { take } = connections();
  const lanes = await Promise.all(Array.from({ length: 8 }, () => take(origin)));
  const used = new Set(lanes.map(({ client }) => client));
  for (const spare of [0, 1]) {
    lanes[spare]?.keep();
    const more = take(origin);
    expect(await isAtHand(more)).toBe(true);
    expect(used.has((await more).client)).toBe(false);
  }
  lanes[2]?.keep();
  const next = take(origin);
  expect(await isAtHand(next)).toBe(false);
  expect(used.has((await next).client)).toBe(true);
});

test('of four at once none is open beyond them', async () => {
  const { take } = connections();
  const lanes = await Promise.all(Array.from({ length: 4 }, () => take(origin)));
  lanes[0]?.keep();
  const next = take(origin);
  expect(await isAtHand(next)).toBe(false);
  expect((await next).client).toBe(lanes[0]?.client);
});

test('the connection that was used last is taken first: those that nobody needs grow old and are closed', async () => {
  const { take } = connections();
  const lanes = await Promise.all([take(origin), take(origin), take(origin)]);
  for (const lane of lanes) {
    lane.keep();
    await rested();
  }
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
  expect(server.connections).toBe(1);
  const worker = async () => {
    for (let index = 0; index < 10; index++) {
      server.reply({ body: 'x' });
      expect(await post(server.url, { transport })).toMatchObject({ text: 'x' });
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  expect(server.connections).toBeLessThanOrEqual(10);
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
  expect(server.connections).toBe(1);
});
