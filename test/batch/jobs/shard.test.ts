import { describe, expect, test } from 'vitest';
import { isInShard } from '../../../src/batch/jobs/digest.ts';
import { parseShard } from '../../../src/batch/flags.ts';

describe('--shard', () => {
  test.each([
    ['2/8', { index: 2, total: 8 }],
    ['1/1', { index: 1, total: 1 }],
  ])('%s', (word, expected) => {
    expect(parseShard(word)).toEqual(expected);
  });

  test.each([
    ['nothing', '', 'takes i/n'],
    ['one number', '3', 'takes i/n'],
    ['zero', '0/4', 'not within 1 to 4'],
    ['one too many', '5/4', 'not within 1 to 4'],
    ['words', 'a/b', 'takes i/n'],
    ['no shards', '1/0', 'takes i/n'],
    ['three parts', '1/2/3', 'takes i/n'],
    ['a fraction', '1.5/4', 'takes i/n'],
  ])('refuses %s', (_, word, message) => {
    expect(() => parseShard(word)).toThrow(message);
  });

  test('every job is in exactly one of the shards, about as many in each', () => {
    const counts = [0, 0, 0];
    for (let i = 0; i < 3000; i++) {
      const own = [1, 2, 3].filter((index) => isInShard(`job-${i}`, { index, total: 3 }));
      expect(own).toHaveLength(1);
      counts[(own[0] as number) - 1]!++;
    }
    for (const count of counts) expect(count).toBeGreaterThan(850);
  });

  test('the shard of an id never changes', () => {
    const shards = ['1', 'cat', 'job-77', 'ä'].map((id) =>
      [1, 2, 3, 4, 5].find((index) => isInShard(id, { index, total: 5 })),
    );
    expect(shards).toEqual([5, 3, 5, 5]);
  });
});
