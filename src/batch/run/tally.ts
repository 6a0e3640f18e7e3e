import { chooseHint } from '../../advice.ts';
import { GatewayError, getErrorMessage } from '../../errors.ts';
import { keepFailure } from '../folder/spending.ts';
import type { Batch, JobError, JobOutcome, JournalEntry } from '../types.ts';

/** What has ended in a run. */
export type Tally = ReturnType<typeof countOutcomes>;

/** Counts what has ended, for the summary. */
export function countOutcomes({ host, state }: Pick<Batch, 'host' | 'state'>) {
  let lost = 0;
  const counts = { ended: 0, failed: 0 };
  return {
    counts,
    /** It went out, and its result is not on the disk. The first such failure ends the batch, whose end reports it. */
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
      // It is what it was.
      if (type === 'unsent') return;
      counts.ended++;
      if (type !== 'done') counts.failed++;
    },
  };
}

/** The error of a job whose result could not be written: only if its reply came is it known to be sent. The hint names the recovery file. */
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
