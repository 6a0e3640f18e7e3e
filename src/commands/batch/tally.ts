import { hintOf } from '../../cli/output/flag-hints.ts';
import type { BatchGate } from '../../batch/gate.ts';
import { keepFailure } from '../../batch/journal.ts';
import type { Job, JobError, Performed } from '../../batch/types.ts';
import { addUsage, totalTokens } from '../../batch/usage.ts';
import { GatewayError, messageOf } from '../../errors.ts';
import { showBatchProgress } from './progress.ts';
import type { Batch } from './types.ts';

/** Counts what has ended, for the live line and for the summary. */
export function startTally({ context, plan, state, startedAt }: Batch, gate: BatchGate) {
  const { io, ui } = context;
  let lost = 0;
  const counts = { ended: 0, failed: 0 };
  const shown = showBatchProgress(context, () => ({
    due: plan.due,
    ...counts,
    tokens: totalTokens(state.usage),
    elapsedMs: io.elapsed() - startedAt,
    pausedMs: gate.waitMs,
  }));
  return {
    stop: () => shown.stop(),
    /** It went out, and its result is not on the disk. The first such failure ends the batch and is told by its end. */
    lose({ id, key }: Job, error: unknown) {
      state.table.setState(state.table.find(key), 'unknown');
      const told = error instanceof GatewayError ? error : new GatewayError('internal', messageOf(error));
      state.failures.set(
        id,
        lostError(told, (text) => ui.redact(text)),
      );
      if (lost++ > 0) void ui.warn([`${id}: ${told.message}`, hintOf(told)].filter(Boolean).join('; '));
    },
    count({ id, key }: Job, performed: Performed) {
      // It is what it was.
      if (performed.state === 'unsent') return;
      state.table.setState(state.table.find(key), performed.state);
      state.usage = addUsage(state.usage, performed.usage);
      counts.ended++;
      if (performed.state === 'done') {
        state.failures.delete(id);
        return;
      }
      counts.failed++;
      if (performed.error) keepFailure(state.failures, id, performed.error);
    },
  };
}

/** Only a reply that came says that it was sent; where it is kept shall be found when the terminal's words are gone. */
function lostError(error: GatewayError, redact: (text: string) => string): JobError {
  const { sent } = error.details;
  const hint = hintOf(error);
  return {
    class: error.class,
    message: redact(error.message),
    billed: sent === 'yes' ? error.billed : 'unknown',
    hint: hint === undefined ? undefined : redact(hint),
  };
}
