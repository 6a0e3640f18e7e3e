import { expect, test } from 'vitest';
import { createCompletionsDecoder } from '../../../../src/library/formats/completions/reply.ts';

test.each<[string, object, object]>([
  [
    'of DeepSeek',
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_cache_hit_tokens: 8,
      prompt_cache_miss_tokens: 2,
    },
    { inputTokens: 10, outputTokens: 5, cachedInputTokens: 8, totalTokens: 15 },
  ],
  [
    'of OpenAI and OpenRouter, with what was written to the cache',
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 6 },
    },
    { inputTokens: 10, outputTokens: 5, cachedInputTokens: 2, cacheWriteInputTokens: 6, totalTokens: 15 },
  ],
  [
    'of an image operation, with what was written to the cache',
    { input_tokens: 10, output_tokens: 5, input_tokens_details: { cache_write_tokens: 6 } },
    { inputTokens: 10, outputTokens: 5, cacheWriteInputTokens: 6 },
  ],
  [
    'of LiteLLM, with what was written to the cache',
    { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cache_creation_tokens: 6 } },
    { inputTokens: 10, outputTokens: 5, cacheWriteInputTokens: 6 },
  ],
  [
    'of Moonshot',
    { prompt_tokens: 10, completion_tokens: 5, cached_tokens: 4 },
    { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4 },
  ],
  [
    'of xAI, which counts thinking apart',
    {
      prompt_tokens: 32,
      completion_tokens: 9,
      total_tokens: 135,
      completion_tokens_details: { reasoning_tokens: 94 },
    },
    { inputTokens: 32, outputTokens: 103, thinkingTokens: 94, totalTokens: 135 },
  ],
  [
    'of OpenRouter, its cost left out',
    {
      prompt_tokens: 1,
      completion_tokens: 1300,
      total_tokens: 1301,
      cost: 0.04,
      completion_tokens_details: { image_tokens: 1290 },
    },
    { inputTokens: 1, outputTokens: 1300, imageOutputTokens: 1290, totalTokens: 1301 },
  ],
  ['of nulls', { prompt_tokens: null, completion_tokens: 2, completion_tokens_details: null }, { outputTokens: 2 }],
])('token counts are read: %s', (_, usage, expected) => {
  expect(createCompletionsDecoder().whole({ choices: [], usage })).toContainEqual({
    type: 'facts',
    facts: { usage: expect.objectContaining(expected) },
  });
});
