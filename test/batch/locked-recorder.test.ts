import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openRecorder, withLock } from '../../src/batch/recorder.ts';
import { scratchFolder } from '../helpers/scratch.ts';
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

test('a run that stood still while it wrote a result does not say that the job has ended', async () => {
  const folder = scratchFolder();
  const recorder = await openRecorder({
    folder,
    run: { type: 'run', schema: 'gateway-cli/journal@1', tool: 't', origin: 'o', jobs: 1, total: 1, list: 'x', at: 1 },
    lostEnds: [],
    now: () => 1,
  });
  let looks = 0;
  const locked = withLock(recorder, {
    check: () => (++looks === 2 ? Promise.reject(lost) : undefined),
    confirm: async () => undefined,
  });
  await expect(locked.ended(noted, done)).rejects.toBe(lost);
  await recorder.close();
  expect(readFileSync(join(folder, 'journal.jsonl'), 'utf8')).not.toContain('"done"');
});
