import { GatewayError } from '../../errors.ts';
import { fileWord } from '../../images/naming.ts';
import type { ImageOutput } from '../../cli/output/save-images.ts';
import { mostImages } from '../../client/picture-store.ts';
import { hashId, hexOf } from '../jobs/digest.ts';
import { batchFiles, type Job, type Batch, type JobAttempt } from '../types.ts';

/** Images go to `images/<name>`. A name that is taken gets a number, so no image is replaced. */
export async function planJobImages({ job, built, checked }: JobAttempt, flags: Batch['flags']): Promise<ImageOutput> {
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
