import { join } from 'node:path';
import { type AnsweredParent, type Batch, batchFiles, openResults, type ResultReader } from '../../../batch/index.ts';
import type { Context } from '../../context.ts';
import type { JsonObject } from '../../../library/index.ts';

/** Opens the results of jobs that others use, as they are when these others are sent. */
export function openParentResults({ outdir, state }: Pick<Batch, 'outdir' | 'state'>, { atEnd }: Context) {
  let opening: Promise<ResultReader> | undefined;
  /** Opens the reader once, though several jobs are prepared at the same time. */
  async function openReader(): Promise<ResultReader> {
    const reader = await openResults(outdir, state.slots);
    atEnd(() => reader.close());
    return reader;
  }
  return async ({ slot }: AnsweredParent): Promise<{ document: JsonObject; folder: string } | undefined> => {
    opening ??= openReader();
    const document = await (await opening).read(slot);
    return document && { document, folder: join(outdir, batchFiles.images) };
  };
}
