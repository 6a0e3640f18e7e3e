import { describe, expect, test } from 'vitest';
import { decide } from '../../../src/batch/run/decide.ts';
import { changedError } from '../../../src/batch/run/known-jobs.ts';
import { requireMatch } from '../../../src/batch/run/plan.ts';
import type { BatchPolicy, JobState, RunRecord } from '../../../src/batch/types.ts';

describe('what a run does with a job', () => {
  test.each([
    ['a new one is sent', 'new', false, {}, 'run'],
    ['a done one never again', 'done', true, { retryFailed: true, retryUnknown: true, acceptChanges: true }, 'skip'],
    ['a failed one waits', 'failed', true, {}, 'skip'],
    ['a failed one on demand', 'failed', true, { retryFailed: true }, 'run'],
    ['a failed one is not unknown', 'failed', true, { retryUnknown: true }, 'skip'],
    ['one that was sent may have been billed', 'sent', true, { retryFailed: true }, 'skip'],
    ['one that was sent, on demand', 'sent', true, { retryUnknown: true }, 'run'],
    ['one that got no answer', 'unknown', true, {}, 'skip'],
    ['one that got no answer, on demand', 'unknown', true, { retryUnknown: true }, 'run'],
    ['an edited one stops the run', 'done', false, {}, 'changed'],
    ['an edited one that failed stops it too', 'failed', false, {}, 'changed'],
    ['an edited one that failed, on demand', 'failed', false, { retryFailed: true }, 'run'],
    ['an edited one that may have been billed', 'sent', false, { retryUnknown: true }, 'changed'],
    ['an edited one on demand', 'done', false, { acceptChanges: true }, 'run'],
  ])('%s', (_, state, same, flags, expected) => {
    expect(
      decide(
        { atService: false, isRedone: false, state: state as JobState, same, incomplete: false },
        flags as BatchPolicy,
      ),
    ).toBe(expected);
  });

  test.each([
    ['stays', true, true, {}, 'skip'],
    ['is sent again on demand', true, true, { retryIncomplete: true }, 'run'],
    ['is sent again with other limits', true, false, { retryIncomplete: true }, 'run'],
    ['that is whole stays as it is, whatever was edited', false, false, { retryIncomplete: true }, 'skip'],
  ])('a done job whose answer was cut %s', (_, incomplete, same, flags, expected) => {
    expect(decide({ atService: false, isRedone: false, state: 'done', incomplete, same }, flags as BatchPolicy)).toBe(
      expected,
    );
  });
});

test('edited jobs are named, the first few of them', () => {
  expect(changedError({ ids: ['a'], jobs: 1 })).toMatchObject({
    class: 'batch-locked',
    exitCode: 14,
    message: '1 job was edited since an earlier run sent it: a',
  });
  expect(changedError({ ids: ['a', 'b'], jobs: 9 }).message).toBe(
    '9 jobs were edited since an earlier run sent them: a, b and 7 more',
  );
});

describe('a folder belongs to one gateway and one shard', () => {
  const run = (more: object) => ({ origin: 'https://a', ...more }) as RunRecord;
  const shard = { index: 1, total: 2 };

  test('a run with the same gateway and shard goes on', () => {
    expect(() => requireMatch(undefined, run({}))).not.toThrow();
    expect(() => requireMatch(run({}), run({}))).not.toThrow();
    expect(() => requireMatch(run({ shard }), run({ shard: { ...shard } }))).not.toThrow();
  });

  test.each([
    ['another gateway', run({}), run({ origin: 'https://b' }), 'belongs to https://a, not to https://b'],
    ['another shard', run({ shard }), run({ shard: { index: 2, total: 2 } }), '--shard 1/2, not to --shard 2/2'],
    ['no shard', run({ shard }), run({}), '--shard 1/2, not to a run without --shard'],
  ])('%s is code 14', (_, before, now, message) => {
    expect(() => requireMatch(before, now)).toThrow(message);
  });
});
