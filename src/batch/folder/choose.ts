import { join } from 'node:path';
import { bootMark } from '../../library/index.ts';
import { batchFiles } from '../types.ts';
import { appendSynced } from './journal.ts';
import type { FolderLock } from './lock.ts';
import type { ChooseRecord } from './records.ts';
import type { LostEnds } from './results.ts';
import { addRecord, type BatchState } from './state.ts';

/**
 * Makes other answers of slots count, named by their numbers from 1. Nothing is paid for that. Throws GatewayError not-written or
 * batch-locked.
 */
export async function chooseAnswers(
  folder: string,
  choices: readonly { slot: number; answer: number }[],
  { state, lock, lostEnds }: Pick<LostEnds, 'lostEnds'> & { state: BatchState; lock: Pick<FolderLock, 'confirm'> },
): Promise<void> {
  const records = choices.map(({ slot, answer }): ChooseRecord => ({
    t: 'choose',
    slot: state.slots.nameOf(slot),
    answer,
    boot: bootMark(),
  }));
  lock.confirm();
  // The ends that a kill left out come first: no answer from before the choice counts after it.
  if (lostEnds.length > 0) await appendSynced(join(folder, batchFiles.results), []);
  await appendSynced(
    join(folder, batchFiles.journal),
    [...lostEnds, ...records].map((record) => JSON.stringify(record)),
  );
  for (const record of records) addRecord(record, state);
}
