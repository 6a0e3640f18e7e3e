import { expect, test } from 'vitest';
import { addCost } from '../../../src/library/cost/cost.ts';
import { describeCosts, isWholePrice, findPrice, findAnswerPrice } from '../../../src/library/cost/price.ts';
import type { Price } from '../../../src/library/cost/types.ts';
import { quoteForeign } from '../../../src/library/errors.ts';

test('uses the price of the exact name, else of the longest matching pattern', () => {
  const prices = { '*': { input: 1 }, 'g*': { input: 2 }, 'g-*-flash': { input: 3 }, 'g-2-flash': { input: 4 } };
  const input = (model: string) => findPrice(prices, model)?.input;
  expect(['g-2-flash', 'models/g-2-flash', 'g-9-flash', 'g-flash', 'x', 'constructor'].map(input)).toEqual([
    4, 4, 3, 2, 1, 1,
  ]);
  expect(findPrice({ 'a*b*a': { input: 1 }, aba: { input: 2 } }, 'aba')?.input).toBe(2);
  expect(findPrice({ 'a*b*a': { input: 1 } }, 'aba')).toBeDefined();
  expect(findPrice({ 'ab*ba': { input: 1 } }, 'aba')).toBeUndefined();
});

test.each([
  ['2026-11-30T23:59:59.999Z', 1],
  ['2026-12-01T00:00:00.000Z', 2],
  ['2027-06-30T23:59:59.999Z', 2],
  ['2027-07-01T00:00:00.000Z', 9],
])('at %s the price with that day between from and until counts, else a wider pattern', (at, expected) => {
  const dated: Price[] = [
    { input: 1, until: '2026-11-30' },
    { input: 2, from: '2026-12-01', until: '2027-06-30' },
  ];
  expect(findPrice({ 'g-*': dated, '*': { input: 9 } }, 'g-2', Date.parse(at))?.input).toBe(expected);
});

const tiered: Price = { input: '2', output: '4', currency: 'EUR', batch: { input: '0.9', output: '1.8' }, flex: '0.5' };

test.each<[string, string | undefined, string | undefined, unknown]>([
  ['no tier in the reply', undefined, undefined, { price: tiered, factors: [] }],
  ['a factor', 'flex', 'SERVICE_TIER_FLEX', { price: tiered, factors: ['0.5'] }],
  ['own amounts', undefined, 'batch', { price: { input: '0.9', output: '1.8', currency: 'EUR' }, factors: [1] }],
  ['a flex request that the standard tier answered', 'flex', 'default', { price: tiered, factors: [] }],
  ['the lane batch, whose replies name no tier', 'batch', 'default', { price: { input: '0.9' }, factors: [1] }],
])('the tier that answered chooses the price: %s', (_, lane, serviceTier, expected) => {
  expect(findAnswerPrice({ prices: { m: tiered }, lane: lane ?? 'live' }, { model: 'm', serviceTier })).toMatchObject(
    expected as object,
  );
});

test('a tier without a price is reported, that of the lane batch too', () => {
  const prices = { m: { input: '2' } };
  const lack = (tier: string) => ({
    lack: `the price has no factor of the service tier ${quoteForeign(tier)}, which answered`,
  });
  expect(findAnswerPrice({ prices, lane: 'flex' }, { model: 'm', serviceTier: 'FLEX' })).toEqual(lack('FLEX'));
  expect(findAnswerPrice({ prices, lane: 'batch' }, { model: 'm' })).toEqual(lack('batch'));
});

test('amounts of different currencies are never added', () => {
  const one = { amount: '0.1', currency: 'USD' };
  const costs = [one, { amount: '5', currency: 'EUR' }, { amount: '0.2', currency: 'USD' }].reduce(addCost, []);
  expect(costs).toEqual([
    { amount: '0.3', currency: 'USD' },
    { amount: '5', currency: 'EUR' },
  ]);
});

test.each([
  ['g-2', 'g-2-flash', false],
  ['g-2', 'g-g-g-2', false],
  ['g-2*', 'g-2-flash', true],
  ['a/models/b', 'a/models/b', true],
  ['a*b', 'a-b-c', false],
  ['a*x*b', 'ab', false],
  ['a*x*b', 'a-x-b', true],
  // No letter counts for two parts of a pattern.
  ['a*a*b', 'ab', false],
  ['a*b*b', 'ab', false],
  ['*ab*b*', 'ab', false],
  ['*ab*b*', 'abb', true],
])('the price of %s is that of %s: %s', (pattern, model, isItsPrice) => {
  expect(findPrice({ [pattern]: { input: 1 } }, model) !== undefined).toBe(isItsPrice);
});

test('a price does not count before its first day, at any place in the list', () => {
  const dated: Price[] = [{ input: 2, from: '2026-12-01' }, { input: 1 }];
  expect(findPrice({ m: dated }, 'm', Date.parse('2026-11-30T12:00:00Z'))?.input).toBe(1);
  expect(findPrice({ m: dated }, 'm', Date.parse('2026-12-01T12:00:00Z'))?.input).toBe(2);
});

test('the model that answered has the price, and its lack is said only if the one that was asked for has one', () => {
  const prices = { small: { input: 1 }, big: { input: 9 } };
  expect(findAnswerPrice({ prices }, { model: 'small', modelVersion: 'big' })).toMatchObject({ price: { input: 9 } });
  const lack = 'the model huge has no price';
  expect(findAnswerPrice({ prices }, { model: 'small', modelVersion: 'huge' })).toEqual({ lack });
  expect(findAnswerPrice({ prices }, { model: 'tiny', modelVersion: 'huge' })).toEqual({ lack: undefined });
});

test.each<[Price, boolean]>([
  [{ input: 1, output: 1 }, true],
  [{ input: 1, image: 1 }, true],
  [{ input: 1 }, false],
  [{ output: 1 }, false],
  [{ output: 1, image: 1 }, false],
])('whether %j prices every answer: %s', (price, isWhole) => {
  expect(isWholePrice(price)).toBe(isWhole);
});

test('amounts of several currencies are told one after the other', () => {
  const costs = [
    { amount: '0.1', currency: 'USD' },
    { amount: '5', currency: 'EUR' },
  ];
  expect(describeCosts(costs)).toBe('0.1 USD and 5 EUR');
});
