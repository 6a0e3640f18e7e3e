import { expect, test } from 'vitest';
import { openStage } from '../../src/batch/stage.ts';
import type { Job } from '../../src/batch/types.ts';
import { jobOf } from './with-runner.ts';

test('what is left takes no further job', async () => {
  async function* jobs(): AsyncGenerator<Job, void> {
    for (let line = 1; ; line++) yield jobOf(line);
  }
  const built: string[] = [];
  const unsent: string[] = [];
  let begun = (): void => undefined;
  const third = new Promise<void>((resolve) => (begun = resolve));
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const stage = openStage({
    jobs: jobs(),
    async prepare({ id }) {
      built.push(id);
      if (id === '3') begun();
      if (id === '3') await released;
      return { request: 'r', perform: () => Promise.reject(new Error('x')), drop: async () => undefined };
    },
    recorder: {
      ready: async () => undefined,
      sent: async () => undefined,
      unsent: async (group) => void unsent.push(...group.map(({ job }) => job.id)),
      ended: async () => undefined,
      hurry: () => undefined,
      close: async () => undefined,
    },
    ahead: 2,
  });
  const { signal } = new AbortController();
  for (const id of ['1', '2']) expect((await stage.next(signal))?.job.id).toBe(id);
  await third;
  const left = stage.leave();
  release();
  await left;
  expect([built, unsent]).toEqual([['1', '2', '3'], ['3']]);
});
