import type { Price } from '../settings/config-types.ts';
import type { Sourced, Use } from '../settings/types.ts';
import type { Cost } from './types.ts';

/** The settings that say what a request costs. */
export interface Pricing {
  prices: Readonly<Record<string, Sourced<Price>>>;
  use: Use;
}

/** The price of a model: that of its exact name, else that of the longest pattern that fits. */
export function priceOf(prices: Pricing['prices'], model: string): Price | undefined {
  const name = model.replace(/^models\//, '');
  if (Object.hasOwn(prices, name)) return prices[name]?.value;
  const fitting = Object.keys(prices).filter((pattern) => pattern.includes('*') && fits(name, pattern));
  const [longest] = fitting.sort((a, b) => b.length - a.length);
  return longest === undefined ? undefined : prices[longest]?.value;
}

/** Whether `*` can stand for what a name has in its places: the first place that fits is as good as any. */
function fits(name: string, pattern: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop() ?? '';
  if (!name.startsWith(head) || !name.slice(head.length).endsWith(tail)) return false;
  const middle = name.slice(head.length, name.length - tail.length);
  let at = 0;
  for (const part of rest) {
    const found = middle.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return true;
}

/** Whether a price tells what an answer costs, whatever classes of tokens it has. */
export function isWholePrice({ input, output, image }: Price): boolean {
  return input !== undefined && (output !== undefined || image !== undefined);
}

/** The currency of a price. */
export function currencyOf({ currency = 'USD' }: Price): string {
  return currency;
}

/** Which format a use has. */
export function formatOf(use: Use): 'content' | 'messages' {
  return use === 'chat' ? 'messages' : 'content';
}

/** `0.0012 USD`; several currencies stand side by side. */
export function describeCosts(costs: readonly Cost[]): string {
  return costs.map(({ amount, currency }) => `${amount} ${currency}`).join(' and ');
}
