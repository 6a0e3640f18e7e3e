import { join } from 'node:path';
import {
  type AnsweredParent,
  type Batch,
  batchFiles,
  nameSome,
  openResults,
  type ResultReader,
} from '../../../batch/index.ts';
import type { Context } from '../../context.ts';
import type { JsonObject } from '../../../library/index.ts';

/** The results of jobs that others use, as they are when these others are sent. */
export function openParentResults({ outdir, state }: Pick<Batch, 'outdir' | 'state'>, { atEnd, ui }: Context) {
  const cut = new Set<string>();
  let opening: Promise<ResultReader> | undefined;
  /** Opens the reader once, though several jobs are prepared at the same time. */
  async function openReader(): Promise<ResultReader> {
    const reader = await openResults(outdir, state.slots);
    atEnd(() => reader.close());
    return reader;
  }
  return {
    async read({ id, slot }: AnsweredParent): Promise<{ document: JsonObject; folder: string } | undefined> {
      opening ??= openReader();
      const reader = await opening;
      const document = await reader.read(slot);
      if (state.slots.has(slot, 'cut')) cut.add(id);
      return document && { document, folder: join(outdir, batchFiles.images) };
    },
    /** Tells of used answers that may not be whole. */
    async noteCut(): Promise<void> {
      if (cut.size > 0)
        await ui.warn(`other jobs were sent with what may not be the whole answer of ${nameSome([...cut])}`);
    },
  };
}
