import { GatewayError, usageError } from '../../errors.ts';
import { currencyOf, isWholePrice, type Pricing, priceOf } from '../../cost/price.ts';
import type { Meter, Reservation } from '../../cost/types.ts';
import type { Price } from '../../settings/types.ts';
import { shellWord } from '../../shell-word.ts';
import type { Settings } from '../../settings/types.ts';
import type { Format } from '../../formats/format-types.ts';
import type { Body } from '../../upload.ts';
import type { Ui } from '../context.ts';

/** The model that a command asks, and the prices of its settings. */
type PricedModel = Pick<Settings, 'prices' | 'format' | 'model'>;

/** A meter for the requests of a command, where prices are set; decimal arithmetic is loaded then only. */
export async function openMeter(settings: PricedModel, ui: Pick<Ui, 'warn'>): Promise<Meter | undefined> {
  if (Object.keys(settings.prices).length === 0) return undefined;
  const doubt = doubtOfPrice(settings);
  if (doubt !== undefined) await ui.warn(doubt);
  const { createMeter } = await import('../../cost/cost.ts');
  return createMeter(settings);
}

/** Why no answer of a model will have a cost although it has a price; undefined where one can. */
export function doubtOfPrice({ prices, model: { value: model } }: PricedModel): string | undefined {
  const price = priceOf(prices, model);
  if (price === undefined || isWholePrice(price)) return undefined;
  const { input, output, image } = price;
  if (input === undefined && output === undefined && image !== undefined) return undefined;
  const lack = input === undefined ? 'input' : 'output';
  return `the price of the model ${model} has no ${lack}, so its cost is unknown; ${howToPrice(model)}`;
}

/** `--max-cost` of a command that sends one request after the other. */
export interface CostLimit {
  /** Room for a request, or the error where it could pass the limit. Throws GatewayError usage where its model has no price. */
  take(body: Body, model: string, format: Format): Promise<Reservation | GatewayError>;
}

/** Opens `--max-cost`; undefined where it was not given. */
export async function openCostLimit(most: string | undefined, pricing: Pricing): Promise<CostLimit | undefined> {
  if (most === undefined) return undefined;
  const [{ createBudget }, { boundOf }] = await Promise.all([
    import('../../cost/budget.ts'),
    import('../../cost/cost.ts'),
  ]);
  const budget = createBudget({ most, spent: '0', dearest: '0' });
  let currency: string | undefined;
  return {
    async take(body, model, format) {
      const price = requirePrice(pricing.prices, model);
      currency ??= currencyOf(price);
      requireOneCurrency([currency, currencyOf(price)]);
      const room = await budget.reserve(boundOf(body, price, format.limits(body)));
      if (room !== undefined) return room;
      const spent = `${budget.spent} ${currency} are spent`;
      return new GatewayError('batch-failed', `the next request could pass --max-cost ${most}: ${spent}`, {
        hint: 'allow more with --max-cost <amount>',
        sent: 'no',
        billed: budget.spent === '0' ? 'no' : 'yes',
        retryable: false,
      });
    },
  };
}

/** The price of a model, by which any answer of it can be counted. Throws GatewayError usage that says how to set one. */
export function requirePrice(prices: Pricing['prices'], model: string): Price {
  const price = priceOf(prices, model);
  if (price !== undefined && isWholePrice(price)) return price;
  const lacks = price === undefined ? 'has no price' : 'has no price for input, or none for output';
  throw usageError(`--max-cost: the model ${model} ${lacks}`, howToPrice(model));
}

function howToPrice(model: string): string {
  const key = shellWord(`prices.${model.replace(/^models\//, '')}`);
  return `set it, for a million tokens: gateway-cli config set ${key} '{"input":"<amount>","output":"<amount>"}'`;
}

/** Amounts of several currencies are never added. Throws GatewayError usage. */
export function requireOneCurrency(currencies: Iterable<string>): void {
  const names = [...new Set(currencies)];
  if (names.length <= 1) return;
  throw usageError(
    `--max-cost is one amount, and the prices have several currencies: ${names.join(', ')}`,
    'give all models of the command prices in one currency',
  );
}
