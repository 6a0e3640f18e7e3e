import type { Price } from '../settings/types.ts';
import type { FormatName } from '../formats/facts.ts';
import type { Sourced } from '../settings/types.ts';
import type { Result } from '../client/result.ts';
import { quote } from '../formats/quote.ts';
import { isMovingAlias, otherModel } from '../model-name.ts';
import type { Cost } from './types.ts';

/** The settings that say what a request costs. */
export interface Pricing {
  prices: Readonly<Record<string, Sourced<Price>>>;
  /** The format in which usage is told. */
  format: Sourced<FormatName>;
}

/** The price of a model: that of its exact name, else that of the longest pattern that fits. */
export function priceOf(prices: Pricing['prices'], model: string): Price | undefined {
  const name = model.replace(/^models\//, '');
  if (Object.hasOwn(prices, name)) return prices[name]?.value;
  const fitting = Object.keys(prices).filter((pattern) => pattern.includes('*') && fits(name, pattern));
  const [longest] = fitting.sort((a, b) => b.length - a.length);
  return longest === undefined ? undefined : prices[longest]?.value;
}

/** The names under which tiers answer that cost what the amounts of a price say. */
const plainTiers = new Set(['', 'standard', 'default', 'on_demand', 'on-demand', 'unspecified']);

/** The price by which an answer counts, or why there is none although the requested model has one. */
type AnswerPrice = { price: Price; factor: string | number } | { lack: string | undefined };

/**
 * The price of the model and of the service tier that answered. A moving alias may have a price of its own, which counts where
 * the model behind it has none.
 */
export function priceOfAnswer(
  prices: Pricing['prices'],
  { model, modelVersion, serviceTier = '' }: Pick<Result, 'model' | 'modelVersion' | 'serviceTier'>,
): AnswerPrice {
  const asked = priceOf(prices, model);
  const other = otherModel(model, modelVersion);
  const found = other === undefined ? asked : priceOf(prices, other);
  const price = found ?? (isMovingAlias(model) ? asked : undefined);
  if (price === undefined) return { lack: asked && `the model ${quote(other ?? model, 200)} has no price` };
  const tier = serviceTier.toLowerCase().replace(/^service_tier_/, '');
  if (plainTiers.has(tier)) return { price, factor: 1 };
  const factor = pricedTiers.some((known) => known === tier) ? price[tier as PricedTier] : undefined;
  const lack = `the price has no factor of the service tier ${quote(serviceTier, 60)}, which answered`;
  return factor === undefined ? { lack } : { price, factor };
}

/** The keys of a price that name a service tier: a factor of its amounts. */
export const pricedTiers = ['batch', 'flex', 'priority'] as const;
type PricedTier = (typeof pricedTiers)[number];

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

/** `0.0012 USD`; several currencies stand side by side. */
export function describeCosts(costs: readonly Cost[]): string {
  return costs.map(({ amount, currency }) => `${amount} ${currency}`).join(' and ');
}
