import { expect, test } from 'vitest';
import { withLock } from '../../src/batch/recorder.ts';
import { done } from './with-runner.ts';

const noted = { job: { id: 'a' }, request: 'r' };
const lost = new Error('lost');

/** A guarded recorder whose lock is lost at one of its looks, and what it did. */
function guarded(lostAt: number) {
  const log: string[] = [];
  let looks = 0;
  const look = (): boolean => ++looks >= lostAt;
  const recorder = withLock(
    {
      ready: async () => void log.push('ready'),
      sent: async () => void log.push('sent'),
      unsent: async () => void log.push('unsent'),
      ended: async (_, { state }) => void log.push(state),
      hurry: () => undefined,
      close: async () => undefined,
    },
    {
      check: () => (look() ? Promise.reject(lost) : undefined),
      async confirm() {
        log.push('confirm');
        if (look()) throw lost;
      },
    },
  );
  return { recorder, log };
}

test('a recorder reads the lock again behind each group that it wrote', async () => {
  const { recorder, log } = guarded(2);
  await expect(recorder.ready([noted])).rejects.toBe(lost);
  expect(log).toEqual(['ready', 'confirm']);
});

test('a run that lost its lock writes nothing', async () => {
  const { recorder, log } = guarded(1);
  await expect(recorder.ready([noted])).rejects.toBe(lost);
  await expect(recorder.sent(noted)).rejects.toBe(lost);
  await expect(recorder.unsent([noted])).rejects.toBe(lost);
  await expect(recorder.ended(noted, done)).rejects.toBe(lost);
  expect(log).toEqual([]);
});

test('a run that stood still while it wrote that a job is sent takes it back, and does not send it', async () => {
  const { recorder, log } = guarded(2);
  await expect(recorder.sent(noted)).rejects.toBe(lost);
  expect(log).toEqual(['sent', 'unsent']);
});
