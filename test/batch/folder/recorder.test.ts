import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openRecorder } from '../../../src/batch/folder/recorder.ts';
import { newBatchState } from '../../../src/batch/folder/state.ts';
import { scratchFolder } from '../../helpers/scratch.ts';
import { done } from '../run/with-runner.ts';

const noted = { job: { id: 'a' }, slot: 0 };
const lost = new Error('lost');

/** A recorder of a new folder whose lock is lost at a look at it, and the types of the records that it wrote. */
async function openInScratch({ boot, lostAt = Infinity }: { boot?: string | undefined; lostAt?: number } = {}) {
  const folder = scratchFolder();
  const run = { t: 'run', schema: 'gateway-cli/batch@2', tool: 't', boot, at: 1 } as const;
  const state = newBatchState();
  state.slots.add('a'.repeat(32));
  // The first look is that of its opening.
  let looks = -1;
  const look = (): void => {
    if (++looks >= lostAt) throw lost;
  };
  const lock = { check: look, confirm: look };
  const recorder = await openRecorder({ folder, run, lock, state, lostEnds: [], planned: [], now: () => 1 });
  const lines = () => readFileSync(join(folder, 'journal.jsonl'), 'utf8').trimEnd().split('\n');
  return { recorder, types: () => lines().map((line) => (JSON.parse(line) as { t: string }).t) };
}

test('a recorder reads the lock again after each group that it wrote', async () => {
  const { recorder, types } = await openInScratch({ boot: 'boot', lostAt: 2 });
  await expect(recorder.ready([noted])).rejects.toBe(lost);
  await recorder.close();
  expect(types()).toEqual(['run', 'ready']);
});

test('a run that lost its lock writes nothing', async () => {
  const { recorder, types } = await openInScratch({ boot: 'boot', lostAt: 1 });
  await expect(recorder.ready([noted])).rejects.toBe(lost);
  await expect(recorder.sent(noted)).rejects.toBe(lost);
  await expect(recorder.unsent([noted])).rejects.toBe(lost);
  await expect(recorder.ended(noted, done)).rejects.toBe(lost);
  await recorder.close();
  expect(types()).toEqual(['run']);
});

test('a run that was suspended while it recorded a job as sent records it as unsent, and does not send it', async () => {
  const { recorder, types } = await openInScratch({ lostAt: 2 });
  await expect(recorder.sent(noted)).rejects.toBe(lost);
  await recorder.close();
  expect(types()).toEqual(['run', 'sent', 'unsent']);
});

test('a run that was suspended while it wrote a result does not record the end of the job', async () => {
  const { recorder, types } = await openInScratch({ lostAt: 2 });
  await expect(recorder.ended(noted, done)).rejects.toBe(lost);
  await recorder.close();
  expect(types()).toEqual(['run']);
});

test.each([
  ['with a mark of the boot', 'boot', ['run', 'ready', 'unsent']],
  ['without one, where ready is not written,', undefined, ['run']],
])('%s an unsent job is recorded only if ready was', async (_, boot, expected) => {
  const { recorder, types } = await openInScratch({ boot });
  await recorder.ready([noted]);
  await recorder.unsent([noted]);
  await recorder.close();
  expect(types()).toEqual(expected);
});
