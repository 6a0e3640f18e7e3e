import type { FormatName } from '../formats/types.ts';
import type { Price, Prices, Sourced } from '../settings/types.ts';
import type { Result } from '../client/result.ts';
import { isoTime } from '../clock.ts';
import { quote } from '../formats/quote.ts';
import { isMovingAlias, otherModel } from '../services.ts';
import type { Cost } from './types.ts';

/** The settings that determine the cost of a request. */
export interface Pricing {
  prices: Readonly<Record<string, Sourced<Prices[string]>>>;
  /** The format of the usage. */
  format: Sourced<FormatName>;
  /** `batch`: the service tier is batch, whatever a reply says. In every other lane the reply tells it. */
  lane?: Pick<Sourced<string>, 'value'> | undefined;
}

/** The price of a model at a time (ms since 1970): by its exact name, else by the longest matching pattern. */
export function priceOf(prices: Pricing['prices'], model: string, at = Date.now()): Price | undefined {
  const name = model.replace(/^models\//, '');
  const matching = Object.keys(prices).filter((pattern) => pattern.includes('*') && matches(name, pattern));
  const patterns = matching.sort((a, b) => b.length - a.length);
  for (const key of Object.hasOwn(prices, name) ? [name, ...patterns] : patterns) {
    const price = [prices[key]?.value].flat().find((one) => one !== undefined && countsAt(one, at));
    if (price !== undefined) return price;
  }
  return undefined;
}

/** Whether a time is within the days of a price. */
function countsAt({ from = '', until = '9' }: Price, at: number): boolean {
  const day = isoTime(at)?.slice(0, 10) ?? '';
  return from <= day && day <= until;
}

/** Names of service tiers with the factor 1. */
const plainTiers = new Set(['', 'standard', 'default', 'on_demand', 'on-demand', 'unspecified']);

/** A service tier without what one service writes before it. */
export function normalised(tier: string): string {
  return tier.toLowerCase().replace(/^service_tier_/, '');
}

/** The service tier that answered, if it is not the one of the full price. */
export function unusualTier(tier = ''): string | undefined {
  return plainTiers.has(normalised(tier)) ? undefined : tier;
}

/** The price of an answer, of which each amount is to be multiplied, or why there is none although the requested model has one. */
type AnswerPrice = { price: Price; factor: string | number } | { lack: string | undefined };

/**
 * The price of the model and of the service tier that answered. The price of a moving alias is used if the model behind it has
 * none.
 */
export function priceOfAnswer(
  { prices, lane }: Pick<Pricing, 'prices' | 'lane'>,
  { model, modelVersion, serviceTier = '' }: Pick<Result, 'model' | 'modelVersion' | 'serviceTier'>,
): AnswerPrice {
  const requested = priceOf(prices, model);
  const other = otherModel(model, modelVersion);
  const found = other === undefined ? requested : priceOf(prices, other);
  const price = found ?? (isMovingAlias(model) ? requested : undefined);
  if (price === undefined) return { lack: requested && `the model ${quote(other ?? model, 200)} has no price` };
  const told = lane?.value === 'batch' ? lane.value : serviceTier;
  const tier = normalised(told);
  if (plainTiers.has(tier)) return { price, factor: 1 };
  const known = pricedTiers.find((name) => name === tier);
  const lack = `the price has no factor of the service tier ${quote(told, 60)}, which answered`;
  return (known && priceOfTier(price, known)) ?? { lack };
}

/** The keys of a price that name a service tier: a factor of its amounts, or amounts in their place. */
export const pricedTiers = ['batch', 'flex', 'priority'] as const;

/** A price in a service tier; undefined if it has none. */
export function priceOfTier(
  price: Price,
  tier: (typeof pricedTiers)[number],
): { price: Price; factor: string | number } | undefined {
  const own = price[tier];
  if (own === undefined) return undefined;
  if (typeof own !== 'object') return { price, factor: own };
  return { price: { ...own, ...(price.currency !== undefined && { currency: price.currency }) }, factor: 1 };
}

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
