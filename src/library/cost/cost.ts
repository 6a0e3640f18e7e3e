import { Big } from 'big.js';
import type { Usage } from '../formats/events.ts';
import { type FormatFacts, formatFacts, type RequestLimits } from '../formats/format.ts';
import type { Body } from '../body.ts';
import { measureRequest, type RequestSize } from '../formats/request-size.ts';
import { quoteForeign } from '../errors.ts';
import { serviceTiers } from '../vendors/service-tiers.ts';
import {
  getCurrency,
  isOfImagesAlone,
  findAnswerPrice,
  findAskedFactors,
  findTierPrice,
  type Pricing,
} from './price.ts';
import type { Bound, Budget, Cost, MeteredAnswer, Price, Spending, Spent } from './types.ts';

/** The amounts of a price that are for tokens. */
const tokenAmounts = [
  ...([
    'input',
    'imageInput',
    'audioInput',
    'cached',
    'cachedImage',
    'cachedAudio',
    'cacheWrite',
    'cacheWriteLong',
  ] as const),
  ...(['output', 'imageOutput', 'audioOutput', 'thinking'] as const),
];

/** The billed units of a request: tokens, each under the amount that they cost, images and searches. */
interface Billed extends Record<(typeof tokenAmounts)[number], number> {
  images: number;
  searches: number;
  /** The service tells the tokens of the images from the rest of the output. */
  countsImageOutput: boolean;
  /** The service tells which of the cached tokens are pictures and sound, or none can be. */
  splitsCached: boolean;
  /** All tokens of the prompt; the price can depend on them. */
  promptTokens: number;
  /** The cached tokens are more than the prompt's own count: whether they are part of the prompt is not known. */
  cachesMore: boolean;
  /** Tokens of the total that the service's counts do not explain; below 0 if the total leaves some out. */
  unsaid: number;
}

/** The billed units of a usage; undefined if input or output is unknown, or if a value is not a count. */
function countBilled(
  usage: Usage,
  { outputHasThinking, inputHasCached }: FormatFacts['billing'],
  images: number,
): Billed | undefined {
  if (Object.values(usage).some((count) => count !== undefined && !(Number.isSafeInteger(count) && count >= 0)))
    return undefined;
  const { inputTokens, toolInputTokens = 0, imageInputTokens = 0, audioInputTokens = 0, totalTokens = NaN } = usage;
  const { cachedInputTokens = 0, cachedImageInputTokens, cachedAudioInputTokens } = usage;
  const [cachedImage, cachedAudio] = [cachedImageInputTokens ?? 0, cachedAudioInputTokens ?? 0];
  const { cacheWriteInputTokens = 0, cacheWriteLongInputTokens = 0, thinkingTokens: thinking = 0 } = usage;
  const { imageOutputTokens: imageOutput = 0, audioOutputTokens: audioOutput = 0, searches = 0 } = usage;
  if (inputTokens === undefined) return undefined;
  const prompt = inputTokens + toolInputTokens;
  // The content format omits a count of 0; the total shows whether it was one.
  const counted = outputHasThinking ? NaN : Math.max(0, totalTokens - prompt - thinking);
  const { outputTokens = counted } = usage;
  if (Number.isNaN(outputTokens)) return undefined;
  const cacheTokens = cachedInputTokens + cacheWriteInputTokens;
  const besides = (inputHasCached ? cacheTokens : 0) + imageInputTokens + audioInputTokens - cachedImage - cachedAudio;
  const cacheWriteLong = Math.min(cacheWriteLongInputTokens, cacheWriteInputTokens);
  const thought = outputHasThinking ? thinking : 0;
  const promptTokens = inputHasCached ? prompt : prompt + cacheTokens;
  return {
    input: Math.max(0, prompt - besides),
    imageInput: Math.max(0, imageInputTokens - cachedImage),
    audioInput: Math.max(0, audioInputTokens - cachedAudio),
    cached: Math.max(0, cachedInputTokens - cachedImage - cachedAudio),
    cachedImage,
    cachedAudio,
    cacheWrite: cacheWriteInputTokens - cacheWriteLong,
    cacheWriteLong,
    output: Math.max(0, outputTokens - thought - imageOutput - audioOutput),
    imageOutput,
    audioOutput,
    thinking,
    images,
    searches,
    countsImageOutput: usage.imageOutputTokens !== undefined,
    splitsCached:
      cachedInputTokens === 0 ||
      imageInputTokens + audioInputTokens === 0 ||
      (cachedImageInputTokens ?? cachedAudioInputTokens) !== undefined,
    promptTokens,
    cachesMore: inputHasCached && cacheTokens > prompt,
    unsaid: totalTokens - promptTokens - outputTokens - (outputHasThinking ? 0 : thinking),
  };
}

/** The amounts of a price for a prompt of this length: those of the highest step that the prompt exceeds. */
function atLength({ tiers = [], ...base }: Price, promptTokens: number): Price {
  const passed = tiers.filter(({ above }) => promptTokens > above).sort((a, b) => b.above - a.above);
  const { above: _, ...amounts } = passed[0] ?? { above: 0 };
  return { ...base, ...amounts };
}

type CompleteAmounts = { [name in (typeof tokenAmounts)[number] | 'image' | 'search']: string | number | undefined };

/** Completes the amounts of a price by those that follow from others. An amount without a source stays undefined: none is guessed. */
function completeAmounts(price: Price, { inputHasCached }: FormatFacts['billing']): CompleteAmounts {
  // If only images have a price, the prompt is free.
  const free = isOfImagesAlone(price) ? '0' : undefined;
  const { input = free, imageInput = free, audioInput = free } = price;
  const { output, imageOutput, audioOutput, image, search } = price;
  // A write for an hour costs twice the input: the rule of Anthropic (npm @anthropic-ai/sdk 1.14.0), in its format alone.
  const doubled = !inputHasCached && input !== undefined ? new Big(input).times(2).toFixed() : undefined;
  const { cached = input, cachedImage = imageInput, cachedAudio = audioInput, cacheWrite = input } = price;
  const { cacheWriteLong = doubled, thinking = output } = price;
  const ofInput = { input, imageInput, audioInput, cached, cachedImage, cachedAudio, cacheWrite, cacheWriteLong };
  return { ...ofInput, output, imageOutput, audioOutput, thinking, image, search };
}

/** Removes tokens that the amount for an image covers: the tokens of the image, and if output has no price, all other output. */
function withoutImages(billed: Billed, price: CompleteAmounts): Billed {
  if (price.image === undefined) return billed;
  if (!billed.countsImageOutput)
    return price.output === undefined && billed.images > 0 ? { ...billed, output: 0 } : billed;
  return price.imageOutput === undefined ? { ...billed, imageOutput: 0 } : { ...billed, images: 0 };
}

/** Tokens that never cost what words cost, wherever a service counts them apart. */
const apart: { [name in (typeof tokenAmounts)[number]]?: string } = {
  imageInput: 'pictures in the request',
  audioInput: 'sound in the request',
  imageOutput: 'pictures in the answer',
  audioOutput: 'sound in the answer',
};

/** A cost, or the reason that it is unknown; an undefined reason is not told. */
type FoundCost = { cost: Cost } | { lack: string | undefined };

/** The exact cost of a usage by a price. */
function computeCost(usage: Usage, billing: FormatFacts['billing'], images: number, whole: Price): FoundCost {
  const isAsText = billing.picturesAreText && whole.imageInput === undefined;
  const asText = { imageInputTokens: undefined, cachedImageInputTokens: undefined };
  const all = countBilled(isAsText ? { ...usage, ...asText } : usage, billing, images);
  if (all === undefined) return { lack: undefined };
  // If only pictures have a price, tokens are free, whatever their kind.
  const areFree = isOfImagesAlone(whole);
  if (all.cachesMore && !areFree) return { lack: 'the service counts more cached tokens than the whole prompt has' };
  if (all.unsaid > 0 && !areFree)
    return { lack: `the service counts ${all.unsaid} tokens more than it says the kind of` };
  const price = completeAmounts(atLength(whole, all.promptTokens), billing);
  const billed = withoutImages(all, price);
  if (billed.searches > 0 && price.search === undefined)
    return { lack: 'the price has no search, and the service searched' };
  if (!billed.splitsCached)
    return { lack: 'the service does not say how much of what was cached is pictures or sound' };
  let sum = new Big(price.image ?? 0).times(billed.images).plus(new Big(price.search ?? 0).times(billed.searches));
  for (const name of tokenAmounts) {
    const [count, amount, what] = [billed[name], price[name], apart[name]];
    if (count === 0) continue;
    if (amount === undefined) return { lack: what && `the price has no ${name}, and ${count} tokens are of ${what}` };
    sum = sum.plus(perMillion(count, amount));
  }
  return { cost: { amount: sum.toFixed(), currency: getCurrency(whole) } };
}

/** A number counts as its decimal text, not as its binary fraction. Division would round. */
function perMillion(tokens: number, amount: string | number): Big {
  return new Big(amount).times(tokens).times('0.000001');
}

/** The cost of an answer; undefined if no price matches, or if its final usage is unknown. */
export function computeAnswerCost(answer: MeteredAnswer, pricing: Pricing): Cost | undefined {
  const found = findAnswerCost(answer, pricing);
  return 'cost' in found ? found.cost : undefined;
}

/** The cost of an answer, or the reason that it is unknown although the requested model has a price. */
function findAnswerCost({ result, error, hops }: MeteredAnswer, pricing: Pricing): FoundCost {
  if (hops !== undefined) return joinFound(hops.flatMap((hop) => (hop.isFree ? [] : [findAnswerCost(hop, pricing)])));
  const { usage, otherUsage, images, stopReason, toldCost } = result;
  const found = findAnswerPrice(pricing, result);
  // The cost that the service tells is the cost that it takes. A told amount in another currency than the prices could not be
  // added to the others.
  if (toldCost !== undefined && ('lack' in found || getCurrency(found.price) === toldCost.currency))
    return { cost: { ...toldCost, told: true } };
  if ('lack' in found) return found;
  // The counts of a stream grow until its finish reason.
  if (usage === undefined || (error !== undefined && stopReason === undefined)) return { lack: undefined };
  const billing = formatFacts[pricing.format].billing;
  const own = computeCost(usage, billing, images.length, found.price);
  if ('lack' in own) return own;
  const scaled = { cost: { ...own.cost, amount: found.factors.reduce(multiply, own.cost.amount) } };
  if (otherUsage === undefined) return scaled;
  const { model, images: made } = otherUsage;
  if (made > 0 && otherUsage.usage.inputTokens === undefined)
    // If the requested model has a price for an image, it pays for the images of the tool.
    return found.price.image === undefined ? { lack: 'the reply does not count what its picture tool took' } : scaled;
  const other = findAnswerPrice(pricing, otherUsage);
  if ('lack' in other)
    return {
      lack:
        model === ''
          ? 'the reply does not name the model that worked for the one that was asked'
          : `the model ${quoteForeign(model, 200)}, which worked for the one that was asked, has no price`,
    };
  return joinFound([scaled, computeCost(otherUsage.usage, billing, made, other.price)]);
}

/** The cost of an answer for the sums of a command, and a warning where it is unknown although the model has a price. */
export function countAnswer(
  answer: MeteredAnswer & { isRecorded?: boolean },
  pricing: Pricing,
): { spent: Spent; warnings: string[] } {
  // What a recording answers is paid already.
  if (answer.isRecorded) return { spent: { costs: [], unknown: 0 }, warnings: [] };
  const found = findAnswerCost(answer, pricing);
  if ('cost' in found) return { spent: { costs: [found.cost], unknown: 0 }, warnings: [] };
  const { lack } = found;
  return { spent: { costs: [], unknown: 1 }, warnings: lack === undefined ? [] : [`the cost is unknown: ${lack}`] };
}

/** The sum of the costs, if all are known in one currency. */
function joinFound(all: readonly FoundCost[]): FoundCost {
  const lacking = all.find((found) => 'lack' in found);
  const cost =
    lacking === undefined ? joinCosts(all.flatMap((found) => ('cost' in found ? found.cost : []))) : undefined;
  return cost === undefined ? (lacking ?? { lack: undefined }) : { cost };
}

/** The most that a request can cost by its body and its lane: a token has at least one byte. */
export function computeBound(
  body: Body,
  price: Price,
  { lane, ...limits }: RequestLimits & Pick<Pricing, 'lane'>,
): Bound {
  const size = measureRequest(body);
  // The service tier is unknown before the reply.
  const tiers = serviceTiers.flatMap((tier) => findTierPrice(price, tier) ?? []);
  const batch = lane === 'batch' ? findTierPrice(price, 'batch') : undefined;
  const possible = batch === undefined ? [{ price, factor: 1 }, ...tiers] : [batch];
  const bounds = possible.flatMap(({ price, factor }) =>
    boundsAt(price, size, limits).map(({ amount, isMost }) => ({ amount: multiply(amount, factor), isMost })),
  );
  const { amount, isMost } = joinBounds(bounds);
  const asked = findAskedFactors(price, body);
  return { amount: (asked ?? []).reduce(multiply, amount), isMost: isMost && asked !== undefined };
}

/** The most that a request can cost which one of several models answers. */
export function computeGreatestBound(
  body: Body,
  prices: readonly Price[],
  limits: Parameters<typeof computeBound>[2],
): Bound {
  return joinBounds(prices.map((price) => computeBound(body, price, limits)));
}

function joinBounds(bounds: readonly Bound[]): Bound {
  return { amount: greatest(bounds.map(({ amount }) => amount)), isMost: bounds.every(({ isMost }) => isMost) };
}

/** The most that a request of some size can cost at each step of a price that its prompt can be above. */
function boundsAt(price: Price, size: RequestSize, limits: RequestLimits): Bound[] {
  const lengths = [0, ...(price.tiers ?? []).map(({ above }) => above + 1)].filter((tokens) => tokens <= size.bytes);
  return lengths.map((tokens) => boundOf(atLength(price, tokens), size, limits));
}

function boundOf(
  price: Price,
  { bytes, hasFiles, readsMore }: RequestSize,
  { maxTokens, candidates, images = candidates }: RequestLimits,
): Bound {
  const { input = 0, cached = 0, cacheWrite = 0, cacheWriteLong = 0, image = 0, search = 0 } = price;
  const { imageInput = 0, audioInput = 0, cachedImage = 0, cachedAudio = 0 } = price;
  const perByte = greatest([input, cached, cacheWrite, cacheWriteLong]);
  const perUnseen = greatest([perByte, imageInput, audioInput, cachedImage, cachedAudio, search]);
  const perAnswered = greatestOfOutput(price);
  const ofImages = new Big(image).times(images);
  // The cost of the tokens of an answer or of a file is unknown, unless they are free.
  if (maxTokens === undefined && perAnswered !== '0') return { amount: ofImages.toFixed(), isMost: false };
  const amount = ofImages
    .plus(perMillion(bytes, perByte))
    .plus(perMillion((maxTokens ?? 0) * candidates, perAnswered))
    .toFixed();
  return { amount, isMost: perUnseen === '0' || !(hasFiles || readsMore) };
}

function greatestOfOutput({ output = 0, imageOutput = 0, audioOutput = 0, thinking = 0 }: Price): string {
  return greatest([output, imageOutput, audioOutput, thinking]);
}

/** The greatest of some amounts. */
export function greatest(amounts: readonly (string | number)[]): string {
  return amounts.reduce((most, amount) => (most.lt(amount) ? new Big(amount) : most), new Big(0)).toFixed();
}

/** Whether a sum of amounts is within a limit. */
export function areWithin(amounts: readonly string[], most: string): boolean {
  return new Big(sumAmounts(amounts)).lte(most);
}

function multiply(amount: string, factor: string | number): string {
  return new Big(amount).times(factor).toFixed();
}

export function subtractAmounts(from: string, amount: string): string {
  return new Big(from).minus(amount).toFixed();
}

/** Rounds an amount up to this number of decimals. */
export function roundUp(amount: string, decimals: number): string {
  return new Big(amount).round(decimals, Big.roundUp).toFixed();
}

/** A part or a multiple of an amount, to four digits. */
export function scaleAmount(amount: string, times: number, by: number): string {
  return new Big(new Big(amount).times(times).div(by).toPrecision(4)).toFixed();
}

/** Sums of amounts by name. */
export type AmountSums = Map<string, Big>;

/** Adds an amount, or takes it away (-1), under each of the names. */
export function countAmount(sums: AmountSums, names: readonly string[], amount: string, times = 1): void {
  const more = new Big(amount).times(times);
  for (const name of names) sums.set(name, more.plus(sums.get(name) ?? 0));
}

/** The sum under a name. */
export function getCounted(sums: AmountSums, name: string): string {
  return (sums.get(name) ?? new Big(0)).toFixed();
}

/** The sum of any number of amounts. */
export function sumAmounts(amounts: readonly string[]): string {
  return amounts.reduce((sum, amount) => sum.plus(amount), new Big(0)).toFixed();
}

/** Adds a cost; different currencies stay separate, and told costs from computed ones. */
export function addCost(costs: readonly Cost[], added: Cost): Cost[] {
  const { amount, currency, told } = added;
  const before = costs.find((cost) => cost.currency === currency && cost.told === told);
  if (before === undefined) return [...costs, { amount, currency, ...(told && { told }) }];
  return costs.map((cost) => (cost === before ? { ...cost, amount: sumAmounts([cost.amount, amount]) } : cost));
}

/** The sum of costs, if they have one currency. It is told by services if all of them are. */
function joinCosts(costs: readonly Cost[]): Cost | undefined {
  const [first, ...rest] = costs.reduce<readonly Cost[]>(addCost, []);
  if (first === undefined || rest.some(({ currency }) => currency !== first.currency)) return undefined;
  const { currency } = first;
  return rest.length === 0 ? first : { amount: sumAmounts([first, ...rest].map(({ amount }) => amount)), currency };
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

/** The amount that counts for a request with an unknown cost: its bound, or at least the highest cost so far. */
export function heldFor({ amount, isMost }: Bound = { amount: '0', isMost: false }, dearest: string): string {
  return isMost ? amount : greatest([amount, dearest]);
}

/** The amount that counts for all requests with an unknown cost. */
export function sumHeld(bounds: readonly (Bound | undefined)[], dearest: string): string {
  return sumAmounts(bounds.map((bound) => heldFor(bound, dearest)));
}

/** Adds several spendings. */
export function joinSpendings(spendings: readonly Spending[]): Spending {
  return {
    costs: spendings.flatMap(({ costs }) => costs).reduce<readonly Cost[]>(addCost, []),
    unknown: spendings.reduce((sum, { unknown }) => sum + unknown, 0),
    held: sumAmounts(spendings.map(({ held }) => held)),
    dearest: greatest(spendings.map(({ dearest }) => dearest)),
  };
}

/** Adds up the costs of requests. */
export function joinSpent(all: readonly Spent[]): Spent {
  return {
    costs: all.flatMap(({ costs }) => costs).reduce<readonly Cost[]>(addCost, []),
    unknown: all.reduce((sum, { unknown }) => sum + unknown, 0),
  };
}

/** The cost of all requests; undefined if the cost of one is unknown, or if they have several currencies. */
export function totalCost({ costs, unknown }: Spent): Cost | undefined {
  return unknown === 0 ? joinCosts(costs) : undefined;
}

/** Opens a budget of which a part is spent; `dearest` is the highest cost of one request so far. */
export function createBudget({ most, spent, dearest }: { most: string; spent: string; dearest: string }): Budget {
  const inFlight = new Set<Bound>();
  const waiting: (() => void)[] = [];
  let [total, highest] = [spent, dearest];
  const toAmount = (bound: Bound): string => heldFor(bound, highest);

  function end(bound: Bound, amount: string): void {
    if (!inFlight.delete(bound)) return;
    total = sumAmounts([total, amount]);
    for (const wake of waiting.splice(0)) wake();
  }

  return {
    get spent() {
      return total;
    },
    async reserve(given, signal) {
      // Two requests of the same bound are two.
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
      };
    },
  };
}

/** The cost of a request for its input tokens only, and with all the output that it allows; undefined if that has no limit. */
export function estimateCost(
  inputTokens: number,
  { price, factors }: { price: Price; factors: readonly (string | number)[] },
  { maxTokens, candidates, images = candidates }: RequestLimits,
): { input: string; most: string | undefined } {
  const amounts = atLength(price, inputTokens);
  const { input = 0, image = 0 } = amounts;
  const ofInput = perMillion(inputTokens, input);
  const perToken = greatestOfOutput(amounts);
  const isBounded = maxTokens !== undefined || perToken === '0';
  const most = ofInput.plus(new Big(image).times(images)).plus(perMillion((maxTokens ?? 0) * candidates, perToken));
  const toAmount = (sum: Big): string => factors.reduce(multiply, sum.toFixed());
  return { input: toAmount(ofInput), most: isBounded ? toAmount(most) : undefined };
}
