import { describe, expect, test } from 'vitest';
import { contentText, decodeContentReply, mergeContentReplies } from '../../../src/formats/content/reply.ts';

const piece = (text: string, more: object = {}) => ({ content: { parts: [{ text }], role: 'model' }, ...more });

describe('mergeContentReplies', () => {
  test('joins the pieces candidate by candidate (wire 6 #19, #37)', () => {
    const reply = mergeContentReplies([
      { candidates: [piece('a', { index: 0 }), piece('x', { index: 1 })], usageMetadata: { promptTokenCount: 2 } },
      { candidates: [piece('y', { index: 1, finishReason: 'MAX_TOKENS' })], modelVersion: 'm' },
      { candidates: [piece('b', { index: 0, finishReason: 'STOP', safetyRatings: [] })], responseId: 'r' },
      { usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 9 } },
    ]);
    expect(reply.candidates.map((one) => [one.index, contentText(one), one.finishReason])).toStrictEqual([
      [0, 'ab', 'STOP'],
      [1, 'xy', 'MAX_TOKENS'],
    ]);
    expect(reply).toMatchObject({ modelVersion: 'm', responseId: 'r', usage: { inputTokens: 2, outputTokens: 9 } });
  });

  test('keeps what an earlier piece said where a later one says nothing', () => {
    const reply = mergeContentReplies([
      {
        candidates: [piece('a', { finishReason: 'STOP', finishMessage: 'm', safetyRatings: [{ blocked: true }] })],
        promptFeedback: { blockReason: 'OTHER' },
        modelVersion: 'm',
        responseId: 'r',
        usageMetadata: { totalTokenCount: 5 },
      },
      { candidates: [{ finishReason: null }], usageMetadata: { promptTokenCount: 1 } },
    ]);
    expect(reply).toMatchObject({
      candidates: [{ role: 'model', finishReason: 'STOP', finishMessage: 'm', safetyRatings: [{ blocked: true }] }],
      promptFeedback: { blockReason: 'OTHER' },
      blockReason: 'OTHER',
      modelVersion: 'm',
      responseId: 'r',
      usage: { totalTokens: 5, inputTokens: 1 },
    });
  });

  test('skips what is no piece of a reply', () => {
    const reply = mergeContentReplies([
      null,
      {},
      '[DONE]',
      { candidates: [piece('a')] },
      { response: { candidates: [piece('b')] } },
    ]);
    expect(reply.candidates.map(contentText)).toStrictEqual(['ab']);
  });

  test.each([
    ['nothing', []],
    ['no piece of a reply', [{}, 'x']],
  ])('refuses %s', (_, replies) => {
    expect(() => mergeContentReplies(replies)).toThrow(expect.objectContaining({ class: 'bad-reply' }));
  });

  test('is what decodeContentReply does with an array', () => {
    const pieces = [{ candidates: [piece('a')] }, { candidates: [piece('b')] }];
    expect(decodeContentReply(pieces)).toStrictEqual(mergeContentReplies(pieces));
  });
});
