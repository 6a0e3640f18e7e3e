import { resolve } from 'node:path';
import { findLostEnds } from '../../batch/reconcile.ts';
import { type JournalState, readJournal } from '../../batch/journal.ts';
import type { JobRecord } from '../../batch/types.ts';
import { codeOf, GatewayError, usageError } from '../../errors.ts';
import { readReason } from '../../files/file-reason.ts';
import { isFolder } from '../../files/make-folder.ts';
import type { Context } from '../../cli/context.ts';

/** The folder of a batch and what its journal says. Throws GatewayError usage where it is none. */
export async function readBatchFolder(
  outdir: string,
  { io, ui }: Context,
): Promise<{ folder: string; state: JournalState; lostEnds: readonly JobRecord[] }> {
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
    return { folder, state, lostEnds: await findLostEnds(folder, state) };
  } finally {
    progress.stop();
  }
}

const hint = 'name the folder that you gave to gateway-cli batch -o';
