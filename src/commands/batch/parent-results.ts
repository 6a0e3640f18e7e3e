import { join } from 'node:path';
import {
  batchFiles,
  type BatchState,
  locateResults,
  openResults,
  type ResultPlaces,
  type ResultReader,
} from '../../batch/index.ts';
import type { Context } from '../../cli/context.ts';
import type { JsonObject } from '../../json.ts';
import { nameSome } from './summary.ts';

export type ParentResults = ReturnType<typeof openParentResults>;

/** The results of jobs that others use: those that are there since `refresh`. */
export function openParentResults(outdir: string, state: BatchState, { atEnd, ui }: Context) {
  const cut = new Set<string>();
  let places: ResultPlaces | undefined;
  let reader: ResultReader | undefined;
  return {
    async refresh(): Promise<void> {
      places = await locateResults(outdir, state.index, { places });
      await reader?.close();
      if (reader === undefined) atEnd(async () => reader?.close());
      reader = await openResults(outdir, state.index, places);
    },
    async read(id: string): Promise<{ document: JsonObject; folder: string } | undefined> {
      const row = state.index.find(id);
      const document = await reader?.read(row);
      if (state.index.has(row, 'incomplete')) cut.add(id);
      return document && { document, folder: join(outdir, batchFiles.images) };
    },
    /** Tells of the answers that were used and may not be whole. */
    async noteCut(): Promise<void> {
      if (cut.size > 0)
        await ui.warn(`other jobs were sent with what may not be the whole answer of ${nameSome([...cut])}`);
    },
  };
}
