import { sleepByTimer } from '../../transport/gate.ts';
import type { BatchInfo } from '../../formats/batch-types.ts';
import { countOf } from '../report/summary.ts';
import { findBatch, type Found } from './find.ts';
import { apiOf, type LaneRun, longDeadline, record } from './lane-run.ts';
import { loseJobs } from './lose.ts';
import { openParts } from './parts.ts';
import type { Part } from './types.ts';

/** A list can show a creation late: only after so many ms it counts that a batch is not in it. */
const settleMs = 60_000;
const lookMs = 5000;

/**
 * Finds out what became of a part whose creation was not answered. Undefined: it has no batch (and is dropped or lost), or that is
 * not clear yet. Throws GatewayError where the service cannot be asked, and the reason of a signal.
 */
export async function settlePart(part: Part, run: LaneRun): Promise<BatchInfo | undefined> {
  const { batch, hooks } = run;
  const { io, signal, ui } = batch.context;
  const began = io.elapsed();
  const wait = hooks.settleMs ?? settleMs;
  let found: Found;
  for (;;) {
    found = await look(part, run);
    if ((found !== 'none' && found !== 'unknown') || io.elapsed() - began >= wait) break;
    await sleepByTimer(Math.min(lookMs, Math.max(1, wait / 4)), signal);
  }
  const { mark } = part;
  if (found === 'later') return undefined;
  const jobs = countOf(part.rows.length, 'job');
  if (found === 'none') {
    await ui.note(`the batch of ${jobs} was not created`);
    await record([{ type: 'part', mark, step: 'dropped', at: run.now() }], run);
    return undefined;
  }
  if (found !== 'unknown') return found;
  await ui.warn(`the service does not tell whether a batch of ${jobs} was created; it may have been billed`);
  await loseJobs(part, () => 'the service does not tell whether its batch was created', run);
  await record([{ type: 'part', mark, step: 'lost', at: run.now() }], run);
  return undefined;
}

async function look(part: Part, run: LaneRun): Promise<Found> {
  const { plan } = part;
  const { api, format } = await apiOf(plan, run);
  const known = new Set(openParts(run.batch.state).map(({ batch }) => batch));
  return findBatch(part, {
    api,
    format,
    isKnown: (id) => known.has(id),
    startDeadline: () => longDeadline(plan, run, run.batch.context.signal),
  });
}
