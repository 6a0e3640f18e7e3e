import { sleepByTimer } from '../../transport/gate.ts';
import { type BatchInfo, loadBatchFormat } from '../../formats/batch-format.ts';
import { countOf } from '../report/summary.ts';
import { parseObject } from '../../json.ts';
import {
  askService,
  isOfOtherKey,
  type LaneRun,
  losePart,
  pageOf,
  recordCreated,
  recordStep,
  requireKey,
  undefinedIfRejected,
} from './lane-run.ts';
import { openParts, type Part } from './parts.ts';

/**
 * What the service says about a part whose creation was not answered: the batch, `none`, `later` (a batch that can be it has not ended), or
 * `unknown`: it does not say.
 */
type Found = BatchInfo | 'none' | 'later' | 'unknown';

/** A list can show a new batch late: only after this time does its absence mean that it does not exist. */
const settleMs = 60_000;
const lookMs = 5000;

/**
 * Finds out what became of a part whose creation was not answered, and records it: it is created, dropped or lost. It stays as it is
 * while that is not clear. Throws GatewayError if the service cannot be asked, and the reason of a signal.
 */
export async function settlePart(part: Part, run: LaneRun): Promise<void> {
  const { batch, hooks } = run;
  const { io, signal, ui } = batch.context;
  const began = io.elapsed();
  const wait = hooks.settleMs ?? settleMs;
  let found: Found;
  for (;;) {
    found = await findBatch(part, run);
    if ((found !== 'none' && found !== 'unknown') || io.elapsed() - began >= wait) break;
    await sleepByTimer(Math.min(lookMs, Math.max(1, wait / 4)), signal);
  }
  if (found === 'later') return;
  const jobs = countOf(part.rows.length, 'job');
  if (found === 'none' && (await isOfOtherKey(part, run))) {
    await requireKey(part, run);
    found = 'unknown';
  }
  if (found === 'none') {
    await ui.note(`the batch of ${jobs} was not created`);
    await recordStep(part, { step: 'dropped' }, run);
  } else if (found === 'unknown') {
    await ui.warn(`the service does not tell whether a batch of ${jobs} was created; it may have been billed`);
    await losePart(part, 'the service does not tell whether its batch was created', run);
  } else await recordCreated(found, part, run);
}

/** At most this many pages of batches are searched. */
const maxPages = 100;

/** Looks for the batch of a part by its mark. Throws GatewayError if the service cannot be asked now. */
async function findBatch(part: Part, run: LaneRun): Promise<Found> {
  const candidates: BatchInfo[] = [];
  let isWhole = true;
  let next: string | undefined;
  for (let count = 0; count < maxPages; count++) {
    const page = await pageOf(part.plan, run, next);
    if (page === undefined) return 'unknown';
    isWhole &&= page.isWhole;
    const own = page.batches.find(({ mark }) => mark === part.mark);
    if (own !== undefined) return own;
    const before = page.batches.findIndex(({ id }) => id === part.plan.after);
    candidates.push(...(before < 0 ? page.batches : page.batches.slice(0, before)));
    next = before < 0 ? page.next : undefined;
    if (next !== undefined) continue;
    const found = await findNameless(part, candidates, run);
    return found === 'none' && !isWhole ? 'unknown' : found;
  }
  return 'unknown';
}

/** How far the clock of the service can be off. */
const clockMs = 3_600_000;

/**
 * Where batches have no name, or a service lists none, the mark is in the keys of their results: those that can be the right one
 * are read.
 */
async function findNameless(part: Part, candidates: readonly BatchInfo[], run: LaneRun): Promise<Found> {
  // Those before it were not looked through, where batches have no names.
  const isNamed = (await loadBatchFormat(part.plan.format)).byFile !== undefined;
  const since = isNamed ? part.at - clockMs : 0;
  const jobs = part.rows.length;
  const known = new Set(openParts(run.batch.state).map(({ batch }) => batch));
  const possible = candidates.filter(
    ({ id, mark, total = jobs, createdAt = since }) =>
      mark === undefined && !known.has(id) && total === jobs && createdAt >= since,
  );
  let isUnsure = false;
  for (const info of possible.filter(({ hasEnded }) => hasEnded)) {
    const isOwn = await holdsMark(part, info, run);
    if (isOwn) return info;
    isUnsure ||= isOwn === undefined;
  }
  if (possible.some(({ hasEnded }) => !hasEnded)) return 'later';
  return isUnsure ? 'unknown' : 'none';
}

/** Whether the results of a batch have the mark of a part; undefined if they cannot be read. */
function holdsMark({ mark, plan }: Part, info: BatchInfo, run: LaneRun): Promise<boolean | undefined> {
  return askService(plan, run, async ({ api, format }, deadline) => {
    for await (const { bytes } of api.results(info, deadline)) {
      const key = format.readResult(parseObject(bytes.toString()))?.key;
      if (key !== undefined) return key.startsWith(`${mark}-`);
    }
    return undefined;
  }).catch(undefinedIfRejected);
}
