import type { Context } from '../../cli/context.ts';
import { unbilled } from '../../cli/output/document.ts';
import type { ImageOutput } from '../../cli/output/save-images.ts';
import { type RecoveryInput, saveAfterBug, saveForRecovery } from '../../cli/run/recovery.ts';
import { mostImages } from '../../client/picture-store.ts';
import { type ErrorClass, GatewayError, isBug } from '../../errors.ts';
import { hintOf } from '../../advice.ts';
import { fileWord } from '../../images/naming.ts';
import type { BatchFlags } from '../../commands/batch/flags.ts';
import { hashId, hexOf } from '../digest.ts';
import { batchFiles, type Job, type JobAttempt } from '../types.ts';

/** Images go to `images/<name>`. A name that is taken gets a number, so no image is replaced. */
export async function planJobImages({ job, built, checked }: JobAttempt, flags: BatchFlags): Promise<ImageOutput> {
  const { prompt, model } = built;
  const { strict = false, maxImages = mostImages } = flags;
  const { aspect, size } = job.values as { aspect?: string; size?: string };
  const output = `${batchFiles.images}/${imageName(job)}.{ext}`;
  try {
    const { planSaving } = await import('../../cli/output/save-images.ts');
    return await planSaving({ output, aspect, size, strict, maxImages, prompt, model }, checked.own.output);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError('not-written', error.message, { ...error.details, cause: error });
  }
}

/** The job's `name`, else its id; an id that is not a file name gets its hash. */
function imageName({ id, name }: Pick<Job, 'id' | 'name'>): string {
  if (name !== undefined) return name;
  const word = fileWord(id);
  return word === id ? word : `${word}-${hexOf(hashId(id)).slice(0, 8)}`;
}

/** What a reply is saved with. */
interface RecoverySource {
  context: Context;
  own: RecoveryInput['batch'];
  /** The result of the job, if there is one. */
  document?: object;
}

function recoveryInput({ context: { report, io, ui }, own, document }: RecoverySource): RecoveryInput {
  return { report, io, redaction: ui, batch: own, document };
}

/** The failure of a job. What of its reply could not be written is saved for recovery. Throws what ends the batch. */
export async function savedFailure(
  failure: unknown,
  { batch, ...source }: RecoverySource & { batch: Context },
): Promise<GatewayError> {
  const { report } = source.context;
  // After a reply, a bug ends only its own job.
  const isOwnBug = isBug(failure) && report.result !== undefined;
  const error = failure as GatewayError;
  if (!isOwnBug && (isBug(failure) || error.class === 'not-written')) throw await savedIfUnwritten(failure, source);
  const isUnread = !isBug(failure) && error.details.unread !== undefined;
  if (!isOwnBug && !isUnread && report.lost.images.length === 0) return unbilled(error, report);
  const save = isOwnBug ? saveAfterBug : saveForRecovery;
  const saved = await save(error, recoveryInput(source));
  await batch.ui.warn(`${saved.message}; ${hintOf(saved) ?? ''}`);
  return unbilled(saved, report);
}

/** The disk is full, or another run has the folder. */
const unwritten: ReadonlySet<ErrorClass> = new Set(['not-written', 'batch-locked']);

/** A failure to write; the reply that it is about is saved for recovery. Other failures come back as they are. */
export async function savedIfUnwritten(failure: unknown, source: RecoverySource): Promise<unknown> {
  if (!(failure instanceof GatewayError) || !unwritten.has(failure.class)) return failure;
  return saveForRecovery(failure, recoveryInput(source));
}
