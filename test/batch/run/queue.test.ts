import { expect, test } from 'vitest';
import { openJobQueue, type QueuedJob } from '../../../src/batch/run/queue.ts';
import { untilAborted } from '../../../src/library/clock.ts';
import { readyOf, jobOf, silentRecorder } from './with-runner.ts';

/** A queue of endless jobs; what it built, in what groups, and what it gave back. */
function queueOf({
  ahead,
  elapsed,
  prepared,
}: {
  ahead: number;
  elapsed: () => number;
  prepared?: (id: string) => Promise<void>;
}) {
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
    elapsed,
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
    elapsed: () => 0,
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

test('groups that follow each other soon become larger, up to four times what is wanted', async () => {
  const { queue, seen, next } = queueOf({ ahead: 4, elapsed: () => 0 });
  for (let taken = 0; taken < 100; taken++) await next();
  await queue.close();
  expect(seen.groups.slice(0, 3)).toEqual([4, 8, 16]);
  expect(Math.max(...seen.groups.slice(3))).toBe(16);
});

test('the first group is small, and the next ones grow to the wanted size whatever time they have', async () => {
  let now = 0;
  const { queue, seen, next } = queueOf({ ahead: 36, elapsed: () => (now += 50) });
  for (let taken = 0; taken < 200; taken++) await next();
  await queue.close();
  expect(seen.groups[0]).toBe(5);
  expect(Math.max(...seen.groups)).toBe(36);
});

test('groups that have time stay as small as they are', async () => {
  let now = 0;
  const { queue, seen, next } = queueOf({ ahead: 4, elapsed: () => (now += 50) });
  for (let taken = 0; taken < 40; taken++) await next();
  await queue.close();
  expect(Math.max(...seen.groups)).toBe(4);
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
    elapsed: () => 0,
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
