import { GatewayError, usageError } from '../../errors.ts';
import { getCurrency, isWholePrice, type Pricing, findPrice } from '../../cost/price.ts';
import type { MeteredAnswer, Reservation } from '../../cost/types.ts';
import type { Price, Settings } from '../../settings/types.ts';
import { shellWord } from '../../shell-word.ts';
import type { Format } from '../../formats/format.ts';
import type { Body } from '../../body.ts';
import type { Ui } from '../context.ts';
import { sumAmounts, addUpCosts, computeGreatestBound, createBudget } from '../../cost/cost.ts';

/** Warns if the model has a price that cannot be the cost of an answer. */
export async function warnOfPrice(settings: Pick<Settings, 'prices' | 'model'>, ui: Pick<Ui, 'warn'>): Promise<void> {
  const warning = priceWarning(settings);
  if (warning !== undefined) await ui.warn(warning);
}

/** A warning if no answer of a model will have a cost although the model has a price. */
export function priceWarning({ prices, model }: Pick<Settings, 'prices' | 'model'>): string | undefined {
  const price = findPrice(prices, model);
  if (price === undefined || isWholePrice(price)) return undefined;
  const lack = price.input === undefined ? 'input' : 'output';
  return `the price of the model ${model} has no ${lack}, so its cost is unknown; ${pricingHint(model).replace('\n', ', ')}`;
}

/** `--max-cost` of a command that sends one request after the other. */
export interface CostLimit {
  /**
   * Reserves the cost of a request, or returns an error if it could exceed the limit. Throws GatewayError usage if one of the models
   * that may answer has no price.
   */
  reserve(body: Body, models: readonly string[], format: Format): Promise<Reservation | GatewayError>;
  /** Reserves more for another request of the same answer. Throws the error that `reserve` would return. */
  grow(
    reservation: Reservation,
    next: { body: Body; models: readonly string[]; format: Format; came: readonly MeteredAnswer[] },
  ): void;
}

/** Opens `--max-cost`. */
export function openCostLimit(most: string, pricing: Pricing): CostLimit {
  const budget = createBudget({ most, spent: '0', dearest: '0' });
  let currency: string | undefined;
  const overCost = (more = '0'): GatewayError => {
    const spent = `${sumAmounts([budget.spent, more])} ${currency} are spent`;
    return new GatewayError('over-budget', `the next request could pass --max-cost ${most}: ${spent}`, {
      hint: 'allow more with --max-cost <amount>',
      sent: 'no',
      billed: budget.spent === '0' ? 'no' : 'yes',
      retryable: false,
    });
  };
  return {
    async reserve(body, models, format) {
      const prices = models.map((model) => requirePrice(pricing.prices, model));
      const currencies = prices.map(getCurrency);
      currency ??= currencies[0];
      requireOneCurrency([...(currency === undefined ? [] : [currency]), ...currencies]);
      return (await budget.reserve(computeGreatestBound(body, prices, format.limits(body)))) ?? overCost();
    },
    grow(reservation, { body, models, format, came }) {
      const prices = models.map((model) => requirePrice(pricing.prices, model));
      const bound = computeGreatestBound(body, prices, format.limits(body));
      const known = addUpCosts(came, pricing);
      if (!reservation.grow(bound, known)) throw overCost(known?.amount).withDetails({ billed: 'no' });
    },
  };
}

/** The price of a model, which must cover any answer. Throws GatewayError usage that says how to set one. */
export function requirePrice(prices: Pricing['prices'], model: string, flag = '--max-cost'): Price {
  const lack = findLackOfPrice(prices, model, flag);
  if (lack) throw lack;
  return findPrice(prices, model) as Price;
}

/** The error that says why the cost of a model is unknown and cannot be limited; undefined if its price is complete. */
export function findLackOfPrice(prices: Pricing['prices'], model: string, flag: string): GatewayError | undefined {
  const price = findPrice(prices, model);
  if (price !== undefined && isWholePrice(price)) return undefined;
  const lacks = price === undefined ? 'has no price' : 'has no price for input, or none for output';
  return usageError(`${flag}: the model ${model} ${lacks}`, pricingHint(model));
}

function pricingHint(model: string): string {
  const name = model.replace(/^models\//, '');
  const price = '{"input":"<amount>","output":"<amount>"}';
  const flag = `--prices ${shellWord(`{${JSON.stringify(name)}:${price}}`)}`;
  return `set it, for a million tokens: ${flag}\nor for good: gateway-cli config set ${shellWord(`prices.${name}`)} '${price}'`;
}

/** Throws GatewayError usage for several currencies, whose amounts cannot be added. */
export function requireOneCurrency(currencies: Iterable<string>): void {
  const names = [...new Set(currencies)];
  if (names.length <= 1) return;
  throw usageError(
    `--max-cost is one amount, and the prices have several currencies: ${names.join(', ')}`,
    'give all models of the command prices in one currency',
  );
}
