import { expect, test } from 'vitest';
import {
  addSpending,
  addUnknown,
  createBudget,
  heldFor,
  joinSpendings,
  scaleAmount,
  subtractAmounts,
  sumHeld,
} from '../../../src/library/cost/cost.ts';

const bound = (amount: string, isMost = true) => ({ amount, isMost });
const cost = (amount: string) => ({ amount, currency: 'USD' });

test('refuses a request that could exceed the rest, and can be spent to its last digit', async () => {
  const budget = createBudget({ most: '0.3', spent: '0.1', dearest: '0' });
  expect(await budget.reserve(bound('0.2000001'))).toBeUndefined();
  (await budget.reserve(bound('0.2')))?.spend(cost('0.2'));
  expect(await budget.reserve(bound('0.0000001'))).toBeUndefined();
});

test('a request waits while others could need the budget, and continues if they cost less', async () => {
  const budget = createBudget({ most: '1', spent: '0', dearest: '0' });
  const first = await budget.reserve(bound('0.9'));
  let isIn = false;
  const second = budget.reserve(bound('0.9')).then((taken) => ((isIn = true), taken));
  await Promise.resolve();
  expect(isIn).toBe(false);
  first?.spend(cost('0.1'));
  expect(await second).toBeDefined();
});

test('a request without a limit counts with the highest cost so far, also while it is in flight', async () => {
  const budget = createBudget({ most: '1', spent: '0', dearest: '0' });
  const [first, second] = [await budget.reserve(bound('0', false)), await budget.reserve(bound('0', false))];
  first?.spend(cost('0.4'));
  const third = budget.reserve(bound('0', false));
  second?.free();
  expect(await third).toBeDefined();
});

test('the highest cost so far is of an answer, or of the runs before', async () => {
  const fresh = createBudget({ most: '1', spent: '0', dearest: '0' });
  (await fresh.reserve(bound('0', false)))?.spend(cost('0.6'));
  expect(await fresh.reserve(bound('0', false))).toBeUndefined();
  const continued = createBudget({ most: '1', spent: '0', dearest: '0.6' });
  (await continued.reserve(bound('0', false)))?.spend(cost('0.1'));
  (await continued.reserve(bound('0', false)))?.spend(undefined);
  expect(continued.spent).toBe('0.7');
});

test('an unknown cost counts with the amount that it could be', async () => {
  const budget = createBudget({ most: '1', spent: '0', dearest: '0' });
  (await budget.reserve(bound('0.9')))?.spend(undefined);
  expect(await budget.reserve(bound('0.2'))).toBeUndefined();
});

test('a request ends once: what is freed after it was paid stays spent, and two of the same bound are two', async () => {
  const budget = createBudget({ most: '1', spent: '0.1', dearest: '0' });
  const same = bound('0.2');
  const [first, second] = [await budget.reserve(same), await budget.reserve(same)];
  first?.spend(cost('0.15'));
  first?.spend(cost('0.15'));
  first?.free();
  expect(budget.spent).toBe('0.25');
  expect(await budget.reserve(bound('0.75'), AbortSignal.abort(new Error('over'))).catch(String)).toBe('Error: over');
  second?.free();
  expect(budget.spent).toBe('0.25');
  expect(await budget.reserve(bound('0.75'))).toBeDefined();
});

test('a signal ends the wait', async () => {
  const budget = createBudget({ most: '1', spent: '0', dearest: '0' });
  await budget.reserve(bound('1'));
  const stop = new AbortController();
  const waiting = budget.reserve(bound('1'), stop.signal);
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
});

test('an unknown cost is held with its bound, and without one with the highest cost so far', () => {
  expect(heldFor(bound('0.2'), '0.7')).toBe('0.2');
  expect(heldFor(bound('0.2', false), '0.7')).toBe('0.7');
  expect(heldFor(bound('0.9', false), '0.7')).toBe('0.9');
  expect(heldFor(undefined, '0.7')).toBe('0.7');
  expect(sumHeld([bound('0.2'), undefined, bound('0.1', false)], '0.7')).toBe('1.6');
});

test('what was spent is added by its currency, and what is unknown is counted until it is known', () => {
  const none = { costs: [], unknown: 0, held: '0', dearest: '0' };
  const spent = addSpending(addSpending(none, cost('0.1')), cost('0.05'));
  expect(spent).toEqual({ costs: [cost('0.15')], unknown: 0, held: '0', dearest: '0.1' });
  const waiting = addUnknown(addUnknown(spent, '0.2'), '0.3');
  expect(waiting).toEqual({ ...spent, unknown: 2, held: '0.5' });
  expect(addUnknown(waiting, '0.2', -1)).toEqual({ ...spent, unknown: 1, held: '0.3' });
  const other = { costs: [{ amount: '9', currency: 'EUR' }], unknown: 1, held: '1', dearest: '9' };
  expect(joinSpendings([waiting, other])).toEqual({
    costs: [cost('0.15'), { amount: '9', currency: 'EUR' }],
    unknown: 3,
    held: '1.5',
    dearest: '9',
  });
  expect(subtractAmounts('1', '0.9')).toBe('0.1');
});

test('a part of an amount is a decimal number of four digits, whatever its size', () => {
  expect(scaleAmount('1', 2, 3)).toBe('0.6667');
  expect(scaleAmount('0.00000012345', 7, 1)).toBe('0.0000008642');
  expect(scaleAmount('123456', 3, 1)).toBe('370400');
});
