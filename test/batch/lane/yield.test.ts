import { stat } from 'node:fs/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createYield } from '../../../src/batch/lane/yield.ts';

function turns() {
  const clock = { now: 0 };
  return { clock, take: createYield(() => clock.now) };
}

test('who comes while there is time goes on at once', () => {
  const { clock, take } = turns();
  expect(take()).toBeUndefined();
  clock.now = 1.9;
  expect(take()).toBeUndefined();
});

test('a job that comes late in a turn of the event loop waits; waiting jobs get a turn each, in their order', async () => {
  const { clock, take } = turns();
  // From here on a turn begins.
  await stat('.');
  take();
  clock.now = 2;
  const order: number[] = [];
  for (const index of [1, 2, 3]) void take()?.then(() => order.push(index));
  clock.now = 0;
  const last = take()?.then(() => order.push(4));
  expect(order).toEqual([]);
  const seen: number[] = [];
  while (order.length < 4) {
    await turn();
    seen.push(order.length);
  }
  await last;
  expect(order).toEqual([1, 2, 3, 4]);
  expect(seen).toEqual([1, 2, 3, 4]);
});

test('a new turn has its own time', async () => {
  const { clock, take } = turns();
  take();
  clock.now = 5;
  await turn();
  expect(take()).toBeUndefined();
});
