import { expect, test } from 'vitest';
import { addCost } from '../../src/cost/cost.ts';
import { priceOf } from '../../src/cost/price.ts';
import { table } from './prices.ts';

test('uses the price of the exact name, else of the longest matching pattern', () => {
  const prices = table({ '*': { input: 1 }, 'g*': { input: 2 }, 'g-*-flash': { input: 3 }, 'g-2-flash': { input: 4 } });
  const input = (model: string) => priceOf(prices, model)?.input;
  expect(['g-2-flash', 'models/g-2-flash', 'g-9-flash', 'g-flash', 'x', 'constructor'].map(input)).toEqual([
    4, 4, 3, 2, 1, 1,
  ]);
  expect(priceOf(table({ 'a*b*a': { input: 1 } }), 'aba')).toBeDefined();
  expect(priceOf(table({ 'ab*ba': { input: 1 } }), 'aba')).toBeUndefined();
});

test('never adds different currencies', () => {
  const one = { amount: '0.1', currency: 'USD' };
  const costs = [one, { amount: '5', currency: 'EUR' }, { amount: '0.2', currency: 'USD' }].reduce(addCost, []);
  expect(costs).toEqual([
    { amount: '0.3', currency: 'USD' },
    { amount: '5', currency: 'EUR' },
  ]);
});
