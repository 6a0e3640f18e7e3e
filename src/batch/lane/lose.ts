import { resultDocument } from '../../cli/output/document.ts';
import { emptyReport } from '../../cli/output/log.ts';
import { GatewayError } from '../../errors.ts';
import type { JobOutcome } from '../types.ts';
import type { LaneRun } from './lane-run.ts';
import { budgetedMark, waitingBounds } from './parts.ts';
import type { Part } from './types.ts';

/** So many ends are written at once: they share syncs. */
export const maxPending = 256;

/** Ends the jobs of a part that wait for a result which cannot come; `reasonOf` says why, by their rows. They may have been billed. */
export async function loseJobs(
  part: Part,
  reasonOf: (row: number) => Promise<string> | string,
  { batch, recordOutcome }: LaneRun,
): Promise<void> {
  const { state, context } = batch;
  const { index } = state;
  const ids = [...index.ids()];
  const waiting = [...waitingBounds(part, index)];
  const mark = budgetedMark(part);
  async function lose([row, bound]: (typeof waiting)[number], reason: string): Promise<void> {
    const error = new GatewayError('no-reply', reason, { sent: 'yes' });
    const document = resultDocument(emptyReport('batch run'), { error, durationMs: 0, redaction: context.ui });
    const shown = { class: error.class, message: context.ui.redact(error.message), billed: error.billed };
    const outcome: JobOutcome = { state: 'unknown', document, error: shown };
    await recordOutcome({ job: { id: ids[row] ?? '' }, request: index.requestOf(row), bound, part: mark }, outcome);
  }
  while (waiting.length > 0) {
    const group = [];
    // One after the other: what has a result is kept in one file.
    for (const job of waiting.splice(0, maxPending)) group.push([job, await reasonOf(job[0])] as const);
    await Promise.all(group.map(([job, reason]) => lose(job, reason)));
  }
}
