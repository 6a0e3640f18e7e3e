import { Big } from 'big.js';
import type { Usage } from '../formats/events.ts';
import { type FormatFacts, formatFacts, type RequestLimits } from '../formats/format.ts';
import type { Price } from '../settings/types.ts';
import type { Body } from '../body.ts';
import { measureRequest } from '../formats/request-size.ts';
import { quoteForeign } from '../errors.ts';
import { getCurrency, pricedTiers, findAnswerPrice, findTierPrice, type Pricing } from './price.ts';
import type { Bound, Budget, Cost, KnownCosts, Meter, MeteredAnswer, Spending } from './types.ts';

/** The billed units of a request: tokens, each in one class, and images. */
interface Billed {
  input: number;
  cached: number;
  cacheWrite: number;
  cacheWriteLong: number;
  searches: number;
  output: number;
  thinking: number;
  images: number;
  /** Tokens of the images, if the gateway reports them; included in `output`. */
  imageTokens: number | undefined;
  /** All tokens of the prompt, on which the price can depend. */
  promptTokens: number;
  /** A write for an hour costs twice the input: the rule of Anthropic (npm @anthropic-ai/sdk 1.14.0), in its format alone. */
  doublesLongWrites: boolean;
}

/** The billed units of a usage; undefined if input or output is unknown, or if a value is not a count. */
function countBilled(
  usage: Usage,
  { outputHasThinking, inputHasCached }: FormatFacts['billing'],
  images: number,
): Billed | undefined {
  if (Object.values(usage).some((count) => count !== undefined && !(Number.isSafeInteger(count) && count >= 0)))
    return undefined;
  const { inputTokens, cachedInputTokens: cached = 0, cacheWriteInputTokens: cacheWrite = 0 } = usage;
  const { thinkingTokens: thinking = 0, toolInputTokens = 0, imageOutputTokens: imageTokens } = usage;
  if (inputTokens === undefined) return undefined;
  const prompt = inputTokens + toolInputTokens;
  const input = inputHasCached ? Math.max(0, prompt - cached - cacheWrite) : prompt;
  const { cacheWriteLongInputTokens = 0, searches = 0 } = usage;
  const cacheWriteLong = Math.min(cacheWriteLongInputTokens, cacheWrite);
  const shared = {
    input,
    cached,
    cacheWrite: cacheWrite - cacheWriteLong,
    cacheWriteLong,
    searches,
    thinking,
    images,
    imageTokens,
    promptTokens: inputHasCached ? prompt : prompt + cached + cacheWrite,
    doublesLongWrites: !inputHasCached,
  };
  if (outputHasThinking) {
    if (usage.outputTokens === undefined) return undefined;
    const output = Math.max(0, usage.outputTokens - thinking);
    return { ...shared, output };
  }
  // The content format omits a count of 0; the total shows whether it was one.
  const { totalTokens = NaN, outputTokens: output = Math.max(0, totalTokens - prompt - thinking) } = usage;
  if (Number.isNaN(output)) return undefined;
  return { ...shared, output };
}

/** The amounts of a price for a prompt of some tokens: those of the highest step that it is above. */
function atLength({ tiers = [], ...base }: Price, promptTokens: number): Price {
  const passed = tiers.filter(({ above }) => promptTokens > above).sort((a, b) => b.above - a.above);
  const { above: _, ...amounts } = passed[0] ?? { above: 0 };
  return { ...base, ...amounts };
}

/** The exact cost by a price; undefined if a class of tokens has no price. */
function computeCost(billed: Billed, whole: Price): Cost | undefined {
  const price = atLength(whole, billed.promptTokens);
  const { output, image, search } = price;
  // If only images have a price, the prompt is free.
  const { input = output === undefined && image !== undefined ? 0 : undefined, thinking = output } = price;
  const { cached = input, cacheWrite = input } = price;
  const doubled = billed.doublesLongWrites && input !== undefined ? new Big(input).times(2).toFixed() : undefined;
  const { cacheWriteLong = doubled } = price;
  if (billed.searches > 0 && search === undefined) return undefined;
  const rows: [number, string | number | undefined][] = [
    [billed.input, input],
    [billed.cached, cached],
    [billed.cacheWrite, cacheWrite],
    [billed.cacheWriteLong, cacheWriteLong],
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
  if (search !== undefined) sum = sum.plus(new Big(search).times(billed.searches));
  return { amount: sum.toFixed(), currency: getCurrency(price) };
}

/** Tokens with the price of output: a price of images includes their tokens, and without a price of output all others too. */
function outputTokens({ output, images, imageTokens }: Billed, price: Price): number {
  if (price.image === undefined) return output;
  if (imageTokens !== undefined) return Math.max(0, output - imageTokens);
  return price.output === undefined && images > 0 ? 0 : output;
}

/** A number counts as its decimal text, not as its binary fraction. Division would round. */
function perMillion(tokens: number, amount: string | number): Big {
  return new Big(amount).times(tokens).times('0.000001');
}

/** The cost of an answer; undefined if no price matches, or if its final usage is unknown. */
export function computeAnswerCost({ result, error, hops }: MeteredAnswer, pricing: Pricing): Cost | undefined {
  if (hops !== undefined) {
    const costs = hops.flatMap((hop) => (hop.isFree ? [] : [computeAnswerCost(hop, pricing)]));
    return costs.every((cost) => cost !== undefined) ? joinCosts(costs) : undefined;
  }
  const { usage, svgUsage, images, stopReason, toldCost } = result;
  const found = findAnswerPrice(pricing, result);
  // What the service says is what it takes. Amounts of another currency than that of the prices cannot be added to the others.
  if (toldCost !== undefined && ('lack' in found || getCurrency(found.price) === toldCost.currency))
    return { ...toldCost, told: true };
  // The counts of a stream grow until its finish reason.
  const isCut = error !== undefined && stopReason === undefined;
  if ('lack' in found || usage === undefined || isCut) return undefined;
  const billed = countBilled(usage, formatFacts[pricing.format.value].billing, images.length);
  const cost = billed && computeCost(billed, found.price);
  const scaled = cost && { ...cost, amount: new Big(cost.amount).times(found.factor).toFixed() };
  if (svgUsage === undefined || scaled === undefined) return scaled;
  const ofSvg = computeAnswerCost({ result: { ...svgUsage, images: [] }, error: undefined }, pricing);
  return ofSvg && joinCosts([scaled, ofSvg]);
}

/** What the answered requests of one answer cost; undefined if that of one is unknown. */
export function addUpCosts(came: readonly MeteredAnswer[], pricing: Pricing): KnownCosts | undefined {
  const amounts = came.flatMap((answer) => computeAnswerCost(answer, pricing)?.amount ?? []);
  if (amounts.length < came.length) return undefined;
  return { amount: addAmounts(...amounts), dearest: greatest(amounts) };
}

/** The most that a request can cost by its body and its lane: a token has at least one byte. */
export function computeBound(
  body: Body,
  price: Price,
  { lane, ...limits }: RequestLimits & Pick<Pricing, 'lane'>,
): Bound {
  const { bytes, hasFiles, readsMore } = measureRequest(body);
  // The service tier is unknown before the reply, and so is the number of tokens of an image or a document.
  const tiers = pricedTiers.flatMap((tier) => findTierPrice(price, tier) ?? []);
  const batch = lane?.value === 'batch' ? findTierPrice(price, 'batch') : undefined;
  const possible = batch === undefined ? [{ price, factor: 1 }, ...tiers] : [batch];
  const amounts = possible.map(({ price, factor }) =>
    new Big(maxAmountAt(price, bytes, limits)).times(factor).toFixed(),
  );
  return { amount: greatest(amounts), isMost: limits.maxTokens !== undefined && !hasFiles && !readsMore };
}

/** The most that a request can cost which one of several models answers. */
export function computeGreatestBound(
  body: Body,
  prices: readonly Price[],
  limits: Parameters<typeof computeBound>[2],
): Bound {
  const bounds = prices.map((price) => computeBound(body, price, limits));
  return { amount: greatest(bounds.map(({ amount }) => amount)), isMost: bounds.every(({ isMost }) => isMost) };
}

/** The most that a request of some bytes can cost at one price, whichever of its steps the prompt is above. */
function maxAmountAt(price: Price, bytes: number, limits: RequestLimits): string {
  const lengths = [0, ...(price.tiers ?? []).map(({ above }) => above + 1)].filter((tokens) => tokens <= bytes);
  return greatest(lengths.map((tokens) => maxAmountOf(atLength(price, tokens), bytes, limits)));
}

function maxAmountOf(
  price: Price,
  bytes: number,
  { maxTokens, candidates, images = candidates }: RequestLimits,
): string {
  const { input = 0, cached = 0, cacheWrite = 0, cacheWriteLong = 0, output = 0, thinking = 0, image = 0 } = price;
  const ofImages = new Big(image).times(images);
  if (maxTokens === undefined) return ofImages.toFixed();
  return ofImages
    .plus(perMillion(bytes, greatest([input, cached, cacheWrite, cacheWriteLong])))
    .plus(perMillion(maxTokens * candidates, greatest([output, thinking])))
    .toFixed();
}

/** The greatest of some amounts. */
export function greatest(amounts: readonly (string | number)[]): string {
  return amounts.reduce((most, amount) => (most.lt(amount) ? new Big(amount) : most), new Big(0)).toFixed();
}

/** Whether a sum of amounts is within a limit. */
export function areWithin(amounts: readonly string[], most: string): boolean {
  return sumAmounts(amounts).lte(most);
}

/** The sum of amounts. */
export function addAmounts(...amounts: readonly string[]): string {
  return sumAmounts(amounts).toFixed();
}

/** What is left of an amount. */
export function subtractAmounts(from: string, amount: string): string {
  return new Big(from).minus(amount).toFixed();
}

/** A part or a multiple of an amount, to four digits. */
export function scaleAmount(amount: string, times: number, by: number): string {
  return new Big(new Big(amount).times(times).div(by).toPrecision(4)).toFixed();
}

/**
 * Sums of amounts by name, as integers of so many decimals: the engine adds them itself, and a process that shares a budget reads the
 * amounts of all others.
 */
export type AmountSums = Map<string, bigint>;
/** What an amount in a ledger can have: 60, and 99 more by its exponent. */
const sumDecimals = 160;

/** Adds an amount, or takes it away (-1), under each of the names. */
export function countAmount(sums: AmountSums, names: readonly string[], amount: string, times = 1): void {
  const [whole = '', part = ''] = (amount.includes('e') ? new Big(amount).toFixed() : amount).split('.');
  const more = BigInt(times) * BigInt(whole + part.padEnd(sumDecimals, '0'));
  for (const name of names) sums.set(name, (sums.get(name) ?? 0n) + more);
}

/** What was counted under a name. */
export function getCounted(sums: AmountSums, name: string): string {
  const digits = `${sums.get(name) ?? 0}`.padStart(sumDecimals + 1, '0');
  return new Big(`${digits.slice(0, -sumDecimals)}.${digits.slice(-sumDecimals)}`).toFixed();
}

function sumAmounts(amounts: readonly string[]): Big {
  return amounts.reduce((sum, amount) => sum.plus(amount), new Big(0));
}

/** Adds a cost; different currencies stay separate, and what services told from what was computed. */
export function addCost(costs: readonly Cost[], added: Cost): Cost[] {
  const { amount, currency, told } = added;
  const before = costs.find((cost) => cost.currency === currency && cost.told === told);
  if (before === undefined) return [...costs, { amount, currency, ...(told && { told }) }];
  return costs.map((cost) => (cost === before ? { ...cost, amount: addAmounts(cost.amount, amount) } : cost));
}

/** The sum of costs, if they have one currency. It is told if all of them are. */
function joinCosts(costs: readonly Cost[]): Cost | undefined {
  const [first, ...rest] = costs.reduce<readonly Cost[]>(addCost, []);
  if (first === undefined || rest.some(({ currency }) => currency !== first.currency)) return undefined;
  const { currency } = first;
  return rest.length === 0
    ? first
    : { amount: addAmounts(first.amount, ...rest.map(({ amount }) => amount)), currency };
}

/** Adds a request with a known cost. */
export function addSpending({ costs, dearest, ...rest }: Spending, cost: Cost): Spending {
  return { ...rest, costs: addCost(costs, cost), dearest: greatest([dearest, cost.amount]) };
}

/** Adds a request with an unknown cost, or removes it (-1). `held` is its amount by `heldFor`. */
export function addUnknown(spending: Spending, held: string, count: 1 | -1 = 1): Spending {
  const sum = new Big(spending.held).plus(new Big(held).times(count)).toFixed();
  return { ...spending, unknown: spending.unknown + count, held: sum };
}

/** The amount that a request with an unknown cost counts with: its bound, or at least the highest cost so far. */
export function heldFor({ amount, isMost }: Bound = { amount: '0', isMost: false }, dearest: string): string {
  return isMost ? amount : greatest([amount, dearest]);
}

/** The amount that requests with an unknown cost count with together. */
export function sumHeld(bounds: readonly (Bound | undefined)[], dearest: string): string {
  return sumAmounts(bounds.map((bound) => heldFor(bound, dearest))).toFixed();
}

/** Adds several spendings. */
export function joinSpendings(spendings: readonly Spending[]): Spending {
  return {
    costs: spendings.flatMap(({ costs }) => costs).reduce<readonly Cost[]>(addCost, []),
    unknown: spendings.reduce((sum, { unknown }) => sum + unknown, 0),
    held: addAmounts(...spendings.map(({ held }) => held)),
    dearest: greatest(spendings.map(({ dearest }) => dearest)),
  };
}

/** Why the cost of an answer is unknown although the price of its model is known. */
function describeLack(
  { usage, svgUsage }: MeteredAnswer['result'],
  { search }: Price,
  pricing: Pricing,
): string | undefined {
  if ((usage?.searches ?? 0) > 0 && search === undefined) return 'the price has no search, and the service searched';
  const isSvgPriced = svgUsage === undefined || 'price' in findAnswerPrice(pricing, svgUsage);
  return isSvgPriced ? undefined : `the model ${quoteForeign(svgUsage.model, 200)}, which wrote the SVG, has no price`;
}

/** Opens a meter with the prices of the settings. */
export function createMeter(pricing: Pricing): Meter {
  let costs: readonly Cost[] = [];
  let unknown = 0;
  return {
    count(answer) {
      const cost = computeAnswerCost(answer, pricing);
      const found = findAnswerPrice(pricing, answer.result);
      const lack = 'lack' in found ? found.lack : describeLack(answer.result, found.price, pricing);
      if (cost === undefined && lack !== undefined) answer.result.warnings?.push(`the cost is unknown: ${lack}`);
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
      return unknown === 0 ? joinCosts(costs) : undefined;
    },
  };
}

/** Opens a budget of which a part is spent; `dearest` is the highest cost of one request so far. */
export function createBudget({ most, spent, dearest }: { most: string; spent: string; dearest: string }): Budget {
  const inFlight = new Set<Bound>();
  const waiting: (() => void)[] = [];
  let [total, highest] = [spent, dearest];
  const toAmount = (bound: Bound): string => heldFor(bound, highest);

  function end(bound: Bound, amount: string): void {
    if (!inFlight.delete(bound)) return;
    total = addAmounts(total, amount);
    for (const wake of waiting.splice(0)) wake();
  }

  return {
    get spent() {
      return total;
    },
    async reserve(given, signal) {
      const bound = { ...given };
      for (;;) {
        signal?.throwIfAborted();
        const amount = toAmount(bound);
        if (!areWithin([total, amount], most)) return undefined;
        if (areWithin([total, amount, ...[...inFlight].map(toAmount)], most)) break;
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          signal?.addEventListener('abort', () => resolve());
        });
      }
      inFlight.add(bound);
      return {
        spend(cost) {
          if (cost !== undefined) highest = greatest([highest, cost.amount]);
          end(bound, cost?.amount ?? toAmount(bound));
        },
        free: () => end(bound, '0'),
        grow(more, known) {
          if (known !== undefined) highest = greatest([highest, known.dearest]);
          const others = [...inFlight].filter((held) => held !== bound).map(toAmount);
          const amount = addAmounts(known?.amount ?? toAmount(bound), toAmount(more));
          if (!areWithin([total, amount, ...others], most)) return false;
          Object.assign(bound, { amount, isMost: bound.isMost && more.isMost });
          return true;
        },
      };
    },
  };
}

/** The cost of a request for its input tokens only, and with all the output that it allows; undefined if that has no limit. */
export function estimateCost(
  inputTokens: number,
  { price, factor }: { price: Price; factor: string | number },
  { maxTokens, candidates, images = candidates }: RequestLimits,
): { input: string; most: string | undefined } {
  const { input = 0, output = 0, thinking = output, image = 0 } = atLength(price, inputTokens);
  const ofInput = perMillion(inputTokens, input);
  const perToken = greatest([output, thinking]);
  const isBounded = maxTokens !== undefined || perToken === '0';
  const most = ofInput.plus(new Big(image).times(images)).plus(perMillion((maxTokens ?? 0) * candidates, perToken));
  const toAmount = (sum: Big): string => sum.times(factor).toFixed();
  return { input: toAmount(ofInput), most: isBounded ? toAmount(most) : undefined };
}
