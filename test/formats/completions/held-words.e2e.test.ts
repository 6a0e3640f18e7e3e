import { expect, test } from 'vitest';
import { createCompletionsDecoder } from '../../../src/formats/completions/reply.ts';
import { chunk } from './feeding.ts';

test('keeps no more of what it does not report than any answer has', () => {
  const decoder = createCompletionsDecoder();
  const piece = { data: chunk({ refusal: 'x'.repeat(9 * 1024 * 1024) }) };
  const feed = (): void => {
    for (let at = 0; at < 8; at++) decoder.feed(piece);
  };
  expect(feed).toThrow(
    expect.objectContaining({ class: 'bad-reply', message: 'the answer is longer than 67108864 characters' }),
  );
});
