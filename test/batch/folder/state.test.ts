import { expect, test } from 'vitest';
import { JobIndex } from '../../../src/batch/folder/state.ts';

test('keeps state, request, place and marks of each of many ids', () => {
  const index = new JobIndex();
  const states = ['new', 'sent', 'done', 'failed', 'unknown'] as const;
  const request = (i: number) => i.toString(16).padStart(16, 'f');
  for (let i = 0; i < 20_000; i++) {
    const row = index.add(`id-${i}`);
    index.setState(row, states[i % 5] as 'new');
    index.setDigest(row, request(i));
    index.setPlace(row, 20_000 - i);
    if (i % 2 === 0) index.setFlag(row, 'inFile');
    if (i % 3 === 0) index.setFlag(row, 'toSend');
  }
  expect(index.size).toBe(20_000);
  const seen = [...index.ids()].map((id, i) => {
    const row = index.find(id);
    const marks = [index.has(row, 'inFile'), index.has(row, 'toSend')];
    return (
      [id, row, index.add(id), index.stateOf(row), index.digestOf(row), index.placeOf(row), ...marks].join() ===
      [`id-${i}`, i, i, states[i % 5], request(i), 20_000 - i, i % 2 === 0, i % 3 === 0].join()
    );
  });
  expect(seen.filter((isRight) => !isRight)).toEqual([]);
  expect(index.find('another')).toBe(-1);
});

test('a request that is not known, or is not one, is all zero; a mark can be taken back', () => {
  const index = new JobIndex();
  const row = index.add('a');
  expect(index.digestOf(row)).toBe('0000000000000000');
  for (const wrong of ['', 'xyz', '0123456789abcdeg', '0123456789ABCDEF', 'x0123456789abcdef', '0123456789abcdefx']) {
    index.setDigest(row, wrong);
    expect(index.digestOf(row)).toBe('0000000000000000');
  }
  index.setFlag(row, 'toSend');
  index.setFlag(row, 'toSend', false);
  expect(index.has(row, 'toSend')).toBe(false);
});
