import { expect, test } from 'vitest';
import { newBatchState } from '../../../src/batch/folder/state.ts';
import { emptyPlan } from '../../../src/batch/run/plan.ts';
import { openStreamQueue, type StreamBatch } from '../../../src/commands/batch/stream.ts';
import type { StreamedJob } from '../../../src/commands/batch/jobs/source.ts';
import type { Job } from '../../../src/batch/types.ts';
import { readyOf, done, jobOf, silentRecorder } from './with-runner.ts';

test('with --ordered, a result does not wait for an earlier job that could not be recorded as ready', async () => {
  const printed: string[] = [];
  const state = newBatchState();
  const batch = {
    flags: { ordered: true },
    context: { io: { stdout: { write: async (text: string) => void printed.push(text) } } },
    prepare: async (job: Job) => ({ ...readyOf(job).prepared, key: job.id.repeat(32) }),
    plan: emptyPlan('offline'),
    state,
    taken: new Map(),
    enter: () => undefined,
    printed: {},
  } as unknown as StreamBatch;
  async function* lines(): AsyncGenerator<StreamedJob, void> {
    for (const line of [1, 2]) yield { line, id: String(line), job: jobOf(line) };
  }
  const full = new Error('the disk is full');
  const queue = openStreamQueue(lines(), {
    batch,
    recorder: {
      ...silentRecorder,
      ready: async ([entry]) => (entry?.job.id === '1' ? Promise.reject(full) : undefined),
    },
  });
  const { signal } = new AbortController();
  await expect(queue.next(signal)).rejects.toBe(full);
  const second = await queue.next(signal);
  if (second) await queue.ended?.(second, done);
  expect(printed).toEqual(['{"id":"2"}\n']);
}, 5000);
