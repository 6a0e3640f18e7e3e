import { chooseHint, GatewayError, getErrorMessage } from '../../library/index.ts';
import type { Recorder } from '../folder/recorder.ts';
import { keepFailure } from '../folder/spending.ts';
import type { Batch, JobError, JobOutcome, JournalEntry } from '../types.ts';

/** The counts of a run so far. */
export type Tally = ReturnType<typeof countOutcomes>;

/** Counts the outcomes of a run, for its summary. */
export function countOutcomes({ host, state }: Pick<Batch, 'host' | 'state'>) {
  let lost = 0;
  const counts = { ended: 0, failed: 0 };
  return {
    counts,
    /** Counts a job that went out, and whose result is not on the disk. The first such failure ends the batch, whose end reports it. */
    lose({ slot, job: { id } }: JournalEntry, error: unknown) {
      state.slots.setState(slot, 'sent');
      const failure = error instanceof GatewayError ? error : new GatewayError('internal', getErrorMessage(error));
      keepFailure(
        state.failures,
        slot,
        lostResultError(failure, (text) => host.redaction.redact(text)),
      );
      if (lost++ > 0) void host.on({ type: 'result-lost', id, error: failure });
    },
    count({ state: type }: JobOutcome) {
      // A job that was not sent keeps its state.
      if (type === 'unsent') return;
      counts.ended++;
      if (type !== 'done') counts.failed++;
    },
  };
}

/**
 * Records the outcome of a job. A reply that cannot be written is saved in a recovery file; throws the failure, whose hint names that
 * file. `onUnwritten` is called before it is saved.
 */
export async function recordEnd(
  entry: JournalEntry,
  outcome: JobOutcome,
  { recorder, tally }: { recorder: Pick<Recorder, 'ended'>; tally: Pick<Tally, 'lose'> },
  onUnwritten?: (error: unknown) => void,
): Promise<void> {
  try {
    await recorder.ended(entry, outcome);
  } catch (error) {
    onUnwritten?.(error);
    if (outcome.state === 'unsent') throw error;
    const { failure } = (await outcome.saveReply?.(error)) ?? { failure: error };
    tally.lose(entry, failure);
    throw failure;
  }
}

/**
 * The error of a job whose result could not be written: the job is known to be sent only if its reply came. The hint names the
 * recovery file.
 */
function lostResultError(error: GatewayError, redact: (text: string) => string): JobError {
  const { sent } = error.details;
  const hint = chooseHint(error);
  return {
    class: error.class,
    message: redact(error.message),
    billed: sent === 'yes' ? error.billed : 'unknown',
    hint: hint === undefined ? undefined : redact(hint),
  };
}
