import { join, relative } from 'node:path';
import {
  batchFiles,
  type BatchPlan,
  countJobs,
  type Counts,
  findRedoLeft,
  formatCount,
  isTokenLimitReached,
  listAwaitingParents,
  listFailures,
  sentBefore,
  type Stop,
  totalTokens,
  writeSummary,
} from '../../batch/index.ts';
import { seeSpentHint } from '../../advice-words.ts';
import type { CommandOutcome, OwnDocument } from '../../cli/context.ts';
import { emptyOutcome } from '../../cli/output/outcome.ts';
import { errorDocument } from '../../cli/output/document.ts';
import { GatewayError, outcomes, toGatewayError } from '../../errors.ts';
import { asideFile } from '../../files/synced-file.ts';
import { shellWord } from '../../shell-word.ts';
import type { RunningBatch } from './batch.ts';
import { be } from './resume.ts';
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
export type EndedBatch = Omit<RunningBatch, 'jobs' | 'source' | 'shard'>;

/** The journal could not be written: the summary is tried, and the error is reported. */
export async function failBatch(batch: EndedBatch, error: unknown): Promise<CommandOutcome> {
  const document = summarize(batch, countInFile(batch), error);
  await saveSummary(batch, document).catch(() => undefined);
  return { document, error };
}

/** Writes the summary, and prints where the results are. The error is what the whole means: code 13, or the signal. */
export async function finishBatch(batch: EndedBatch, stop: Stop | undefined): Promise<CommandOutcome> {
  const { context, flags, state, plan, outdir } = batch;
  const counts = countInFile(batch);
  const redo = findRedoEnd(batch);
  const isWhole = getExitCode(counts) === outcomes.ok.code && counts.waiting === undefined && !redo.left;
  const cause: unknown = stop === 'signal' ? context.signal.reason : undefined;
  const error = stop === 'signal' || isWhole ? cause : await judgeCounts({ counts, redo, stop }, batch);
  const document = summarize(batch, counts, error);
  await saveSummary(batch, document);
  await context.ui.note(describeCounts(counts, countKept(state)));
  const again = describeRedoLeft(redo.left) ?? (stop === 'signal' && isWhole ? describeAllMade(batch) : undefined);
  if (again !== undefined) await context.ui.note(again);
  const waiting = plan.parents.size > 0 ? describeWaiting(batch) : undefined;
  if (waiting !== undefined) await context.ui.note(waiting);
  const cost = describeSpending(state.spending, batch.facts.pricing.hasPrices);
  if (cost !== '') await context.ui.note(cost);
  if (state.earlier.size > 0) await noteEarlier(batch);
  if (stop === 'signal') {
    // Of jobs at the service, what waits for them has told.
    if (!isWhole && !flags.stream && !counts.submitted)
      for (const line of nextStep(counts, undefined, { ...redo, failures: state.failures }).split('\n'))
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
  const kept = describeKeptVersions(batch);
  if (kept !== undefined) await context.ui.note(kept);
  if (state.failures.size + counts.failed > 0) await noteFailures(batch, counts);
  return { document, error };
}

/** What this run left of the jobs that it was to make again. */
function findRedoEnd({ flags, plan, state }: EndedBatch): RedoEnd {
  return { left: plan.redo && findRedoLeft(state), isNamed: flags.redo !== undefined };
}

/** After Ctrl-C: that nothing is left to be made again, which the counts do not say. */
function describeAllMade({ plan, state }: EndedBatch): string | undefined {
  if (plan.redo === undefined) return undefined;
  const all = state.redo?.ends.size ?? 0;
  return `${all} of ${formatCount(all, 'job')} to make again ${be(all, 'is')} made`;
}

function countInFile({ state, plan }: EndedBatch): Counts {
  const counts = countJobs(state.index, { jobs: plan.jobs, inFile: true });
  const waiting = plan.parents.size > 0 ? listWaitingAtEnd({ plan, state }).size : 0;
  return waiting > 0 ? { ...counts, waiting } : counts;
}

/** Jobs that `--limit` leaves for the next run, without those that wait for results that it will not have either. */
function countLeft({ left, toSend }: BatchPlan, { waiting = 0 }: Counts): number {
  return toSend === 0 ? left - waiting : left;
}

/** Where `--limit` had room and a run could send none, those that it left wait too: the next run could not send them either. */
function listWaitingAtEnd({ plan, state }: Pick<EndedBatch, 'plan' | 'state'>): Set<number> {
  const { index } = state;
  const isLeft = (row: number): boolean => plan.left > 0 && plan.toSend === 0 && index.stateOf(row) === 'new';
  return listAwaitingParents({ plan, state }, (row) => index.has(row, 'toSend') || isLeft(row));
}

/** The summary of a run, with the error that it ends with. */
function summarize(batch: EndedBatch, counts: Counts, thrown: unknown): OwnDocument {
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
    failures: listFailures(state),
    exitCode: error?.exitCode ?? outcomes.ok.code,
    error:
      error &&
      errorDocument(error, { outcome: { ...emptyOutcome, attempts: context.sent?.attempts ?? 0 } }, context.ui),
  });
}

async function saveSummary({ lock, outdir }: EndedBatch, summary: OwnDocument): Promise<void> {
  lock.confirm();
  await writeSummary(outdir, JSON.stringify(summary));
}

/** What the counts mean for the exit code. Jobs that are still at the service are not a failure of a run that does not wait for them. */
async function judgeCounts(
  { counts, redo, stop }: { counts: Counts; redo: RedoEnd; stop: Stop | undefined },
  { flags, state, outdir, context, plan }: EndedBatch,
): Promise<GatewayError | undefined> {
  // What `--limit` leaves is no failure; nor is what waits: the jobs that it waits for are counted.
  const waiting = counts.waiting ?? 0;
  const excused =
    stop === undefined
      ? { pending: countLeft(plan, counts) + waiting, again: plan.leftAgain + waiting }
      : { pending: 0, again: 0 };
  const pending = Math.max(0, counts.pending - excused.pending);
  const undone = (redo.left?.open.length ?? 0) - excused.again;
  const submitted = flags.wait === false ? 0 : counts.submitted;
  const code = getExitCode({ ...counts, pending, submitted: submitted ?? 0 });
  if (code === outcomes.ok.code && undone <= 0) return undefined;
  const early = {
    cost: `stopped before a request that could pass --max-cost ${flags.maxCost}: `,
    tokens: `stopped after ${totalTokens(state.usage)} of ${flags.maxTokensTotal} tokens: `,
    failures: `stopped after ${formatCount(counts.failed + counts.unknown, 'failure')}: `,
    signal: '',
  };
  const why = stop instanceof GatewayError ? `stopped: ${stop.message}: ` : stop && early[stop];
  const budget = stop instanceof GatewayError && stop.details.reason === 'budget' ? stop.details : undefined;
  const tokens = isTokenLimitReached(state.usage, flags.maxTokensTotal) ? '--max-tokens-total' : undefined;
  // A budget with a period can be paid from again.
  const ofBudget = budget?.retryable ? '--budget, or when its next period begins' : '--budget';
  const limit = stop === 'cost' ? '--max-cost' : budget ? ofBudget : tokens;
  const next = nextStep(counts, limit, { ...redo, failures: state.failures });
  const summary = shellWord(shownPath(join(outdir, batchFiles.summary), context.io.cwd));
  const nextHint = counts.pending > 0 ? next : `details are in ${summary}; ${next}`;
  const hints = [await keptHint(counts, state.beganAt, [outdir]), nextHint, budget && seeSpentHint(budget)];
  const { done, failed, unknown } = counts;
  const isOpen = failed + unknown + (counts.submitted ?? 0) > 0;
  const what = [describeCounts(counts, countKept(state)), describeRedoLeft(redo.left)].filter(Boolean).join('; ');
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

/** Edited jobs whose answers came from the service since: they are to the versions of before. */
function describeKeptVersions({ plan, state: { index } }: EndedBatch): string | undefined {
  const kept = [...plan.editedAtService].filter((row) => index.stateOf(row) === 'done').length;
  if (kept === 0) return undefined;
  const what = `${formatCount(kept, 'job')} that ${be(kept, 'was')} edited while the service had ${kept === 1 ? 'it' : 'them'}`;
  return `${what}: the answer is to the version of before; the same command again sends the new one`;
}

/** The jobs that others wait for, and what they are. */
function describeWaiting({ plan, state }: EndedBatch): string | undefined {
  const { index } = state;
  const waiting = listWaitingAtEnd({ plan, state });
  const isEdited = (row: number): boolean => plan.leftEdited.has(row) && index.stateOf(row) === 'done';
  const isOpen = (id: string): boolean => index.stateOf(index.find(id)) !== 'done' || isEdited(index.find(id));
  const waitingIds = [...plan.parents.keys()].filter((id) => waiting.has(index.find(id)));
  const ids = new Set(waitingIds.flatMap((id) => plan.parents.get(id) ?? []).filter(isOpen));
  if (waiting.size === 0 || ids.size === 0) return undefined;
  const describeState = (row: number): string => {
    if (index.has(row, 'atService')) return 'at the service';
    return isEdited(row) ? 'edited: --accept-changes' : index.stateOf(row);
  };
  const named = [...ids].map((id) => {
    const state = describeState(index.find(id));
    return `${id} (${state === 'new' ? 'not sent yet' : state})`;
  });
  return `${formatCount(waiting.size, 'job')} ${waiting.size === 1 ? 'waits' : 'wait'} for the result of ${nameSome(named)}`;
}

/** Why the first few failed. */
async function noteFailures({ state, context, outdir }: EndedBatch, counts: Counts): Promise<void> {
  const results = shellWord(shownPath(join(outdir, batchFiles.results), context.io.cwd));
  for (const line of describeFailures(listFailures(state), { counts, most: maxNamed, results }))
    await context.ui.note(line);
}

/** Jobs that were sent again and got no answer: what they had stays. */
async function noteEarlier({ state: { index, earlier }, context }: EndedBatch): Promise<void> {
  const ids = [...earlier.keys()]
    .filter((row) => ['failed', 'unknown'].includes(index.stateOf(row)))
    .toSorted((a, b) => a - b)
    .map((row) => index.idOf(row));
  if (ids.length === 0) return;
  const what = `the earlier answer of ${nameSome(ids)} stays the result, as no other came`;
  await context.ui.warn(`${what}: what came is in ${asideFile(batchFiles.results)}`);
}

function shownPath(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short === '' ? '.' : short.startsWith('..') ? path : short;
}
