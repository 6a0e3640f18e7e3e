import type { Body } from '../body.ts';
import type { FormatName } from '../formats/types.ts';
import type { Result } from '../client/result.ts';
import { quoteForeign } from '../errors.ts';
import { pricedTiers, readAskedRates, serviceTiers, usualTiers } from '../vendors/service-tiers.ts';
import { isMovingAlias, otherModel } from '../vendors/services.ts';
import type { Cost, Price, Prices } from './types.ts';

/** The settings that determine the cost of a request. */
export interface Pricing {
  prices: Prices;
  /** The format of the usage. */
  format: FormatName;
  /** The lane of the request. In the lane `batch` the service tier is batch. In every other lane it is the tier that the reply names. */
  lane?: string | undefined;
}

/** The price of a model at a time (ms since 1970): by its exact name, otherwise by the longest matching pattern. */
export function findPrice(prices: Prices, model: string, at = Date.now()): Price | undefined {
  const name = model.replace(/^models\//, '');
  const rank = (key: string): number => (key === name ? Infinity : key.length);
  const matching = Object.entries(prices).filter(([key]) => key === name || matchesPattern(name, key));
  const ranked = matching.sort(([a], [b]) => rank(b) - rank(a));
  return ranked.flatMap(([, price]) => price).find((price) => isValidAt(price, at));
}

/** Whether a price is valid at a time: its days include it. */
function isValidAt({ from = '', until = '9' }: Price, at: number): boolean {
  const day = new Date(at).toISOString().slice(0, 10);
  return from <= day && day <= until;
}

/** A service tier in lower case, without the prefix SERVICE_TIER_ that one service uses. */
export function normalizeTier(tier: string): string {
  return tier.toLowerCase().replace(/^service_tier_/, '');
}

/**
 * The service tier that answered; undefined if its price is the full price. If the tier has several words, only words without the
 * full price are kept.
 */
export function unusualTier(tier = ''): string | undefined {
  return tier.split(' ').filter(isUnusual).join(' ') || undefined;
}

function isUnusual(word: string): boolean {
  return !usualTiers.has(normalizeTier(word));
}

/** A price and the factors for each of its amounts; or the reason that there is none, if the requested model has a price. */
type AnswerPrice = { price: Price; factors: readonly (string | number)[] } | { lack: string | undefined };

/**
 * The price of the model and of the service tier that answered. The price of a moving alias is used if the model behind it has
 * none.
 */
export function findAnswerPrice(
  { prices, lane }: Pick<Pricing, 'prices' | 'lane'>,
  { model, modelVersion, serviceTier = '' }: Pick<Result, 'model' | 'modelVersion' | 'serviceTier'>,
): AnswerPrice {
  const requested = findPrice(prices, model);
  const other = otherModel(model, modelVersion);
  const found = other === undefined ? requested : findPrice(prices, other);
  const price = found ?? (isMovingAlias(model) ? requested : undefined);
  if (price === undefined) return { lack: requested && `the model ${quoteForeign(other ?? model, 200)} has no price` };
  const words = serviceTier.split(' ').filter(isUnusual);
  const besides = words.filter((word) => !serviceTiers.some((tier) => tier === normalizeTier(word)));
  return priceInTiers(price, lane === 'batch' ? ['batch', ...besides] : words);
}

/** A price in all of the service tiers that words name, or what it lacks for that. */
function priceInTiers(price: Price, words: readonly string[]): AnswerPrice {
  let found = { price, factors: [] as (string | number)[] };
  for (const word of words) {
    const known = pricedTiers.find((name) => name === normalizeTier(word));
    const tier = known && findTierPrice(price, known);
    if (tier === undefined)
      return { lack: `the price has no factor of the service tier ${quoteForeign(word, 60)}, which answered` };
    found = { price: tier.price === price ? found.price : tier.price, factors: [...found.factors, tier.factor] };
  }
  return found;
}

/** A price in a service tier; undefined if it has none. */
export function findTierPrice(
  price: Price,
  tier: (typeof pricedTiers)[number],
): { price: Price; factor: string | number } | undefined {
  const own = price[tier];
  if (own === undefined) return undefined;
  if (typeof own !== 'object') return { price, factor: own };
  return { price: { ...own, currency: getCurrency(price) }, factor: 1 };
}

/**
 * The factors for the speed and region of a request; undefined if the price has none of them. A workspace can have a region
 * without being asked: if the price knows it, it counts.
 */
export function findAskedFactors(price: Price, body: Body): readonly (string | number)[] | undefined {
  const { speed, region } = readAskedRates(body);
  const words = [speed, region ?? (price.us === undefined ? undefined : 'us')].filter(
    (word) => typeof word === 'string',
  );
  const found = priceInTiers(price, words.filter(isUnusual));
  return 'lack' in found ? undefined : found.factors;
}

/** Whether a name matches a pattern with `*`. Without backtracking: for each part between two `*` its first match is enough. */
function matchesPattern(name: string, pattern: string): boolean {
  const [first, last] = [pattern.indexOf('*'), pattern.lastIndexOf('*')];
  if (first < 0) return false;
  const [head, tail] = [pattern.slice(0, first), pattern.slice(last + 1)];
  if (!name.startsWith(head) || !name.slice(head.length).endsWith(tail)) return false;
  const middle = name.slice(head.length, name.length - tail.length);
  let at = 0;
  for (const part of pattern.slice(first + 1, last).split('*')) {
    const found = middle.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return true;
}

/** Whether a price has the amounts that every answer needs, whatever its classes of tokens. */
export function isWholePrice(price: Price): boolean {
  const { input, output, image, imageOutput } = price;
  return isOfImagesAlone(price) || (input !== undefined && (output ?? image ?? imageOutput) !== undefined);
}

/** Whether a price is for images and nothing else. */
export function isOfImagesAlone({ input, output, image, imageOutput }: Price): boolean {
  return image !== undefined && (input ?? output ?? imageOutput) === undefined;
}

/** The currency of a price. */
export function getCurrency({ currency = 'USD' }: Price): string {
  return currency;
}

/** `0.0012 USD`, or several costs joined by `and`; `as told` marks costs that services told. */
export function describeCosts(costs: readonly Cost[]): string {
  return costs.map(({ amount, currency, told }) => `${amount} ${currency}${told ? ' as told' : ''}`).join(' and ');
}
