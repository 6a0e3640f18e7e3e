import { describe, expect, test } from 'vitest';
import { content } from '../../../../src/library/formats/content/format.ts';
import { foldWhole } from '../accumulating.ts';

const piece = (text: string, more: object = {}) => ({ content: { parts: [{ text }], role: 'model' }, ...more });
const textsOf = (pieces: readonly unknown[]) => foldWhole(content, pieces).result.candidates.map(({ text }) => text);

describe('the pieces of a content-format reply', () => {
  test('are joined candidate by candidate (deviations 19 and 37)', () => {
    const { result } = foldWhole(content, [
      { candidates: [piece('a', { index: 0 }), piece('x', { index: 1 })], usageMetadata: { promptTokenCount: 2 } },
      { candidates: [piece('y', { index: 1, finishReason: 'MAX_TOKENS' })], modelVersion: 'm' },
      { candidates: [piece('b', { index: 0, finishReason: 'STOP', safetyRatings: [] })], responseId: 'r' },
      { usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 9 } },
    ]);
    expect(result.candidates.map((one) => [one.index, one.text, one.finishReason])).toStrictEqual([
      [0, 'ab', 'STOP'],
      [1, 'xy', 'MAX_TOKENS'],
    ]);
    expect(result).toMatchObject({ modelVersion: 'm', responseId: 'r', usage: { inputTokens: 2, outputTokens: 9 } });
  });

  test('keep what an earlier one said where a later one says nothing', () => {
    const { result } = foldWhole(content, [
      {
        candidates: [piece('a', { finishReason: 'STOP', finishMessage: 'm', safetyRatings: [{ blocked: true }] })],
        promptFeedback: { blockReason: 'OTHER' },
        modelVersion: 'm',
        responseId: 'r',
        usageMetadata: { totalTokenCount: 5 },
      },
      { candidates: [{ finishReason: null }], promptFeedback: null, usageMetadata: { promptTokenCount: 1 } },
    ]);
    expect(result).toMatchObject({
      role: 'model',
      candidates: [{ finishReason: 'STOP', finishMessage: 'm', safetyRatings: [{ blocked: true }] }],
      promptFeedback: { blockReason: 'OTHER' },
      modelVersion: 'm',
      responseId: 'r',
      usage: { totalTokens: 5, inputTokens: 1 },
    });
  });

  test('keep why a prompt was blocked if later feedback has only ratings', () => {
    const safetyRatings = [{ category: 'HATE', probability: 'HIGH' }];
    const { result } = foldWhole(content, [
      { promptFeedback: { blockReason: 'OTHER' } },
      { promptFeedback: { safetyRatings } },
    ]);
    expect(result.stopReason).toBe('OTHER');
  });

  test('are distinguished from what is not a piece of a reply', () => {
    const pieces = [null, {}, '[DONE]', { candidates: [piece('a')] }, { response: { candidates: [piece('b')] } }];
    expect(textsOf(pieces)).toStrictEqual(['ab']);
  });

  test.each([
    ['nothing', []],
    ['no piece of a reply', [{}, 'x']],
  ])('are refused where there is %s', (_, pieces) => {
    expect(() => foldWhole(content, pieces)).toThrow(expect.objectContaining({ class: 'bad-reply' }));
  });

  test('are incomplete in a list whose last piece has no reason, and whole where every candidate has one', () => {
    const last = { candidates: [piece('b', { finishReason: 'STOP' })] };
    expect(foldWhole(content, [{ candidates: [piece('a')] }]).error).toMatchObject({ class: 'incomplete' });
    expect(foldWhole(content, [{ candidates: [piece('a')] }, last]).error).toBeUndefined();
    expect(foldWhole(content, [{ promptFeedback: { blockReason: 'OTHER' } }]).error).toBeUndefined();
  });
});
