import {
  computeAnswerCost,
  computeGreatestBound,
  createBudget,
  findPrice,
  type Fund,
  GatewayError,
  getCurrency,
  isWholePrice,
  loadFormat,
  payFrom,
  type Payments,
  type Price,
  type Pricing,
  shellWord,
  usageError,
} from '../../library/index.ts';
import type { Settings } from '../settings/types.ts';
import type { Ui } from '../context.ts';

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

/** `--max-cost` of a command: the payments for its requests, until they could pass the limit. */
export function openCostLimit(most: string, pricing: Pricing): Payments {
  const fund = openLimit(most, pricing);
  return {
    open: (request) => payFrom(fund, request),
    refuse: (model) => findLackOfPrice(pricing.prices, model, '--max-cost'),
  };
}

/** A budget in memory. Throws GatewayError usage for a model without a price, and over-budget. */
function openLimit(most: string, pricing: Pricing): Fund {
  const budget = createBudget({ most, spent: '0', dearest: '0' });
  let currency: string | undefined;
  return {
    async reserve({ model, fallback = model, post }, signal) {
      const prices = [model, fallback].map((name) => requirePrice(pricing.prices, name));
      const currencies = prices.map(getCurrency);
      currency ??= currencies[0];
      requireOneCurrency([...(currency === undefined ? [] : [currency]), ...currencies]);
      const format = await loadFormat(post.format);
      const bound = computeGreatestBound(post.body, prices, format.limits(post.body));
      const reserved = await budget.reserve(bound, signal);
      if (reserved === undefined) throw overCost(most, `${budget.spent} ${currency}`);
      return {
        spend: async (answer) => reserved.spend(answer && computeAnswerCost(answer, pricing)),
        free: async () => reserved.free(),
      };
    },
  };
}

function overCost(most: string, spent: string): GatewayError {
  return new GatewayError('over-budget', `the next request could pass --max-cost ${most}: ${spent} are spent`, {
    hint: 'allow more with --max-cost <amount>',
    sent: 'no',
    billed: 'no',
    retryable: false,
  });
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
