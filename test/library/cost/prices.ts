import type { Price } from '../../../src/library/cost/types.ts';

/** Millionths of millionths as whole numbers: they represent the cost of 1 token by a price for a million exactly. */
const scale = 12;

/** An amount in them. */
export function scaled(amount: string): bigint {
  const [whole = '0', part = ''] = amount.split('.');
  return BigInt(whole + part.padEnd(scale, '0'));
}

/** `7 × 0.30 + 2 images × 0.039`: tokens and their price for a million, images and their price. */
export function sum(terms: string): bigint {
  const amounts = terms.split(' + ').map((term) => {
    const [count = '', price = ''] = term.split(/ (?:images? )?× /);
    const amount = BigInt(count) * scaled(price);
    return term.includes('image') ? amount : amount / 1_000_000n;
  });
  return amounts.reduce((all, amount) => all + amount, 0n);
}

/** Prices of a model for pictures too. */
export const flash: Price = { input: '0.30', output: '2.50', cached: '0.075', thinking: '3.50', image: '0.039' };
/** Prices of one with a cache. */
export const opus: Price = { input: '15', output: '75', cached: '1.5', cacheWrite: '18.75', currency: 'EUR' };
