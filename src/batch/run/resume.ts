import { GatewayError } from '../../errors.ts';
import type { JobState, RunRecord } from '../types.ts';

/** What the user wants of jobs that an earlier run has seen. */
export interface ResumeFlags {
  retryFailed?: boolean;
  retryUnknown?: boolean;
  retryIncomplete?: boolean;
  acceptChanges?: boolean;
}

/** What is known of a job when a run begins. */
export interface Known {
  state: JobState;
  /** It is done, though its answer may not be whole. */
  incomplete: boolean;
  /** The request is the one that the journal knows. */
  same: boolean;
}

/** What a run does with a job: send it, leave it, or stop because it was edited. */
export type Decision = 'run' | 'skip' | 'changed';

/** The one place that decides whether a job is paid for again. */
export function decide({ state, incomplete, same }: Known, flags: ResumeFlags): Decision {
  if (state === 'new') return 'run';
  // To allow more tokens edits every job; those whose answers are whole stay as they are.
  if (state === 'done' && flags.retryIncomplete) return incomplete ? 'run' : 'skip';
  if (!same) return flags.acceptChanges ? 'run' : 'changed';
  if (state === 'failed') return flags.retryFailed ? 'run' : 'skip';
  if (state === 'sent' || state === 'unknown') return flags.retryUnknown ? 'run' : 'skip';
  return 'skip';
}

/** The error for jobs that were edited since they were sent. */
export function changedError(ids: readonly string[], count: number): GatewayError {
  const more = count > ids.length ? ` and ${count - ids.length} more` : '';
  const what = count === 1 ? '1 job was' : `${count} jobs were`;
  return new GatewayError(
    'batch-locked',
    `${what} edited since an earlier run sent ${count === 1 ? 'it' : 'them'}: ${ids.join(', ')}${more}`,
    {
      hint: 'to send just those again: --accept-changes; to keep both: another folder with -o',
      sent: 'no',
    },
  );
}

/** The error for a folder of which no job stands in the job file. */
export function otherJobs(file: string): GatewayError {
  return new GatewayError('batch-locked', `the folder holds other jobs: none of ${file} is among them`, {
    hint: 'name another folder with -o',
    sent: 'no',
  });
}

/** Throws GatewayError batch-locked when a folder's journal belongs to another gateway or another shard. */
export function requireMatch(before: RunRecord | undefined, now: Pick<RunRecord, 'origin' | 'shard'>): void {
  if (before === undefined) return;
  for (const [was, is] of [
    [before.origin, now.origin],
    [nameOf(before), nameOf(now)],
  ])
    if (was !== is)
      throw new GatewayError('batch-locked', `the folder belongs to ${was}, not to ${is}`, {
        hint: 'name another folder with -o',
        sent: 'no',
      });
}

function nameOf({ shard }: Pick<RunRecord, 'shard'>): string {
  return shard === undefined ? 'a run without --shard' : `--shard ${shard.index}/${shard.total}`;
}
