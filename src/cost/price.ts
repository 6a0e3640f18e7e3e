import type { Price } from '../settings/types.ts';
import type { FormatName } from '../formats/facts.ts';
import type { Sourced } from '../settings/types.ts';
import type { Result } from '../client/result.ts';
import { quote } from '../formats/quote.ts';
import { isMovingAlias, otherModel } from '../model-name.ts';
import type { Cost } from './types.ts';

/** The settings that determine the cost of a request. */
export interface Pricing {
  prices: Readonly<Record<string, Sourced<Price>>>;
  /** The format of the usage. */
  format: Sourced<FormatName>;
}

/** The price of a model: by its exact name, else by the longest matching pattern. */
export function priceOf(prices: Pricing['prices'], model: string): Price | undefined {
  const name = model.replace(/^models\//, '');
  if (Object.hasOwn(prices, name)) return prices[name]?.value;
  const matching = Object.keys(prices).filter((pattern) => pattern.includes('*') && matches(name, pattern));
  const [longest] = matching.sort((a, b) => b.length - a.length);
  return longest === undefined ? undefined : prices[longest]?.value;
}

/** Names of service tiers with the factor 1. */
const plainTiers = new Set(['', 'standard', 'default', 'on_demand', 'on-demand', 'unspecified']);

/** The price of an answer, or why there is none although the requested model has one. */
type AnswerPrice = { price: Price; factor: string | number } | { lack: string | undefined };

/**
 * The price of the model and of the service tier that answered. The price of a moving alias is used if the model behind it has
 * none.
 */
export function priceOfAnswer(
  prices: Pricing['prices'],
  { model, modelVersion, serviceTier = '' }: Pick<Result, 'model' | 'modelVersion' | 'serviceTier'>,
): AnswerPrice {
  const requested = priceOf(prices, model);
  const other = otherModel(model, modelVersion);
  const found = other === undefined ? requested : priceOf(prices, other);
  const price = found ?? (isMovingAlias(model) ? requested : undefined);
  if (price === undefined) return { lack: requested && `the model ${quote(other ?? model, 200)} has no price` };
  const tier = serviceTier.toLowerCase().replace(/^service_tier_/, '');
  if (plainTiers.has(tier)) return { price, factor: 1 };
  const factor = pricedTiers.some((known) => known === tier) ? price[tier as PricedTier] : undefined;
  const lack = `the price has no factor of the service tier ${quote(serviceTier, 60)}, which answered`;
  return factor === undefined ? { lack } : { price, factor };
}

/** The keys of a price that name a service tier: a factor of its amounts. */
export const pricedTiers = ['batch', 'flex', 'priority'] as const;
type PricedTier = (typeof pricedTiers)[number];

/** Whether a name matches a pattern with `*`; the first match of each part is as good as any. */
function matches(name: string, pattern: string): boolean {
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

/** Whether a price covers any answer, whatever classes of tokens it has. */
export function isWholePrice({ input, output, image }: Price): boolean {
  return input !== undefined && (output !== undefined || image !== undefined);
}

/** The currency of a price. */
export function currencyOf({ currency = 'USD' }: Price): string {
  return currency;
}

/** `0.0012 USD`, or several currencies joined by `and`. */
export function describeCosts(costs: readonly Cost[]): string {
  return costs.map(({ amount, currency }) => `${amount} ${currency}`).join(' and ');
}
