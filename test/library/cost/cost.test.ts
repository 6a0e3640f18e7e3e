import { expect, test } from 'vitest';
import { computeAnswerCost, countAnswer, estimateCost, joinSpent, totalCost } from '../../../src/library/cost/cost.ts';
import { completions } from '../../../src/library/formats/completions/format.ts';
import { content as contentFormat } from '../../../src/library/formats/content/format.ts';
import type { Format } from '../../../src/library/formats/format.ts';
import { messages as messagesFormat } from '../../../src/library/formats/messages/format.ts';
import type { ResultImage } from '../../../src/library/client/result.ts';
import type { JsonObject } from '../../../src/library/json.ts';
import type { Spent } from '../../../src/library/cost/types.ts';
import type { Price } from '../../../src/library/cost/types.ts';
import { foldWhole } from '../formats/accumulating.ts';
import { flash, opus, scaled, sum } from './prices.ts';

/** What a reply of a format costs. */
function costIn(format: Format, reply: JsonObject, { price, images = 0 }: { price: Price; images?: number }) {
  const drawn = Array.from({ length: images }, () => ({}) as ResultImage);
  const { usage, stopReason } = foldWhole(format, reply).result;
  const pricing = { prices: { m: price }, format: format.name };
  return computeAnswerCost({ result: { model: 'm', usage, images: drawn, stopReason }, error: undefined }, pricing);
}

function content(usageMetadata: JsonObject, price: Price, images = 0) {
  return costIn(contentFormat, { candidates: [{ finishReason: 'STOP' }], usageMetadata }, { price, images });
}

function messages(usage: JsonObject, price: Price) {
  return costIn(messagesFormat, { type: 'message', content: [], stop_reason: 'end_turn', usage }, { price });
}

function completion(usage: JsonObject, price: Price) {
  const choices = [{ index: 0, message: { content: 'a' }, finish_reason: 'stop' }];
  return costIn(completions, { choices, usage }, { price });
}

test.each<[string, JsonObject, Price, number, string]>([
  [
    'input and output',
    { promptTokenCount: 7, candidatesTokenCount: 20, totalTokenCount: 27 },
    flash,
    0,
    '7 × 0.30 + 20 × 2.50',
  ],
  [
    'a cached part of the prompt',
    { promptTokenCount: 1007, cachedContentTokenCount: 1000, candidatesTokenCount: 1 },
    flash,
    0,
    '7 × 0.30 + 1000 × 0.075 + 1 × 2.50',
  ],
  [
    'a cached part without a price of its own',
    { promptTokenCount: 10, cachedContentTokenCount: 4, candidatesTokenCount: 1 },
    { input: 0.1, output: 0.2 },
    0,
    '10 × 0.1 + 1 × 0.2',
  ],
  [
    'thinking beside the output',
    { promptTokenCount: 7, candidatesTokenCount: 20, thoughtsTokenCount: 300 },
    flash,
    0,
    '7 × 0.30 + 20 × 2.50 + 300 × 3.50',
  ],
  [
    'thinking without a price of its own',
    { promptTokenCount: 1, candidatesTokenCount: 2, thoughtsTokenCount: 3 },
    { input: '1', output: '2' },
    0,
    '1 × 1 + 5 × 2',
  ],
  [
    'what tools put into the prompt',
    { promptTokenCount: 7, toolUsePromptTokenCount: 90, candidatesTokenCount: 2 },
    flash,
    0,
    '97 × 0.30 + 2 × 2.50',
  ],
  [
    'output that only the total shows',
    { promptTokenCount: 7, thoughtsTokenCount: 3, totalTokenCount: 30 },
    flash,
    0,
    '7 × 0.30 + 20 × 2.50 + 3 × 3.50',
  ],
  [
    'a count of nothing',
    { promptTokenCount: 7, candidatesTokenCount: 2, thoughtsTokenCount: 0 },
    { input: '1', output: '1' },
    0,
    '7 × 1 + 2 × 1',
  ],
  ['a prompt that was blocked', { promptTokenCount: 7, totalTokenCount: 7 }, flash, 0, '7 × 0.30'],
  [
    'an answer that only thought',
    { promptTokenCount: 7, thoughtsTokenCount: 9, totalTokenCount: 16 },
    flash,
    0,
    '7 × 0.30 + 9 × 3.50',
  ],
  [
    'images, whose tokens their price pays for',
    {
      promptTokenCount: 7,
      candidatesTokenCount: 2590,
      candidatesTokensDetails: [
        { modality: 'IMAGE', tokenCount: 2580 },
        { modality: 'TEXT', tokenCount: 10 },
      ],
    },
    flash,
    2,
    '7 × 0.30 + 10 × 2.50 + 2 images × 0.039',
  ],
  [
    'images with more tokens than the whole output has',
    {
      promptTokenCount: 7,
      candidatesTokenCount: 10,
      candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }],
    },
    flash,
    1,
    '7 × 0.30 + 1 image × 0.039',
  ],
  [
    'images whose tokens nobody tells apart',
    { promptTokenCount: 7, candidatesTokenCount: 1290 },
    flash,
    1,
    '7 × 0.30 + 1290 × 2.50 + 1 image × 0.039',
  ],
  [
    'images of a model that only draws',
    { promptTokenCount: 7, candidatesTokenCount: 1290 },
    { input: '0.30', image: '0.039' },
    1,
    '7 × 0.30 + 1 image × 0.039',
  ],
  [
    'images where nothing else has a price',
    { promptTokenCount: 7, candidatesTokenCount: 1290 },
    { image: '0.039' },
    2,
    '2 images × 0.039',
  ],
  [
    'images without a price of their own',
    { promptTokenCount: 7, candidatesTokenCount: 1290 },
    { input: '0.30', output: '30' },
    1,
    '7 × 0.30 + 1290 × 30',
  ],
  [
    'amounts that binary fractions do not have',
    { promptTokenCount: 3, candidatesTokenCount: 1 },
    { input: 0.1, output: 0.000001 },
    0,
    '3 × 0.1 + 1 × 0.000001',
  ],
  [
    'amounts of many digits',
    { promptTokenCount: 999_999_999, candidatesTokenCount: 999_999_999 },
    { input: '0.333333', output: '999999.999999' },
    0,
    '999999999 × 0.333333 + 999999999 × 999999.999999',
  ],
])('the content format: %s', (_, usage, price, images, expected) => {
  const cost = content(usage, price, images);
  expect(cost?.amount).toMatch(/^\d+(\.\d*[1-9])?$/);
  expect(scaled(cost?.amount ?? '')).toBe(sum(expected));
  expect(cost?.currency).toBe('USD');
});

test.each<[string, JsonObject, Price, string]>([
  ['input and output', { input_tokens: 12, output_tokens: 30 }, opus, '12 × 15 + 30 × 75'],
  [
    'the cache beside the input',
    { input_tokens: 12, cache_read_input_tokens: 2000, cache_creation_input_tokens: 500, output_tokens: 30 },
    opus,
    '12 × 15 + 2000 × 1.5 + 500 × 18.75 + 30 × 75',
  ],
  [
    'the cache without prices of its own',
    { input_tokens: 12, cache_read_input_tokens: 2000, cache_creation_input_tokens: 500, output_tokens: 30 },
    { input: '3', output: '15', currency: 'EUR' },
    '2512 × 3 + 30 × 15',
  ],
  [
    'thinking within the output',
    { input_tokens: 12, output_tokens: 30, output_tokens_details: { thinking_tokens: 20 } },
    { ...opus, thinking: '80' },
    '12 × 15 + 10 × 75 + 20 × 80',
  ],
])('the messages format: %s', (_, usage, price, expected) => {
  const cost = messages(usage, price);
  expect(scaled(cost?.amount ?? '')).toBe(sum(expected));
  expect(cost?.currency).toBe('EUR');
});

test.each<[string, JsonObject, string]>([
  ['input and output', { prompt_tokens: 12, completion_tokens: 30, total_tokens: 42 }, '12 × 15 + 30 × 75'],
  [
    'the cache within the input, and thinking within the output',
    {
      prompt_tokens: 2012,
      prompt_tokens_details: { cached_tokens: 2000 },
      completion_tokens: 30,
      completion_tokens_details: { reasoning_tokens: 20 },
      total_tokens: 2042,
    },
    '12 × 15 + 2000 × 1.5 + 10 × 75 + 20 × 80',
  ],
  [
    'thinking beside the output, as the total shows',
    {
      prompt_tokens: 12,
      completion_tokens: 10,
      completion_tokens_details: { reasoning_tokens: 20 },
      total_tokens: 42,
    },
    '12 × 15 + 10 × 75 + 20 × 80',
  ],
])('the completions format: %s', (_, usage, expected) => {
  expect(scaled(completion(usage, { ...opus, thinking: '80' })?.amount ?? '')).toBe(sum(expected));
});

test.each<[string, JsonObject, Price]>([
  ['no price for output that came', { promptTokenCount: 1, candidatesTokenCount: 1 }, { input: '1' }],
  ['no price for input', { promptTokenCount: 1, candidatesTokenCount: 1 }, { output: '1' }],
  [
    'no price for input beside those of output and images',
    { promptTokenCount: 1, totalTokenCount: 1 },
    { output: '1', image: '1' },
  ],
  ['no price but that of thinking', { promptTokenCount: 1, totalTokenCount: 1 }, { thinking: '1' }],
  [
    'no price for words, and no image that their tokens can be of',
    { promptTokenCount: 1, candidatesTokenCount: 1 },
    { input: '1', image: '1' },
  ],
  ['no count of the input', { candidatesTokenCount: 1 }, flash],
  ['no count of the output, and no total', { promptTokenCount: 1 }, flash],
  ['a count below 0', { promptTokenCount: -5, candidatesTokenCount: 1 }, flash],
  ['a part of a token', { promptTokenCount: 1, candidatesTokenCount: 1.5 }, flash],
  ['more tokens than JSON counts exactly', { promptTokenCount: 2 ** 60, candidatesTokenCount: 1 }, flash],
])('nothing is guessed: %s', (_, usage, price) => {
  expect(content(usage, price)).toBeUndefined();
});

test('nothing is guessed: no count of the output in the messages format', () => {
  expect(messages({ input_tokens: 5 }, opus)).toBeUndefined();
});

test('nothing is guessed: a count below 0 in the messages format', () => {
  expect(messages({ input_tokens: -5, output_tokens: 1 }, opus)).toBeUndefined();
});

/*
 * Google's own figures of thinking, as gateways in OpenAI's format relay them (mozilla-ai/any-llm#1290): the total has tokens that no
 * other count has, and they are billed.
 */
test('the cost is unknown where the total has tokens whose kind is not said', () => {
  expect(completion({ prompt_tokens: 20, completion_tokens: 198, total_tokens: 623 }, flash)).toBeUndefined();
  expect(content({ promptTokenCount: 20, candidatesTokenCount: 198, totalTokenCount: 623 }, flash)).toBeUndefined();
  const whole = { promptTokenCount: 20, candidatesTokenCount: 198, thoughtsTokenCount: 405, totalTokenCount: 623 };
  expect(content(whole, flash)).toBeDefined();
  const drawn = { promptTokenCount: 20, candidatesTokenCount: 198, totalTokenCount: 623 };
  expect(content(drawn, { image: '0.04' }, 1)).toEqual({ amount: '0.04', currency: 'USD' });
  // What a relay leaves out of the total says nothing.
  expect(completion({ prompt_tokens: 20, completion_tokens: 198, total_tokens: 20 }, flash)).toBeDefined();
});

// Relays of Anthropic's counts in OpenAI's format leave what was cached out of the prompt.
test.each([{ cached_tokens: 21 }, { cached_tokens: 11, cache_write_tokens: 10 }])(
  'the cost is unknown where more was cached than the prompt has: %j',
  (prompt_tokens_details) => {
    const usage = { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 };
    expect(completion({ ...usage, prompt_tokens_details }, flash)).toBeUndefined();
    expect(completion({ ...usage, prompt_tokens_details: { cached_tokens: 20 } }, flash)).toBeDefined();
  },
);

test('the cost of a stream that was cut before its last usage is unknown', () => {
  const result = { model: 'm', usage: { inputTokens: 1, outputTokens: 1 }, images: [], stopReason: undefined };
  const pricing = { prices: { m: opus }, format: 'messages' as const };
  expect(computeAnswerCost({ result, error: new Error('cut') }, pricing)).toBeUndefined();
});

test('an answer without counts has no known cost', () => {
  const pricing = { prices: { m: opus }, format: 'messages' as const };
  const result = { model: 'm', usage: undefined, images: [], stopReason: 'end_turn' };
  expect(countAnswer({ result, error: undefined }, pricing)).toEqual({
    spent: { costs: [], unknown: 1 },
    warnings: [],
  });
});

test('what a completion wrote to the cache is a part of its input, and has a price of its own', () => {
  const usage = {
    prompt_tokens: 1_000_000,
    completion_tokens: 0,
    prompt_tokens_details: { cached_tokens: 200_000, cache_write_tokens: 600_000 },
  };
  const price: Price = { input: '2', cached: '0.1', cacheWrite: '2.5', output: '10' };
  expect(completion(usage, price)).toMatchObject({ amount: '1.92' });
});

test.each([
  ['an error after the finish reason', new Error('cut'), 'end_turn'],
  ['no finish reason and no error', undefined, undefined],
])('the cost of an answer is known with %s', (_, error, stopReason) => {
  const result = { model: 'm', usage: { inputTokens: 1, outputTokens: 1 }, images: [], stopReason };
  const pricing = { prices: { m: opus }, format: 'messages' as const };
  expect(computeAnswerCost({ result, error }, pricing)).toEqual({ amount: '0.00009', currency: 'EUR' });
});

test('costs add up by currency, and have a total only if all are known in one', () => {
  const [euros, dollars] = ['EUR', 'USD'].map((currency) => ({ costs: [{ amount: '0.5', currency }], unknown: 0 }));
  const [one, other] = [euros as Spent, dollars as Spent];
  expect(totalCost(joinSpent([one, one]))).toEqual({ amount: '1', currency: 'EUR' });
  expect(joinSpent([one, other, one])).toEqual({
    costs: [
      { amount: '1', currency: 'EUR' },
      { amount: '0.5', currency: 'USD' },
    ],
    unknown: 0,
  });
  expect(totalCost(joinSpent([one, other]))).toBeUndefined();
  const lost = joinSpent([one, { costs: [], unknown: 1 }]);
  expect([totalCost(lost), lost.unknown]).toEqual([undefined, 1]);
});

test('a price that lacks the tier of the answer is why its cost is unknown, and a model without any price has no reason', () => {
  const pricing = { prices: { m: opus }, format: 'messages' as const };
  const find = (model: string) => {
    const usage = { inputTokens: 1, outputTokens: 1 };
    const result = { model, usage, images: [], stopReason: 'end_turn', serviceTier: 'flex' };
    return countAnswer({ result, error: undefined }, pricing).warnings;
  };
  expect(find('m')).toEqual([expect.stringMatching(/^the cost is unknown: the price has no factor .*flex/)]);
  expect(find('other')).toEqual([]);
});

test.each([
  ['for each candidate', { maxTokens: 10, candidates: 3 }, { input: '1', output: '2' }, '0.00006'],
  [
    'without a limit of tokens nothing',
    { maxTokens: undefined, candidates: 1 },
    { input: '1', output: '2' },
    undefined,
  ],
  ['images without one', { maxTokens: undefined, candidates: 2 }, { image: '0.5' }, '1'],
])('an estimate counts %s', (_, limits, price, most) => {
  expect(estimateCost(0, { price, factors: [1] }, limits).most).toBe(most);
});

test('an estimate is multiplied by the factor of the tier', () => {
  const price = { input: '1', output: '2' };
  const limits = { maxTokens: 10, candidates: 1 };
  expect(estimateCost(100, { price, factors: ['0.5'] }, limits)).toEqual({ input: '0.00005', most: '0.00006' });
});
