import { resolve } from 'node:path';
import { usageError } from '../../errors.ts';
import { shellWord } from '../../shell-word.ts';

/** The flags of recording and replaying, as they were typed. */
export interface RecordingFlags {
  record?: string;
  replay?: string;
  maxAge?: number;
}

/** The folder whose recordings are all that answers; with `--record` too, a cache, what they lack is asked. */
export function replayedFolder({ record, replay }: RecordingFlags): string | undefined {
  return record === undefined ? replay : undefined;
}

/** Whether what is recorded is answered from there, and the rest is asked and recorded. */
export function isCache({ record, replay }: RecordingFlags): boolean {
  return record !== undefined && replay !== undefined;
}

/** Refuses what cannot go together. Throws GatewayError usage. */
export function checkRecordingFlags(flags: RecordingFlags): void {
  const { record, replay, maxAge } = flags;
  if (record !== undefined && replay !== undefined && resolve(record) !== resolve(replay)) {
    const folder = shellWord(replay);
    throw usageError(
      '--record and --replay name two folders; together they are a cache, which is one',
      `for a cache: --record ${folder} --replay ${folder}`,
    );
  }
  if (maxAge !== undefined && !isCache(flags)) {
    throw usageError(
      '--max-age needs a cache: --record and --replay with the same folder',
      'for example: --record recordings --replay recordings --max-age 7d',
    );
  }
}
