import { expect, test } from 'vitest';
import { freeNumber } from '../../src/files/place-file.ts';

async function find(from: number, isTaken: (n: number) => boolean): Promise<{ n: number; looks: number }> {
  let looks = 0;
  const n = await freeNumber(from, async (number) => {
    looks++;
    return isTaken(number);
  });
  return { n, looks };
}

test.each([0, 1, 5, 8, 9, 10, 100, 20_000, 1_000_000])('the number behind %d taken ones is free', async (count) => {
  const { n, looks } = await find(1, (number) => number <= count);
  expect(n).toBe(count + 1);
  expect(looks).toBeLessThan(60);
});

test('among few taken numbers the first gap is found', async () => {
  expect((await find(1, (number) => [1, 2, 4, 7].includes(number))).n).toBe(3);
  expect((await find(4, (number) => [1, 2, 4, 7].includes(number))).n).toBe(5);
});

test('behind many, with gaps, a free number is found', async () => {
  const isTaken = (number: number): boolean => number <= 500 && number % 97 !== 0;
  expect(isTaken((await find(1, isTaken)).n)).toBe(false);
});
