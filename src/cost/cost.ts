import { Big } from 'big.js';
import type { Usage } from '../formats/events.ts';
import { type FormatFacts, formatFacts } from '../formats/facts.ts';
import type { RequestLimits } from '../formats/format-types.ts';
import type { Price } from '../settings/types.ts';
import { type Body, isUpload } from '../upload.ts';
import { currencyOf, pricedTiers, priceOfAnswer, type Pricing } from './price.ts';
import type { Bound, Cost, Meter, MeteredAnswer, Spending } from './types.ts';

/** What of a request is billed: tokens, each in one class, and images. */
interface Billed {
  input: number;
  cached: number;
  cacheWrite: number;
  output: number;
  thinking: number;
  images: number;
  /** Tokens of the images, where the gateway tells them apart; within `output`. */
  imageTokens: number | undefined;
}

/** What the counts of a usage mean in their format; undefined where input or output is not known, or where one is no count. */
function billedOf(
  usage: Usage,
  { outputHasThinking, inputHasCached }: FormatFacts['billing'],
  images: number,
): Billed | undefined {
  if (Object.values(usage).some((count) => count !== undefined && countOf(count) === undefined)) return undefined;
  const { inputTokens, cachedInputTokens: cached = 0, cacheWriteInputTokens: cacheWrite = 0 } = usage;
  const { thinkingTokens: thinking = 0, toolInputTokens = 0, imageOutputTokens: imageTokens } = usage;
  if (inputTokens === undefined) return undefined;
  const prompt = inputTokens + toolInputTokens;
  const input = inputHasCached ? Math.max(0, prompt - cached) : prompt;
  if (outputHasThinking) {
    if (usage.outputTokens === undefined) return undefined;
    const output = Math.max(0, usage.outputTokens - thinking);
    return { input, cached, cacheWrite, output, thinking, images, imageTokens };
  }
  // A count of 0 is left out; the total says whether it was one.
  const { totalTokens = NaN, outputTokens: output = Math.max(0, totalTokens - prompt - thinking) } = usage;
  if (Number.isNaN(output)) return undefined;
  return { input, cached, cacheWrite, output, thinking, images, imageTokens };
}

/** What it costs by a price; undefined where a class occurred that has no price. Nothing is rounded. */
function costOf(billed: Billed, price: Price): Cost | undefined {
  const { output, image } = price;
  // With a price of images alone, nobody asked to pay for the words of the prompt.
  const { input = output === undefined && image !== undefined ? 0 : undefined, thinking = output } = price;
  const { cached = input, cacheWrite = input } = price;
  const rows: [number, string | number | undefined][] = [
    [billed.input, input],
    [billed.cached, cached],
    [billed.cacheWrite, cacheWrite],
    [outputTokens(billed, price), output],
    [billed.thinking, thinking],
  ];
  let sum = new Big(0);
  for (const [tokens, amount] of rows) {
    if (tokens === 0) continue;
    if (amount === undefined) return undefined;
    sum = sum.plus(perMillion(tokens, amount));
  }
  if (image !== undefined) sum = sum.plus(new Big(image).times(billed.images));
  return { amount: sum.toFixed(), currency: currencyOf(price) };
}

/** Where images have a price, it pays for their tokens. Without `output` nobody asked to pay for others beside them. */
function outputTokens({ output, images, imageTokens }: Billed, price: Price): number {
  if (price.image === undefined) return output;
  if (imageTokens !== undefined) return Math.max(0, output - imageTokens);
  return price.output === undefined && images > 0 ? 0 : output;
}

/** A number counts as the text that JSON writes for it, not as its binary fraction. Division would round. */
function perMillion(tokens: number, amount: string | number): Big {
  return new Big(amount).times(tokens).times('0.000001');
}

/** What an answer cost; undefined where no price fits, or where its usage is not known to the end. */
export function costOfAnswer({ result, error }: MeteredAnswer, { prices, format }: Pricing): Cost | undefined {
  const { usage, images, stopReason } = result;
  const found = priceOfAnswer(prices, result);
  // The counts of a stream grow until it says why it ends.
  const isCut = error !== undefined && stopReason === undefined;
  if ('lack' in found || usage === undefined || isCut) return undefined;
  const billed = billedOf(usage, formatFacts[format.value].billing, images.length);
  const cost = billed && costOf(billed, found.price);
  return cost && { ...cost, amount: new Big(cost.amount).times(found.factor).toFixed() };
}

/** The most that a request can cost, as far as its body tells: a token has at least one byte. */
export function boundOf(body: Body, price: Price, limits: RequestLimits): Bound {
  const { input = 0, cached = 0, cacheWrite = 0, output = 0, thinking = 0, image = 0 } = price;
  let hasFiles = false;
  const text = JSON.stringify(body, (_key, value: unknown) => (isUpload(value) ? ((hasFiles = true), '') : value));
  const { maxTokens, candidates, images = candidates } = limits;
  let amount = new Big(image).times(images);
  if (maxTokens !== undefined) {
    const [dearestIn, dearestOut] = [greatest([input, cached, cacheWrite]), greatest([output, thinking])];
    amount = amount
      .plus(perMillion(Buffer.byteLength(text), dearestIn))
      .plus(perMillion(maxTokens * candidates, dearestOut));
  }
  // The tier that answers is not known before, nor how many tokens a picture or a document is.
  const dearest = greatest([1, ...pricedTiers.map((tier) => price[tier] ?? 0)]);
  return { amount: amount.times(dearest).toFixed(), isMost: maxTokens !== undefined && !hasFiles };
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The greatest of some amounts. */
export function greatest(amounts: readonly (string | number)[]): string {
  return amounts.reduce((most, amount) => (most.lt(amount) ? new Big(amount) : most), new Big(0)).toFixed();
}

/** Whether amounts together are within a limit. */
export function areWithin(amounts: readonly string[], most: string): boolean {
  return sumOf(amounts).lte(most);
}

/** Amounts added up. */
export function addAmounts(...amounts: readonly string[]): string {
  return sumOf(amounts).toFixed();
}

function sumOf(amounts: readonly string[]): Big {
  return amounts.reduce((sum, amount) => sum.plus(amount), new Big(0));
}

/** Costs with one more: a sum for each currency, for they are never added. */
export function addCost(costs: readonly Cost[], { amount, currency }: Cost): Cost[] {
  const before = costs.find((cost) => cost.currency === currency);
  if (before === undefined) return [...costs, { amount, currency }];
  return costs.map((cost) => (cost === before ? { amount: addAmounts(cost.amount, amount), currency } : cost));
}

/** What was spent, with one more request whose cost is known. */
export function addSpending({ costs, dearest, ...rest }: Spending, cost: Cost): Spending {
  return { ...rest, costs: addCost(costs, cost), dearest: greatest([dearest, cost.amount]) };
}

/** What was spent, with one more request whose cost is not known, or without it (-1). `held` is what `heldFor` it. */
export function addUnknown(spending: Spending, held: string, count: 1 | -1 = 1): Spending {
  const sum = new Big(spending.held).plus(new Big(held).times(count)).toFixed();
  return { ...spending, unknown: spending.unknown + count, held: sum };
}

/** What a request of unknown cost counts with: its bound, else what the dearest one cost so far. */
export function heldFor({ amount, isMost }: Bound = { amount: '0', isMost: false }, dearest: string): string {
  return isMost ? amount : greatest([amount, dearest]);
}

/** What several spent together. */
export function joinSpendings(spendings: readonly Spending[]): Spending {
  return {
    costs: spendings.flatMap(({ costs }) => costs).reduce<readonly Cost[]>(addCost, []),
    unknown: spendings.reduce((sum, { unknown }) => sum + unknown, 0),
    held: addAmounts(...spendings.map(({ held }) => held)),
    dearest: greatest(spendings.map(({ dearest }) => dearest)),
  };
}

/** A meter by the prices of the settings. */
export function createMeter(pricing: Pricing): Meter {
  let costs: readonly Cost[] = [];
  let unknown = 0;
  return {
    count(answer) {
      const cost = costOfAnswer(answer, pricing);
      const found = priceOfAnswer(pricing.prices, answer.result);
      if ('lack' in found && found.lack !== undefined)
        answer.result.warnings?.push(`the cost is unknown: ${found.lack}`);
      if (cost === undefined) unknown++;
      else costs = addCost(costs, cost);
      return cost;
    },
    lose: () => void unknown++,
    get costs() {
      return costs;
    },
    get unknown() {
      return unknown;
    },
    get total() {
      return unknown === 0 && costs.length === 1 ? costs[0] : undefined;
    },
  };
}
