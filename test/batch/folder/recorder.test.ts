import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openRecorder, withLock } from '../../../src/batch/folder/recorder.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { done, silentRecorder } from '../run/with-runner.ts';

const noted = { job: { id: 'a' }, request: 'r' };
const lost = new Error('lost');

/** A recorder of a new folder, and what its journal says. */
async function openInScratch(boot?: string) {
  const folder = scratchFolder();
  const facts = { type: 'run', schema: 'gateway-cli/journal@1', tool: 't', origin: 'o' } as const;
  const run = { ...facts, jobs: 1, total: 1, list: 'x', boot, at: 1 };
  const recorder = await openRecorder({ folder, run, lostEnds: [], now: () => 1 });
  return { recorder, journal: () => readFileSync(join(folder, 'journal.jsonl'), 'utf8') };
}

/** A guarded recorder whose lock is lost at one of its looks, and what it did. */
function guarded(lostAt: number) {
  const log: string[] = [];
  let looks = 0;
  const look = (): boolean => ++looks >= lostAt;
  const recorder = withLock(
    {
      ...silentRecorder,
      ready: async () => void log.push('ready'),
      sent: async () => void log.push('sent'),
      unsent: async () => void log.push('unsent'),
      ended: async (_, { state }) => void log.push(state),
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
  const { recorder, journal } = await openInScratch();
  let looks = 0;
  const locked = withLock(recorder, {
    check: () => (++looks === 2 ? Promise.reject(lost) : undefined),
    confirm: async () => undefined,
  });
  await expect(locked.ended(noted, done)).rejects.toBe(lost);
  await recorder.close();
  expect(journal()).not.toContain('"done"');
});

test.each([
  ['with a mark of the boot', 'boot', ['run', 'ready', 'unsent']],
  ['without one, where nobody writes ready,', undefined, ['run']],
])('%s what was only staged is written down as it came', async (_, boot, types) => {
  const { recorder, journal } = await openInScratch(boot);
  await recorder.ready([noted]);
  await recorder.unsent([noted]);
  await recorder.close();
  const lines = journal().trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual(types);
});
