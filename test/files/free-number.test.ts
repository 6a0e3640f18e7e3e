import { expect, test } from 'vitest';
import { freeNumber } from '../../src/files/free-number.ts';

async function find(from: number, isTaken: (n: number) => boolean): Promise<{ n: number; checks: number }> {
  let checks = 0;
  const n = await freeNumber(from, async (number) => {
    checks++;
    return isTaken(number);
  });
  return { n, checks };
}

test.each([0, 1, 5, 8, 9, 10, 100, 20_000, 1_000_000])('finds the number after %d taken ones', async (count) => {
  const { n, checks } = await find(1, (number) => number <= count);
  expect(n).toBe(count + 1);
  expect(checks).toBeLessThan(60);
});

test('finds the first gap among few taken numbers', async () => {
  expect((await find(1, (number) => [1, 2, 4, 7].includes(number))).n).toBe(3);
  expect((await find(4, (number) => [1, 2, 4, 7].includes(number))).n).toBe(5);
});

test('finds a free number after many with gaps', async () => {
  const isTaken = (number: number): boolean => number <= 500 && number % 97 !== 0;
  expect(isTaken((await find(1, isTaken)).n)).toBe(false);
});
