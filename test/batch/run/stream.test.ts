import { expect, test } from 'vitest';
import { newBatchState } from '../../../src/batch/folder/journal.ts';
import { emptyPlan } from '../../../src/batch/run/plan.ts';
import { openStreamQueue, type StreamBatch } from '../../../src/commands/batch/stream.ts';
import type { StreamedJob } from '../../../src/commands/batch/jobs/source.ts';
import type { Job } from '../../../src/batch/types.ts';
import { noRecorder } from '../../../src/batch/folder/recorder.ts';
import { readyOf, done, jobOf } from './with-runner.ts';

test('with --ordered, a result does not wait for an earlier job that could not be recorded as ready', async () => {
  const printed: string[] = [];
  const batch = {
    flags: { ordered: true },
    context: { io: { stdout: { write: async (text: string) => void printed.push(text) } } },
    prepare: async (job: Job) => readyOf(job),
    plan: emptyPlan('offline'),
    state: newBatchState(),
    printed: {},
  } as unknown as StreamBatch;
  async function* lines(): AsyncGenerator<StreamedJob, void> {
    for (const line of [1, 2]) yield { line, id: String(line), job: jobOf(line) };
  }
  const full = new Error('the disk is full');
  const queue = openStreamQueue(lines(), {
    batch,
    recorder: {
      ...noRecorder,
      ready: async ([entry]) => (entry?.job.id === '1' ? Promise.reject(full) : undefined),
    },
  });
  const { signal } = new AbortController();
  await expect(queue.next(signal)).rejects.toBe(full);
  const second = await queue.next(signal);
  if (second) await queue.ended?.(second, done);
  expect(printed).toEqual(['{"id":"2","request":"r"}\n']);
}, 5000);
