import { expect, test } from 'vitest';
import { emptyResult } from '../../../src/library/client/arriving-reply.ts';
import { joinReplies } from '../../../src/library/client/reply-fields.ts';
import type { Result } from '../../../src/library/client/result.ts';

const source = (url: string) => ({ kind: 'web' as const, url, cited: true, spans: [{ start: 0, end: 1 }] });
const replies: Result[] = [
  {
    ...emptyResult('m'),
    text: 'ab',
    responseId: 'r-1',
    usage: { inputTokens: 1, outputTokens: 2 },
    sources: [source('https://a.test/')],
    warnings: ['slow'],
    stopReason: 'pause_turn',
  },
  { ...emptyResult('m'), text: 'c', serviceTier: 'flex', toolCalls: [{ name: 'f', input: {} }] },
  {
    ...emptyResult('m'),
    text: 'd',
    usage: { outputTokens: 3 },
    sources: [source('https://b.test/')],
    warnings: ['slow', 'late'],
    stopReason: 'end_turn',
  },
];

test('the parts of an answer are one text, and keep the last value that is known', () => {
  expect(joinReplies(replies, 'parts')).toMatchObject({
    text: 'abcd',
    responseId: 'r-1',
    serviceTier: 'flex',
    toolCalls: [{ name: 'f' }],
    usage: { inputTokens: 1, outputTokens: 5 },
    sources: [
      { url: 'https://a.test/', spans: [{ start: 0, end: 1 }] },
      { url: 'https://b.test/', spans: [{ start: 3, end: 4 }] },
    ],
    warnings: ['slow', 'late'],
    stopReason: 'end_turn',
    requests: 3,
  });
});

test('of several answers the first speaks, with the lists and the counts of all', () => {
  const joined = joinReplies(replies, 'answers');
  expect(joined).toMatchObject({
    text: 'ab',
    stopReason: 'pause_turn',
    toolCalls: [{ name: 'f' }],
    usage: { inputTokens: 1, outputTokens: 5 },
    warnings: ['slow', 'late'],
  });
  expect(joined.sources).toEqual([
    { kind: 'web', url: 'https://a.test/', cited: true },
    { kind: 'web', url: 'https://b.test/', cited: true },
  ]);
  expect(joined).not.toHaveProperty('serviceTier');
});

test('of the rounds of a tool loop the last speaks, with the counts and the warnings of all', () => {
  const joined = joinReplies(replies, 'rounds');
  expect(joined).toMatchObject({
    text: 'd',
    stopReason: 'end_turn',
    toolCalls: [],
    usage: { inputTokens: 1, outputTokens: 5 },
    warnings: ['slow', 'late'],
  });
  expect(joined.sources).toEqual([
    { kind: 'web', url: 'https://b.test/', cited: true, spans: [{ start: 0, end: 1 }] },
    { kind: 'web', url: 'https://a.test/', cited: true },
  ]);
});
