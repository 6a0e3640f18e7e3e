import { join, relative } from 'node:path';
import {
  batchFiles,
  type BatchPlan,
  countRows,
  type Counts,
  hashRowId,
  isLeftToRedo,
  formatCount,
  listAwaiting,
  listFailures,
  listIds,
  type JobError,
  sentBefore,
  type Stop,
  writeSummary,
} from '../../batch/index.ts';
import { seeSpentHint } from '../../advice-words.ts';
import type { CommandOutcome, OwnDocument } from '../../cli/context.ts';
import { errorDocument } from '../../cli/output/document.ts';
import { GatewayError, outcomes, toGatewayError } from '../../errors.ts';
import { shellWord } from '../../shell-word.ts';
import type { RunningBatch } from './batch.ts';
import {
  countKept,
  describeCounts,
  describeFailures,
  describeRedoLeft,
  describeSpending,
  getExitCode,
  incompleteStep,
  keptHint,
  maxNamed,
  nameSome,
  nextStep,
  type RedoEnd,
  summaryDocument,
} from './summary.ts';

/** The part of a batch that its end needs, whether its jobs were known before or not. */
export type EndedBatch = Omit<RunningBatch, 'jobs' | 'source' | 'shard'> & Partial<Pick<RunningBatch, 'jobs'>>;

/** The journal could not be written: the summary is tried, and the error is reported. */
export async function failBatch(batch: EndedBatch, error: unknown): Promise<CommandOutcome> {
  const document = await summarize(batch, countTable(batch), error);
  await saveSummary(batch, document).catch(() => undefined);
  return { document, error };
}

/** Writes the summary, and prints where the results are. The error is what the whole means: code 13, or the signal. */
export async function finishBatch(batch: EndedBatch, stop: Stop | undefined): Promise<CommandOutcome> {
  const { context, flags, state, plan, outdir } = batch;
  const counts = countTable(batch);
  const redo = await findRedoEnd(batch);
  const isWhole =
    getExitCode(counts) === outcomes.ok.code &&
    counts.waiting === undefined &&
    redo.open.length + redo.unsure.length === 0;
  const cause: unknown = stop === 'signal' ? context.signal.reason : undefined;
  const error = stop === 'signal' || isWhole ? cause : await judgeCounts({ counts, redo, stop }, batch);
  const document = await summarize(batch, counts, error);
  await saveSummary(batch, document);
  await context.ui.note(describeCounts(counts, countKept(state)));
  const again = describeRedoLeft(redo);
  if (again !== undefined) await context.ui.note(again);
  const waiting = plan.table.links.size > 0 ? await describeWaiting(batch) : undefined;
  if (waiting !== undefined) await context.ui.note(waiting);
  const cost = describeSpending(state.spending, batch.facts.pricing.hasPrices);
  if (cost !== '') await context.ui.note(cost);
  await noteTried(batch);
  if (stop === 'signal') {
    // Of jobs at the service, what waits for them has told.
    if (!isWhole && !flags.stream && !counts.submitted)
      for (const line of nextStep(counts, undefined, { ...redo, failures: await nameFailures(batch) }).split('\n'))
        await context.ui.note(line);
    return { document, error };
  }
  if (!context.root.json && !flags.stream)
    await context.io.stdout.write(`${shownPath(join(outdir, batchFiles.results), context.io.cwd)}\n`);
  const cut = incompleteStep(counts);
  if (cut) await context.ui.note(cut);
  const left = plan.left > 0 ? countLeft(plan, counts) : 0;
  if (left > 0)
    await context.ui.note(`--limit left ${formatCount(left, 'job')} unsent: the same command sends the next ones`);
  if (plan.leftAgain > 0) await context.ui.note(describeLeftAgain(plan, flags));
  if (state.failures.size + counts.failed > 0) await noteFailures(batch, counts);
  return { document, error };
}

/** What this run left of the jobs that `--redo` names. */
async function findRedoEnd(batch: EndedBatch): Promise<RedoEnd> {
  const { flags, plan, state } = batch;
  const end: RedoEnd = { of: 0, open: [], unsure: [], isNamed: flags.redo !== undefined };
  if (state.redo === undefined) return end;
  const named = new Set(state.redo.map(hashRowId));
  const { table } = plan;
  const open: number[] = [];
  const unsure: number[] = [];
  for (let place = 0; place < table.size; place++) {
    if (!plan.isOwn(place) || !named.has(table.ids[place] as number)) continue;
    end.of++;
    const slot = table.slots[place] as number;
    if (!isLeftToRedo(slot, state) || state.atService.has(slot)) continue;
    (state.slots.stateOf(slot) === 'sent' ? unsure : open).push(place);
  }
  return { ...end, open: await nameRows(open, batch), unsure: await nameRows(unsure, batch) };
}

/** The ids of rows, in the order of the file. */
async function nameRows(places: readonly number[], { jobs }: EndedBatch): Promise<string[]> {
  return jobs ? listIds(places, jobs) : [];
}

/** Why rows of the table have no answer, by their ids. */
async function nameFailures(batch: EndedBatch): Promise<Map<string, JobError>> {
  const { plan, state } = batch;
  const failures = listFailures(state);
  const places: number[] = [];
  const { table } = plan;
  if (failures.size > 0)
    for (let place = 0; place < table.size; place++) if (failures.has(table.slots[place] as number)) places.push(place);
  const ids = await nameRows(places, batch);
  return new Map(
    places.map((place, at) => {
      const slot = table.slots[place] as number;
      return [ids[at] ?? state.ids.get(slot) ?? String(place + 1), failures.get(slot) as JobError];
    }),
  );
}

function countTable({ state, plan }: EndedBatch): Counts {
  const counts = countRows(plan.table, state, plan.isOwn);
  const waiting = plan.table.links.size > 0 ? listAwaiting({ plan, state }).length + plan.held.length : 0;
  return waiting > 0 ? { ...counts, waiting } : counts;
}

/** Jobs that `--limit` leaves for the next run, without those that wait for results that it will not have either. */
function countLeft({ left, toSend }: BatchPlan, { waiting = 0 }: Counts): number {
  return toSend === 0 ? left - waiting : left;
}

/** The summary of a run, with the error that it ends with. */
async function summarize(batch: EndedBatch, counts: Counts, thrown: unknown): Promise<OwnDocument> {
  const { context, state, plan, outdir } = batch;
  const error = thrown === undefined ? undefined : toGatewayError(thrown);
  return summaryDocument({
    counts,
    skipped: sentBefore(plan),
    usage: state.usage,
    spending: state.spending,
    hasPrices: batch.facts.pricing.hasPrices,
    durationMs: context.io.elapsed() - batch.startedAt,
    outdir: shownPath(outdir, context.io.cwd),
    failures: await nameFailures(batch),
    exitCode: error?.exitCode ?? outcomes.ok.code,
    error: error && errorDocument(error, context.report, context.ui),
  });
}

async function saveSummary({ lock, outdir }: EndedBatch, summary: OwnDocument): Promise<void> {
  lock.confirm();
  await writeSummary(outdir, JSON.stringify(summary));
}

/** What the counts mean for the exit code. Jobs that are still at the service are not a failure of a run that does not wait for them. */
async function judgeCounts(
  { counts, redo, stop }: { counts: Counts; redo: RedoEnd; stop: Stop | undefined },
  batch: EndedBatch,
): Promise<GatewayError | undefined> {
  const { flags, state, outdir, context, plan } = batch;
  // What `--limit` leaves is no failure; nor is what waits: the jobs that it waits for are counted.
  const waiting = counts.waiting ?? 0;
  const excused =
    stop === undefined
      ? { pending: countLeft(plan, counts) + waiting, again: plan.leftAgain + countLeft(plan, counts) + waiting }
      : { pending: 0, again: 0 };
  const pending = Math.max(0, counts.pending - excused.pending);
  const undone = Math.max(counts.again ?? 0, redo.open.length) - excused.again;
  const submitted = flags.wait === false ? 0 : counts.submitted;
  const code = getExitCode({ ...counts, pending, again: 0, submitted: submitted ?? 0 });
  if (code === outcomes.ok.code && undone <= 0) return undefined;
  const early = {
    cost: `stopped before a request that could pass --max-cost ${flags.maxCost}: `,
    failures: `stopped after ${formatCount(counts.failed + counts.unknown, 'failure')}: `,
    signal: '',
  };
  const why = stop instanceof GatewayError ? `stopped: ${stop.message}: ` : stop && early[stop];
  const budget = stop instanceof GatewayError && stop.details.reason === 'budget' ? stop.details : undefined;
  // A budget with a period can be paid from again.
  const ofBudget = budget?.retryable ? '--budget, or when its next period begins' : '--budget';
  const limit = stop === 'cost' ? '--max-cost' : budget ? ofBudget : undefined;
  const next = nextStep(counts, limit, { ...redo, failures: await nameFailures(batch) });
  const summary = shellWord(shownPath(join(outdir, batchFiles.summary), context.io.cwd));
  const nextHint = counts.pending > 0 ? next : `details are in ${summary}; ${next}`;
  const hints = [await keptHint(counts, state.beganAt, [outdir]), nextHint, budget && seeSpentHint(budget)];
  const { done, failed, unknown } = counts;
  const isOpen = failed + unknown + (counts.submitted ?? 0) > 0;
  const what = [describeCounts(counts, countKept(state)), describeRedoLeft(redo)].filter(Boolean).join('; ');
  return new GatewayError('batch-failed', `${why ?? ''}${what}`, {
    hint: hints.filter((line) => line !== undefined).join('\n'),
    ...(done > 0 || isOpen ? { sent: 'yes' } : { sent: 'no', billed: 'no' }),
    ...(done > 0 && !isOpen && { billed: 'yes' }),
    retryable: failed + unknown === 0 && (limit === undefined || budget?.retryable === true),
  });
}

/** Jobs that were to be sent again, and that `--limit` left: their earlier answers are counted as done. */
function describeLeftAgain({ leftAgain }: BatchPlan, { redo }: EndedBatch['flags']): string {
  const next = redo ? 'the same command sends the next ones' : 'without it, the same command sends them';
  const their = leftAgain === 1 ? 'its earlier answer' : 'their earlier answers';
  return `--limit left ${formatCount(leftAgain, 'job')} with ${their}, to be sent again: ${next}`;
}

/** The jobs that others wait for, and what they are. */
async function describeWaiting(batch: EndedBatch): Promise<string | undefined> {
  const { plan, state } = batch;
  const waiting = [...listAwaiting(batch), ...batch.plan.held];
  if (waiting.length === 0) return undefined;
  const { table } = plan;
  const slotOf = (place: number): number => table.slots[place] as number;
  const isOpen = (place: number): boolean => !['done', 'incomplete'].includes(state.slots.stateOf(slotOf(place)));
  const places = [...new Set(waiting.flatMap((place) => table.links.get(place)?.parents ?? []))].filter(isOpen);
  places.sort((a, b) => a - b);
  const ids = await nameRows(places, batch);
  const named = ids.map((id, at) => `${id} (${describeState(slotOf(places[at] as number), batch)})`);
  return `${formatCount(waiting.length, 'job')} ${waiting.length === 1 ? 'waits' : 'wait'} for the result of ${nameSome(named)}`;
}

function describeState(slot: number, { state: { atService, slots } }: EndedBatch): string {
  if (atService.has(slot)) return 'at the service';
  const state = slots.stateOf(slot);
  return state === 'pending' ? 'not sent yet' : state === 'sent' ? 'unknown' : state;
}

/** Why the first few failed. */
async function noteFailures(batch: EndedBatch, counts: Counts): Promise<void> {
  const { context, outdir } = batch;
  const results = shellWord(shownPath(join(outdir, batchFiles.results), context.io.cwd));
  for (const line of describeFailures(await nameFailures(batch), { counts, most: maxNamed, results }))
    await context.ui.note(line);
}

/** Jobs that were sent again and got no answer: what they had stays. */
async function noteTried(batch: EndedBatch): Promise<void> {
  const { plan, state, context } = batch;
  const { slots } = state;
  const places: number[] = [];
  for (let place = 0; place < plan.table.size; place++) {
    const slot = plan.table.slots[place] as number;
    const isTried = slots.has(slot, 'tried') || (slots.stateOf(slot) === 'sent' && !state.atService.has(slot));
    if (plan.isOwn(place) && isTried && slots.answersOf(slot) > 0) places.push(place);
  }
  if (places.length === 0) return;
  const what = `the earlier answer of ${nameSome(await nameRows(places, batch))} stays the result, as no other came`;
  await context.ui.warn(what);
}

function shownPath(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short === '' ? '.' : short.startsWith('..') ? path : short;
}
