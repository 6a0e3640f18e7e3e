import { describe, expect, test } from 'vitest';
import { parseShard } from '../../../src/cli/commands/batch/jobs/shard.ts';

const slurm = { SLURM_ARRAY_TASK_ID: '7', SLURM_ARRAY_TASK_MIN: '5', SLURM_ARRAY_TASK_COUNT: '4' };

describe('--shard', () => {
  test.each([
    ['a number from 1', '2/8', {}, { index: 2, total: 8 }],
    ['the only one', '1/1', {}, { index: 1, total: 1 }],
    ['a Slurm array that begins anywhere', 'auto', slurm, { index: 3, total: 4 }],
    [
      'a Slurm array with a step',
      'auto',
      { ...slurm, SLURM_ARRAY_TASK_ID: '9', SLURM_ARRAY_TASK_STEP: '2' },
      { index: 3, total: 4 },
    ],
    ['GitLab', 'auto', { CI_NODE_INDEX: '2', CI_NODE_TOTAL: '3' }, { index: 2, total: 3 }],
    ['Kubernetes, from 0', 'auto/4', { JOB_COMPLETION_INDEX: '0' }, { index: 1, total: 4 }],
    ['Kubernetes, the last', 'auto/4', { JOB_COMPLETION_INDEX: '3' }, { index: 4, total: 4 }],
    ['a number beside an engine that knows it', 'auto/4', slurm, { index: 3, total: 4 }],
  ])('%s', (_, word, env, expected) => {
    expect(parseShard(word, env as Record<string, string>)).toEqual(expected);
  });

  test.each([
    ['nothing', '', {}, 'takes i/n'],
    ['one number', '3', {}, 'takes i/n'],
    ['zero', '0/4', {}, 'not within 1 to 4'],
    ['one too many', '5/4', {}, 'not within 1 to 4'],
    ['words', 'a/b', {}, 'takes i/n'],
    ['three parts', '1/2/3', {}, 'takes i/n'],
    ['a fraction', '1.5/4', {}, 'takes i/n'],
    ['auto without an engine', 'auto', {}, 'no variable says'],
    ['auto/n without an engine', 'auto/4', {}, 'no variable says'],
    ['Kubernetes without a total', 'auto', { JOB_COMPLETION_INDEX: '1' }, 'how many shards'],
    ['another total than the engine says', 'auto/5', slurm, 'one of 4'],
    ['an irregular Slurm array', 'auto', { ...slurm, SLURM_ARRAY_TASK_ID: '90' }, 'not within'],
    ['a broken variable', 'auto', { CI_NODE_INDEX: 'x', CI_NODE_TOTAL: '3' }, 'takes i/n'],
  ])('refuses %s', (_, word, env, message) => {
    expect(() => parseShard(word, env as Record<string, string>)).toThrow(message);
  });
});
