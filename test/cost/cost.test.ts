import { expect, test } from 'vitest';
import { addCost, boundOf, costOfAnswer } from '../../src/cost/cost.ts';
import { priceOf } from '../../src/cost/price.ts';
import { readContentUsage } from '../../src/formats/content/reply.ts';
import { addCounts, usageOf } from '../../src/formats/messages/reply.ts';
import type { ResultImage } from '../../src/client/result.ts';
import type { JsonObject } from '../../src/json.ts';
import { byDefault } from '../../src/settings/sources.ts';
import type { Price } from '../../src/settings/types.ts';
import { createUpload } from '../../src/upload.ts';

const table = (prices: Record<string, Price>) =>
  Object.fromEntries(Object.entries(prices).map(([name, value]) => [name, byDefault(value)]));

/** Millionths of millionths, as whole numbers: what 1 token costs at a price for a million tokens is exact in them. */
const scale = 12;

function scaled(amount: string): bigint {
  const [whole = '0', part = ''] = amount.split('.');
  return BigInt(whole + part.padEnd(scale, '0'));
}

/** Tokens and their prices for a million; then images and their price. */
function sum(tokens: [number, string][], images: [number, string][] = []): bigint {
  const perToken = tokens.reduce((all, [count, price]) => all + (BigInt(count) * scaled(price)) / 1_000_000n, 0n);
  return images.reduce((all, [count, price]) => all + BigInt(count) * scaled(price), perToken);
}

function content(usage: JsonObject, price: Price, images = 0) {
  const drawn = Array.from({ length: images }, () => ({}) as ResultImage);
  const result = { model: 'm', usage: readContentUsage(usage), images: drawn, stopReason: 'STOP' };
  return costOfAnswer({ result, error: undefined }, { prices: table({ m: price }), use: 'text' });
}

function messages(usage: JsonObject, price: Price) {
  const result = { model: 'm', usage: usageOf(addCounts({}, usage)), images: [], stopReason: 'end_turn' };
  return costOfAnswer({ result, error: undefined }, { prices: table({ m: price }), use: 'chat' });
}

const flash: Price = { input: '0.30', output: '2.50', cached: '0.075', thinking: '3.50', image: '0.039' };

test.each<[string, JsonObject, Price, number, bigint]>([
  [
    'input and output',
    { promptTokenCount: 7, candidatesTokenCount: 20, totalTokenCount: 27 },
    flash,
    0,
    sum([
      [7, '0.30'],
      [20, '2.50'],
    ]),
  ],
  [
    'a cached part of the prompt',
    { promptTokenCount: 1007, cachedContentTokenCount: 1000, candidatesTokenCount: 1 },
    flash,
    0,
    sum([
      [7, '0.30'],
      [1000, '0.075'],
      [1, '2.50'],
    ]),
  ],
  [
    'a cached part without a price of its own',
    { promptTokenCount: 10, cachedContentTokenCount: 4, candidatesTokenCount: 1 },
    { input: 0.1, output: 0.2 },
    0,
    sum([
      [10, '0.1'],
      [1, '0.2'],
    ]),
  ],
  [
    'thinking beside the output',
    { promptTokenCount: 7, candidatesTokenCount: 20, thoughtsTokenCount: 300 },
    flash,
    0,
    sum([
      [7, '0.30'],
      [20, '2.50'],
      [300, '3.50'],
    ]),
  ],
  [
    'thinking without a price of its own',
    { promptTokenCount: 1, candidatesTokenCount: 2, thoughtsTokenCount: 3 },
    { input: '1', output: '2' },
    0,
    sum([
      [1, '1'],
      [5, '2'],
    ]),
  ],
  [
    'what tools put into the prompt',
    { promptTokenCount: 7, toolUsePromptTokenCount: 90, candidatesTokenCount: 2 },
    flash,
    0,
    sum([
      [97, '0.30'],
      [2, '2.50'],
    ]),
  ],
  ['a prompt that was blocked', { promptTokenCount: 7, totalTokenCount: 7 }, flash, 0, sum([[7, '0.30']])],
  [
    'an answer that only thought',
    { promptTokenCount: 7, thoughtsTokenCount: 9, totalTokenCount: 16 },
    flash,
    0,
    sum([
      [7, '0.30'],
      [9, '3.50'],
    ]),
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
    sum(
      [
        [7, '0.30'],
        [10, '2.50'],
      ],
      [[2, '0.039']],
    ),
  ],
  [
    'images whose tokens nobody tells apart',
    { promptTokenCount: 7, candidatesTokenCount: 1290 },
    flash,
    1,
    sum(
      [
        [7, '0.30'],
        [1290, '2.50'],
      ],
      [[1, '0.039']],
    ),
  ],
  [
    'images of a model that only draws',
    { promptTokenCount: 7, candidatesTokenCount: 1290 },
    { input: '0.30', image: '0.039' },
    1,
    sum([[7, '0.30']], [[1, '0.039']]),
  ],
  [
    'images where nothing else has a price',
    { promptTokenCount: 7, candidatesTokenCount: 1290 },
    { image: '0.039' },
    2,
    sum([], [[2, '0.039']]),
  ],
  [
    'images without a price of their own',
    { promptTokenCount: 7, candidatesTokenCount: 1290 },
    { input: '0.30', output: '30' },
    1,
    sum([
      [7, '0.30'],
      [1290, '30'],
    ]),
  ],
  [
    'amounts that binary fractions do not have',
    { promptTokenCount: 3, candidatesTokenCount: 1 },
    { input: 0.1, output: 0.000001 },
    0,
    sum([
      [3, '0.1'],
      [1, '0.000001'],
    ]),
  ],
  [
    'amounts of many digits',
    { promptTokenCount: 999_999_999, candidatesTokenCount: 999_999_999 },
    { input: '0.333333', output: '999999.999999' },
    0,
    sum([
      [999_999_999, '0.333333'],
      [999_999_999, '999999.999999'],
    ]),
  ],
])('the content format: %s', (_, usage, price, images, expected) => {
  const cost = content(usage, price, images);
  expect(cost?.amount).toMatch(/^\d+(\.\d*[1-9])?$/);
  expect(scaled(cost?.amount ?? '')).toBe(expected);
  expect(cost?.currency).toBe('USD');
});

const opus: Price = { input: '15', output: '75', cached: '1.5', cacheWrite: '18.75', currency: 'EUR' };

test.each<[string, JsonObject, Price, bigint]>([
  ['input and output', { input_tokens: 12, output_tokens: 30 }, opus, scaled('0.00243')],
  [
    'the cache beside the input',
    { input_tokens: 12, cache_read_input_tokens: 2000, cache_creation_input_tokens: 500, output_tokens: 30 },
    opus,
    sum([
      [12, '15'],
      [2000, '1.5'],
      [500, '18.75'],
      [30, '75'],
    ]),
  ],
  [
    'the cache without prices of its own',
    { input_tokens: 12, cache_read_input_tokens: 2000, cache_creation_input_tokens: 500, output_tokens: 30 },
    { input: '3', output: '15', currency: 'EUR' },
    sum([
      [2512, '3'],
      [30, '15'],
    ]),
  ],
  [
    'thinking within the output',
    { input_tokens: 12, output_tokens: 30, output_tokens_details: { thinking_tokens: 20 } },
    { ...opus, thinking: '80' },
    sum([
      [12, '15'],
      [10, '75'],
      [20, '80'],
    ]),
  ],
])('the messages format: %s', (_, usage, price, expected) => {
  const cost = messages(usage, price);
  expect(scaled(cost?.amount ?? '')).toBe(expected);
  expect(cost?.currency).toBe('EUR');
});

test.each<[string, JsonObject, Price]>([
  ['no price for output that came', { promptTokenCount: 1, candidatesTokenCount: 1 }, { input: '1' }],
  ['no price for input', { promptTokenCount: 1, candidatesTokenCount: 1 }, { output: '1' }],
  ['no count of the input', { candidatesTokenCount: 1 }, flash],
  ['no count of the output, and no total', { promptTokenCount: 1 }, flash],
  ['a count below 0', { promptTokenCount: -5, candidatesTokenCount: 1 }, flash],
  ['a part of a token', { promptTokenCount: 1, candidatesTokenCount: 1.5 }, flash],
  ['more tokens than JSON counts exactly', { promptTokenCount: 2 ** 60, candidatesTokenCount: 1 }, flash],
])('nothing is guessed: %s', (_, usage, price) => {
  expect(content(usage, price)).toBeUndefined();
});

test('nothing is guessed: a count below 0 in the messages format', () => {
  expect(messages({ input_tokens: -5, output_tokens: 1 }, opus)).toBeUndefined();
});

test('of a stream that was cut before its last usage nobody knows the cost', () => {
  const result = { model: 'm', usage: { inputTokens: 1, outputTokens: 1 }, images: [], stopReason: undefined };
  const pricing = { prices: table({ m: opus }), use: 'chat' } as const;
  expect(costOfAnswer({ result, error: new Error('cut') }, pricing)).toBeUndefined();
});

test('the exact name has the price, else the longest pattern that fits', () => {
  const prices = table({ '*': { input: 1 }, 'g*': { input: 2 }, 'g-*-flash': { input: 3 }, 'g-2-flash': { input: 4 } });
  const input = (model: string) => priceOf(prices, model)?.input;
  expect(['g-2-flash', 'models/g-2-flash', 'g-9-flash', 'g-flash', 'x', 'constructor'].map(input)).toEqual([
    4, 4, 3, 2, 1, 1,
  ]);
  expect(priceOf(table({ 'a*b*a': { input: 1 } }), 'aba')).toBeDefined();
  expect(priceOf(table({ 'ab*ba': { input: 1 } }), 'aba')).toBeUndefined();
});

test('currencies are never added', () => {
  const one = { amount: '0.1', currency: 'USD' };
  const costs = [one, { amount: '5', currency: 'EUR' }, { amount: '0.2', currency: 'USD' }].reduce(addCost, []);
  expect(costs).toEqual([
    { amount: '0.3', currency: 'USD' },
    { amount: '5', currency: 'EUR' },
  ]);
});

test('a request can cost its limit of tokens, its bytes as input, and its images; files are not to be foreseen', () => {
  const limited = { generationConfig: { maxOutputTokens: 100, candidateCount: 2 } };
  const bytes = JSON.stringify(limited).length;
  const most = sum(
    [
      [bytes, '0.30'],
      [200, '3.50'],
    ],
    [[2, '0.039']],
  );
  const bound = boundOf(limited, flash, 'image');
  expect([scaled(bound.amount), bound.isMost]).toEqual([most, true]);
  expect(boundOf({ ...limited, contents: [createUpload(new Uint8Array(9))] }, flash, 'text').isMost).toBe(false);
  expect(boundOf({ contents: [] }, flash, 'image')).toEqual({ amount: '0.039', isMost: false });
  expect(boundOf({ max_tokens: 1000 }, opus, 'chat').isMost).toBe(true);
});
