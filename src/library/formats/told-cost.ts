import { isObject, type JsonObject, numberField, objectField } from '../json.ts';
import type { ReplyEvent } from './events.ts';
import { maxOf } from '../long-lists.ts';

/**
 * The cost of a reply in USD, as the service tells it: OpenRouter (npm @openrouter/sdk 1.3.19), which tells only its own part if
 * the user has a key at the provider, Perplexity (npm @perplexity-ai/perplexity_ai 0.38.5), and xAI, whose unit is a
 * ten-thousand-millionth of a dollar (npm @ai-sdk/xai 5.0.12).
 */
export function toldCostEvents(usage: JsonObject): ReplyEvent[] {
  const { cost } = usage;
  const ticks = numberField(usage, 'costInUsdTicks');
  const details = objectField(usage, 'costDetails') ?? {};
  const isOwnKey = usage['is_byok'] === true || usage['isByok'] === true;
  const told = isObject(cost) ? numberField(cost, 'totalCost') : numberField(usage, 'cost');
  const parts = [told, isOwnKey ? numberField(details, 'upstreamInferenceCost') : undefined];
  const known = told === undefined ? [] : parts.filter((part) => part !== undefined);
  const amount = ticks === undefined ? toDecimal(known) : toDecimal([ticks], 10);
  return amount === undefined ? [] : [{ type: 'facts', facts: { toldCost: { amount, currency: 'USD' } } }];
}

/** The cost in LiteLLM's header. LiteLLM also says 0 for a model whose price it does not know. */
export function readCostHeader(value: string | undefined): string | undefined {
  const amount = value === undefined || value.trim() === '' ? undefined : toDecimal([Number(value)]);
  return amount === '0' ? undefined : amount;
}

/** The exact sum of numbers as they are written, moved by some decimal places; undefined if one is no amount. */
function toDecimal(numbers: readonly number[], places = 0): string | undefined {
  if (numbers.length === 0 || numbers.some((number) => !(number >= 0 && number < 1e12))) return undefined;
  const terms = numbers.map((number) => {
    const [mantissa = '', exponent = '0'] = String(number).split('e');
    const [whole = '', fraction = ''] = mantissa.split('.');
    return { digits: BigInt(whole + fraction), scale: fraction.length - Number(exponent) + places };
  });
  const scale = maxOf([0, ...terms.map((term) => term.scale)]);
  const sum = terms.reduce((total, term) => total + term.digits * 10n ** BigInt(scale - term.scale), 0n);
  if (scale === 0) return String(sum);
  const text = String(sum).padStart(scale + 1, '0');
  const at = text.length - scale;
  return `${text.slice(0, at)}.${text.slice(at)}`.replace(/\.?0+$/, '');
}
