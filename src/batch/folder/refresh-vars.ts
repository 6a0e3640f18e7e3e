import { join } from 'node:path';
import { SyncedFile } from '../../files/synced-file.ts';
import { isObject, type JsonObject } from '../../json.ts';
import type { Redaction } from '../../settings/redact.ts';
import { openResults, type ResultPlaces } from './results.ts';
import { isOpen } from './state.ts';
import { type Batch, batchFiles, type Job } from '../types.ts';

/** A result with the id and the variables that its job has now. */
export function withVars(document: JsonObject, { id, values: { vars } }: Job, redaction: Redaction): JsonObject {
  return { ...document, id, vars: isObject(vars) ? redaction.clean(vars) : undefined } as JsonObject;
}

/** Lines that are synced together. */
const groupSize = 1000;

/**
 * Gives the results of earlier runs the variables that their jobs have now: a column that no text uses can be added or edited
 * without another request, and reports show it. The plan gets what the journal is to say of them. Where the variables are those of
 * the result, and the request is that of the journal, this says there from now on what both are built from: a folder of another
 * version is built once, and not by each run. Returns the number of results that got others. Throws GatewayError not-written or
 * batch-locked.
 */
export async function refreshVars(
  { jobs, state, plan, outdir, lock, host }: Batch,
  places: ResultPlaces,
): Promise<number> {
  const { index } = state;
  const results = await openResults(outdir, index, places);
  let file: SyncedFile | undefined;
  let journal: SyncedFile | undefined;
  let [count, written] = [0, 0];
  let bases: string[] = [];
  const writeBases = async (): Promise<void> => {
    if (bases.length === 0) return;
    lock.confirm();
    journal ??= await SyncedFile.open(join(outdir, batchFiles.journal));
    journal.append(bases.join('\n'));
    bases = [];
  };
  try {
    for await (const job of jobs.read(() => undefined)) {
      host.signal.throwIfAborted();
      const row = index.find(job.id);
      if (row < 0 || index.has(row, 'asBuilt')) continue;
      const isLeft = index.has(row, 'toSend') || isOpen(row, state) || plan.leftEdited.has(row);
      // What is sent again or edited keeps its variables, but not an id that another job may get.
      if (isLeft && !index.isRenamed(row)) continue;
      const document = await results.read(row);
      if (document === undefined || (isLeft && document['id'] === job.id)) continue;
      const now = withVars(document, job, host.redaction);
      const isSameId = now['id'] === document['id'];
      const move = { type: 'moved', id: job.id, line: job.line, basis: index.basisOf(row) ?? '' } as const;
      if (isSameId && JSON.stringify(now['vars']) === JSON.stringify(document['vars'])) {
        if (index.has(row, 'newBasis')) bases.push(JSON.stringify({ ...move, at: host.now() }));
        if (bases.length === groupSize) await writeBases();
        continue;
      }
      if (isSameId) {
        count++;
        plan.moves.push(move);
      }
      if (file === undefined) await lock.confirm();
      file ??= await SyncedFile.open(join(outdir, batchFiles.results));
      file.append(JSON.stringify(now));
      if (++written % groupSize === 0) await file.sync();
    }
    await file?.sync();
    await writeBases();
  } finally {
    await results.close();
    await file?.close();
    await journal?.close();
  }
  return count;
}
