import { resolve } from 'node:path';
import type { JobIndex } from './job-index.ts';
import { findLostEnds, sorted } from './results.ts';
import { type BatchState, readJournal } from './journal.ts';
import { type JobRecord, batchFiles, type Counts } from '../types.ts';
import { codeOf, GatewayError, usageError } from '../../errors.ts';
import { readReason } from '../../files/file-reason.ts';
import { isFolder } from '../../files/temp-file.ts';
import type { Context } from '../../cli/context.ts';
import { asideFile } from '../../files/synced-file.ts';
import { countOf } from '../report/summary.ts';
import { isSpent } from '../run/usage.ts';

/** The folder of a batch and what its journal says. Throws GatewayError usage where it is none. */
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

function hasOpenJobs({ index }: BatchState): boolean {
  for (let row = 0; row < index.size; row++) if (index.stateOf(row) === 'sent') return true;
  return false;
}

/** The jobs of a folder in the order of their file. */
export function rowsOfReport(index: JobIndex): Uint32Array {
  const rows = Uint32Array.from({ length: index.size }, (_, row) => row);
  return sorted(rows, (a, b) => index.placeOf(a) - index.placeOf(b) || a - b);
}

const hint = 'name the folder that you gave to gateway-cli batch -o';

const { results, journal } = batchFiles;

/** What of a batch's own files cannot be read: nothing here writes such lines, so a crash or somebody else did. */
export async function tellUnread({ unread, torn }: { unread: number; torn?: boolean }, { ui }: Context): Promise<void> {
  if (torn) await ui.warn(`the last line of ${journal} is torn; a run keeps it in ${asideFile(journal)}`);
  if (unread === 0) return;
  const them = unread === 1 ? 'it' : 'them';
  await ui.warn(
    `${countOf(unread, 'line')} of ${results} cannot be read; a run keeps ${them} in ${asideFile(results)}`,
  );
}

/** Results that are gone and results that are nobody's: nothing here loses or invents them, so something else did. */
export async function tellArranged(
  { missing, unknownJobs }: { missing: number; unknownJobs: number },
  { ui }: Context,
): Promise<void> {
  const changed = 'it was changed from outside';
  if (unknownJobs > 0) {
    const are = unknownJobs === 1 ? 'is' : 'are';
    const what = `${countOf(unknownJobs, 'line')} of ${results} ${are} of no job of this batch: ${changed}`;
    await ui.warn(`${what}, and ${asideFile(results)} keeps ${unknownJobs === 1 ? 'it' : 'them'}`);
  }
  if (missing === 0) return;
  const have = missing === 1 ? 'is done, but has' : 'are done, but have';
  await ui.warn(`${countOf(missing, 'job')} ${have} no line in ${results}: ${changed}`);
}

/** The flag whose limit the last run of a batch has spent, or could pass with one more request like its dearest. */
export async function spentLimit({ usage, spending, run }: BatchState): Promise<string | undefined> {
  if (isSpent(usage, run?.maxTokens)) return '--max-tokens-total';
  if (run?.maxCost === undefined) return undefined;
  const { addAmounts, areWithin } = await import('../../cost/cost.ts');
  const spent = addAmounts(...spending.costs.map(({ amount }) => amount), spending.held);
  const hasRoom = areWithin([spent, spending.dearest], run.maxCost) && !areWithin([run.maxCost], spent);
  return hasRoom ? undefined : '--max-cost';
}

/** What to type to get the rest of a batch that is not done; `spent` is the flag under whose limit nothing goes out. */
export function nextStep({ failed, unknown, pending }: Counts, spent: string | undefined): string {
  const limit = `a greater ${spent}`;
  if (pending > 0)
    return spent
      ? `to continue: the same command with ${limit}`
      : 'run the same command again: it continues where it stopped';
  const flags = [failed > 0 && '--retry-failed', unknown > 0 && '--retry-unknown'].filter(Boolean).join(' ');
  return `to send them again: the same command with ${flags}${spent ? ` and ${limit}` : ''}`;
}

/** What to type where answers of finished jobs may not be whole. */
export function incompleteStep({ incomplete }: Counts): string | undefined {
  if (incomplete === 0) return undefined;
  return `${countOf(incomplete, 'answer')} may not be whole; to send them again: the same command with --retry-incomplete, and more maxTokens`;
}

/** Whoever pays again for what is unknown shall know that its reply may be there. */
export async function tellKept({ unknown }: Counts, beganAt: number | undefined): Promise<string | undefined> {
  if (unknown === 0 || beganAt === undefined) return undefined;
  const { isReplySavedSince } = await import('../../cli/run/recovery.ts');
  if (!(await isReplySavedSince(beganAt))) return undefined;
  return 'replies that could not be written were kept since this batch began: gateway-cli recover lists them';
}
