import { expect, test } from 'vitest';
import { openJobQueue, type QueuedJob } from '../../../src/batch/run/queue.ts';
import { untilAborted } from '../../../src/library/clock.ts';
import { readyOf, jobOf, silentRecorder } from './with-runner.ts';

/** A queue of endless jobs; what it built, in what groups, and what it gave back. */
function queueOf({ ahead, prepared }: { ahead: number; prepared?: (id: string) => Promise<void> }) {
  const seen = { built: [] as string[], groups: [] as number[], unsent: [] as string[] };
  const queue = openJobQueue({
    async *source() {
      for (let line = 1; ; line++) {
        const job = jobOf(line);
        seen.built.push(job.id);
        await prepared?.(job.id);
        yield readyOf(job);
      }
    },
    recorder: {
      ...silentRecorder,
      ready: async (group) => void seen.groups.push(group.length),
      unsent: async (group) => void seen.unsent.push(...group.map(({ job }) => job.id)),
    },
    ahead,
  });
  return { queue, seen, next: () => queue.next(new AbortController().signal) };
}

test('a closed queue takes no further job', async () => {
  let begun = (): void => undefined;
  const third = new Promise<void>((resolve) => (begun = resolve));
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const { queue, seen, next } = queueOf({
    ahead: 2,
    async prepared(id) {
      if (id !== '3') return;
      begun();
      await released;
    },
  });
  for (const id of ['1', '2']) expect((await next())?.job.id).toBe(id);
  await third;
  const left = queue.close();
  release();
  await left;
  expect(seen).toMatchObject({ built: ['1', '2', '3'], unsent: ['3'] });
});

test('where jobs come one by one, each is taken when a worker waits for it, and what waits for the next one ends with the queue', async () => {
  const recorded: string[] = [];
  let taken = 0;
  const never = new Promise<QueuedJob>(() => undefined);
  const queue = openJobQueue({
    async *source(signal) {
      for (const job of [readyOf(jobOf(1)), { job: { id: '2' }, document: {} }, readyOf(jobOf(3))]) {
        taken++;
        yield job;
      }
      yield await untilAborted(never, signal);
    },
    recorder: { ...silentRecorder, ready: async (group) => void recorded.push(...group.map(({ job }) => job.id)) },
    ahead: 0,
  });
  const { signal } = new AbortController();
  expect([(await queue.next(signal))?.job.id, taken]).toEqual(['1', 1]);
  const [second, third] = await Promise.all([queue.next(signal), queue.next(signal)]);
  expect([second?.job.id, third?.job.id, taken]).toEqual(['2', '3', 3]);
  expect(recorded).toEqual(['1', '3']);
  const stop = new AbortController();
  const waiting = queue.next(stop.signal);
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
  await queue.close();
});
