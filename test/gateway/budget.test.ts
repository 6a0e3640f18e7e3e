import { expect, test } from 'vitest';
import { createByteBudget } from '../../src/gateway/http/body.ts';

const stay = new AbortController().signal;

/** Takes a part, and notes its name when it is there. */
function taker(capacity: number) {
  const budget = createByteBudget(capacity);
  const started: string[] = [];
  const take = async (name: string, bytes: number, signal = stay): Promise<() => void> => {
    const giveBack = await budget.take(bytes, signal);
    started.push(name);
    return giveBack;
  };
  return { started, take };
}

test('room for bodies is given in the order of the requests, and a small request does not overtake', async () => {
  const { started, take } = taker(10);
  const first = await take('first', 6);
  const second = take('second', 6);
  const third = take('third', 1);
  await Promise.resolve();
  expect(started).toEqual(['first']);
  first();
  await Promise.all([second, third]);
  expect(started).toEqual(['first', 'second', 'third']);
});

test('room that is given back twice counts once', async () => {
  const { started, take } = taker(10);
  const first = await take('first', 10);
  first();
  first();
  const second = await take('second', 10);
  const third = take('third', 10);
  await Promise.resolve();
  expect(started).toEqual(['first', 'second']);
  second();
  await third;
});

test('a body larger than all room waits for the whole room', async () => {
  const { started, take } = taker(10);
  const first = await take('first', 1);
  const huge = take('huge', 99);
  await Promise.resolve();
  expect(started).toEqual(['first']);
  first();
  (await huge)();
  await take('last', 10);
});

test('who leaves while waiting makes room for the next', async () => {
  const { started, take } = taker(10);
  const leaving = new AbortController();
  await take('first', 6);
  const gone = take('gone', 9, leaving.signal);
  const next = take('next', 4);
  leaving.abort();
  await expect(gone).rejects.toThrow('the caller left');
  await next;
  expect(started).toEqual(['first', 'next']);
  await expect(take('late', 1, leaving.signal)).rejects.toThrow('the caller left');
});
