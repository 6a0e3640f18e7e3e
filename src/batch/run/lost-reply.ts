import type { Context } from '../../cli/context.ts';
import { unbilled } from '../../cli/output/document.ts';
import { type RecoveryInput, saveAfterBug, saveForRecovery } from '../../cli/run/recovery.ts';
import { type ErrorClass, GatewayError, isBug } from '../../errors.ts';
import { hintOf } from '../../advice.ts';

/** What a reply is saved with. */
interface Saving {
  context: Context;
  own: RecoveryInput['batch'];
  /** The result of the job, where there is one. */
  document?: object;
}

function recoveryInput({ context: { report, io, ui }, own, document }: Saving): RecoveryInput {
  return { report, io, redaction: ui, batch: own, document };
}

/** The failure of a job. What of its reply could not be written is saved for recovery. Throws what ends the batch. */
export async function savedFailure(
  failure: unknown,
  { batch, ...saving }: Saving & { batch: Context },
): Promise<GatewayError> {
  const { report } = saving.context;
  // Where a reply came, a bug ends its job alone.
  const isOwnBug = isBug(failure) && report.result !== undefined;
  const error = failure as GatewayError;
  if (!isOwnBug && (isBug(failure) || error.class === 'not-written')) throw await savedIfUnwritten(failure, saving);
  if (!isOwnBug && report.lost.images.length === 0) return unbilled(error, report);
  const save = isOwnBug ? saveAfterBug : saveForRecovery;
  const saved = await save(error, recoveryInput(saving));
  await batch.ui.warn(`${saved.message}; ${hintOf(saved) ?? ''}`);
  return unbilled(saved, report);
}

/** The disk is full, or another run has the folder. */
const unwritten: ReadonlySet<ErrorClass> = new Set(['not-written', 'batch-locked']);

/** A failure to write; the reply that it is about is saved for recovery. Other failures come back as they are. */
export async function savedIfUnwritten(failure: unknown, saving: Saving): Promise<unknown> {
  if (!(failure instanceof GatewayError) || !unwritten.has(failure.class)) return failure;
  return saveForRecovery(failure, recoveryInput(saving));
}
