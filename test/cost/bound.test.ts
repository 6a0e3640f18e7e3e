import { expect, test } from 'vitest';
import { boundOf } from '../../src/cost/cost.ts';
import { completions } from '../../src/formats/completions/format.ts';
import { content } from '../../src/formats/content/format.ts';
import type { Format, RequestLimits } from '../../src/formats/format.ts';
import { messages } from '../../src/formats/messages/format.ts';
import { type Body, createUpload } from '../../src/body.ts';
import { flash, opus, scaled, sum } from './prices.ts';

test('a request can cost its limit of tokens, its bytes as input, and its images; the cost of files is unknown', () => {
  const limited = { generationConfig: { maxOutputTokens: 100, candidateCount: 2 } };
  const bytes = JSON.stringify(limited).length;
  const most = sum(
    [
      [bytes, '0.30'],
      [200, '3.50'],
    ],
    [[2, '0.039']],
  );
  const bound = boundOf(limited, flash, content.limits(limited));
  expect([scaled(bound.amount), bound.isMost]).toEqual([most, true]);
  const contents = [createUpload(new Uint8Array(9))];
  expect(boundOf({ ...limited, contents }, flash, content.limits(limited)).isMost).toBe(false);
  expect(boundOf({ contents: [] }, flash, content.limits({ contents: [] }))).toEqual({
    amount: '0.039',
    isMost: false,
  });
});

test.each<[Format, Body, RequestLimits]>([
  [content, { generationConfig: { maxOutputTokens: 7, candidateCount: 2 } }, { maxTokens: 7, candidates: 2 }],
  [content, { generationConfig: { maxOutputTokens: 'x' } }, { maxTokens: undefined, candidates: 1 }],
  // It draws no pictures.
  [messages, { max_tokens: 1000 }, { maxTokens: 1000, candidates: 1, images: 0 }],
  [completions, { max_tokens: 5, n: 3 }, { maxTokens: 5, candidates: 3 }],
  [completions, { max_tokens: 5, max_completion_tokens: 6 }, { maxTokens: 6, candidates: 1 }],
  [completions, {}, { maxTokens: undefined, candidates: 1 }],
])('the limits of a request in $name: %j', ({ limits }, body, expected) => {
  expect(limits(body)).toEqual(expected);
});

test('a limit of tokens bounds a message', () => {
  const body = { max_tokens: 1000 };
  expect(boundOf(body, opus, messages.limits(body)).isMost).toBe(true);
  expect(boundOf(body, { ...opus, image: '9' }, messages.limits(body)).amount).toBe(
    boundOf(body, opus, messages.limits(body)).amount,
  );
});

test.each([
  ['live', 'priority'],
  ['flex', 'priority'],
  ['batch', 'batch'],
] as const)('in the lane %s a request can cost what the tier %s costs', (lane, tier) => {
  const body = { max_tokens: 1000 };
  const own = { batch: { input: '1', output: '2' }, priority: { input: '5', output: '9' } };
  const price = { input: '3', output: '4', flex: '0.5', ...own };
  const limits = messages.limits(body);
  expect(boundOf(body, price, { ...limits, lane: { value: lane } })).toEqual(boundOf(body, own[tier], limits));
});
