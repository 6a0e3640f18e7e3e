import { join } from 'node:path';
import { bootMark, GatewayError, parseObject, readAppendedLines, SyncedFile } from '../../library/index.ts';
import { batchFiles } from '../types.ts';
import type { SlotRecord } from './records.ts';
import { settleRun } from './fold.ts';
import { addRecord, type BatchState, newBatchState } from './state.ts';

/**
 * Reads the journal of a batch's folder; the state of a folder without one is empty. `rows`: about how many slots there will be.
 * Throws GatewayError batch-locked for a file that is not a journal, or is a journal of another version.
 */
export async function readJournal(folder: string, rows = 0): Promise<BatchState> {
  const state = newBatchState(rows);
  const path = join(folder, batchFiles.journal);
  for await (const lines of readAppendedLines(path))
    for (const { text, whole, number, isTooLong } of lines) {
      state.torn = !whole;
      if (!whole || (text === '' && !isTooLong)) continue;
      const record = parseRecord(text);
      if (record === undefined || (state.run === undefined && record.t !== 'run')) throw notAJournal(path, number);
      try {
        addRecord(record, state);
      } catch (error) {
        throw error instanceof RangeError ? notAJournal(path, number) : error;
      }
    }
  settleRun(state, bootMark());
  return state;
}

/** Appends lines to a file of a folder in which no run works. Resolves when they are synced. Throws GatewayError not-written. */
export async function appendSynced(path: string, lines: readonly string[]): Promise<void> {
  const file = await SyncedFile.open(path);
  try {
    for (const line of lines) file.append(line);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Reads one line of a journal; undefined for a line that is no record of this version. */
export function parseRecord(text: string): SlotRecord | undefined {
  const record = parseObject(text);
  if (record['t'] === 'run' && record['schema'] !== 'gateway-cli/batch@2') return undefined;
  return typeof record['t'] === 'string' ? (record as unknown as SlotRecord) : undefined;
}

/** The error for a journal that cannot be read. To go on without a line of it could pay for a row twice. */
export function notAJournal(path: string, line: number): GatewayError {
  return new GatewayError('batch-locked', `${path}:${line}: no record that this version knows`, {
    hint: line === 1 ? 'name another folder with -o' : 'fix that line; in another folder every row is paid for again',
    sent: 'no',
  });
}
