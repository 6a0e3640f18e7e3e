import { resolve } from 'node:path';
import { type JobIndex, type BatchState, hasOpenJobs } from './state.ts';
import { findLostEnds, sorted } from './results.ts';
import { readJournal } from './journal.ts';
import type { JobRecord } from '../types.ts';
import { codeOf, GatewayError, usageError } from '../../errors.ts';
import { readReason } from '../../files/file-reason.ts';
import { isFolder } from '../../files/temp-file.ts';
import type { Context } from '../../cli/context.ts';

/** The folder of a batch and what its journal says. Throws GatewayError usage if it is not one. */
export async function readBatchFolder(
  outdir: string,
  { io, ui }: Context,
): Promise<{ folder: string; state: BatchState; lostEnds: readonly JobRecord[] }> {
  const folder = resolve(io.cwd, outdir);
  const progress = ui.progress(`reading ${outdir}`);
  try {
    const state = await readJournal(folder).catch((error: unknown) => {
      if (error instanceof GatewayError) throw error;
      throw usageError(
        `${outdir}${codeOf(error) === 'ENOTDIR' ? ' is not a folder' : `: ${readReason(error)}`}`,
        hint,
        error,
      );
    });
    if (state.run === undefined)
      throw usageError((await isFolder(folder)) ? `${outdir} holds no batch` : `there is no folder ${outdir}`, hint);
    return { folder, state, lostEnds: hasOpenJobs(state) ? (await findLostEnds(folder, state)).lostEnds : [] };
  } finally {
    progress.stop();
  }
}

/** The jobs of a folder in the order of their file. */
export function rowsOfReport(index: JobIndex): Uint32Array {
  const rows = Uint32Array.from({ length: index.size }, (_, row) => row);
  return sorted(rows, (a, b) => index.placeOf(a) - index.placeOf(b) || a - b);
}

const hint = 'name the folder that you gave to gateway-cli batch -o';
