import { countOf } from '../../batch/summary.ts';
import { batchFiles } from '../../batch/types.ts';
import type { Context } from '../context.ts';

/** Jobs that the journal calls done, and whose results are gone: nothing here loses them, so something else did. */
export async function tellMissing(missing: number, { ui }: Context): Promise<void> {
  if (missing === 0) return;
  const have = missing === 1 ? 'is done, but has' : 'are done, but have';
  await ui.warn(`${countOf(missing, 'job')} ${have} no line in ${batchFiles.results}: it was changed from outside`);
}
