import { join } from 'node:path';
import {
  batchFiles,
  countRows,
  type Counts,
  type EndedPlan,
  findNotes,
  formatCount,
  getToldState,
  type JobError,
  listFailures,
  listIds,
  maxNamed,
  nameSome,
  sentBefore,
  type Stop,
  writeSummary,
} from '../../../batch/index.ts';
import {
  chooseHint,
  exitCodes,
  GatewayError,
  seeSpentHint,
  shellWord,
  toGatewayError,
} from '../../../library/index.ts';
import type { CommandEnd, OwnDocument } from '../../context.ts';
import { emptyOutcome } from '../../output/outcome.ts';
import { errorDocument } from '../../output/document.ts';
import type { RunningBatch } from './batch.ts';
import { countFolder, readOneFolder } from './folders.ts';
import { renewGallery } from './gallery.ts';
import {
  describeNext,
  describeStates,
  listAnswered,
  listLeftToRedo,
  listPlaces,
  listSlots,
  listStates,
  readBilling,
  type StateRows,
  writeChoices,
} from './states.ts';
import { renewSummary } from './status.ts';
import { describeFailures, describeSpending, keptHint, readSummary, summaryDocument } from './summary.ts';

/** The parts of a batch that its end needs, whether its jobs were known before or not. */
export interface EndedBatch extends Omit<RunningBatch, 'jobs' | 'plan' | 'shard'> {
  jobs?: RunningBatch['jobs'];
  plan: EndedPlan;
  /** The number of lines that are no rows, in a stream of rows. */
  refused?: number;
}

/** Notes in the summary of the last run that another one was refused, as rows were edited: the status of the folder tells it. */
export async function noteRefused(
  thrown: unknown,
  { folder: typed, outdir, lock, context }: Pick<EndedBatch, 'folder' | 'outdir' | 'lock' | 'context'>,
): Promise<void> {
  const error = toGatewayError(thrown);
  if (error.class !== 'batch-edited') return;
  // The plan has changed the state that it was given; and the next run goes on with the command that the folder keeps.
  const one = await readOneFolder(typed?.outdir ?? outdir, context);
  const told = errorDocument(error, { outcome: emptyOutcome }, context.ui);
  // A run that was killed wrote no summary.
  const last = { ...(await readSummary(outdir, countFolder(one))), exitCode: error.exitCode, error: told };
  await renewSummary(one, last, lock).catch(() => undefined);
}

/** Ends a batch whose journal could not be written: the summary is tried, and the error is reported. */
export async function failBatch(batch: EndedBatch, error: unknown): Promise<CommandEnd> {
  if (batch.folder === undefined) return { error };
  const document = await summarize(batch, await readRows(batch, undefined), error);
  await saveSummary(batch, document).catch(() => undefined);
  return { document, error };
}

/** Writes the summary, and prints the place of the results. The error is for the whole batch: code 13, or the signal. */
export async function finishBatch(batch: EndedBatch, stop: Stop | undefined): Promise<CommandEnd> {
  const { context, flags, folder, plan, refused = 0, state } = batch;
  const ended = await readRows(batch, stop);
  const { counts, states, failures } = ended;
  const failure = stop === 'signal' ? undefined : await judgeEnd(ended, batch);
  const error: unknown = stop === 'signal' ? context.signal.reason : failure;
  const document = await summarize(batch, ended, error);
  if (folder) await saveSummary(batch, document);
  if (folder && stop !== 'signal') await renewPage(folder.outdir, context);
  if (failure === undefined) await context.ui.note(describeStates(states));
  const waiting = plan.table.links.size > 0 ? await describeWaiting(batch) : undefined;
  if (waiting !== undefined) await context.ui.note(waiting);
  const cost = describeSpending(state.spending, batch.prices.hasAny());
  if (cost !== '') await context.ui.note(cost);
  await noteTried(batch);
  // For jobs at the service, the wait for them has told the next command.
  const isTold = failure !== undefined || (stop === 'signal' && counts.submitted !== undefined) || flags.stream;
  if (!isTold) for (const line of describeNext(states)) await context.ui.note(line);
  if (stop === 'signal' || folder === undefined) return { document, error };
  if (!context.root.json && !flags.stream)
    await context.io.stdout.write(`${join(folder.outdir, batchFiles.results)}\n`);
  // Lines of a stream that are no rows have told their errors.
  const shown = { failed: counts.failed - refused, most: maxNamed, outdirs: [folder.outdir] };
  for (const line of describeFailures(failures, shown)) await context.ui.note(line);
  return { document, error };
}

/** Writes the page of the folder anew. A failure of that is no failure of the run. */
async function renewPage(outdir: string, context: EndedBatch['context']): Promise<void> {
  try {
    await renewGallery(outdir, context);
  } catch (error) {
    await context.ui.warn(`${batchFiles.gallery} shows an earlier run: ${toGatewayError(error).message}`);
  }
}

/** The rows of a batch at the end of a run. */
interface RowsAtEnd {
  counts: Counts;
  states: readonly StateRows[];
  failures: ReadonlyMap<string, JobError>;
  stop: Stop | undefined;
  /** The flag whose limit stopped the run. */
  spent: string | undefined;
}

async function readRows(batch: EndedBatch, stop: Stop | undefined): Promise<RowsAtEnd> {
  const { folder, plan, refused, state } = batch;
  const counts = countLines(batch);
  const spent = findSpent(stop);
  const leftToRedo = listLeftToRedo(plan.table, state, plan.isOwn);
  const answered = listAnswered(plan.table, state, plan.isOwn);
  const failureOf = listFailures(state);
  const ids = await readIdsOf([...leftToRedo, ...answered, ...failureOf.keys()], batch);
  const nameSlot = (slot: number): string => ids.get(slot) as string;
  const states = listStates(counts, {
    spent,
    folder,
    billing: readBilling(state),
    refused,
    leftToRedo: leftToRedo.map(nameSlot),
    answered: writeChoices(answered, nameSlot, state),
  });
  const failed = [...ids].filter(([slot]) => failureOf.has(slot));
  const failures = new Map(failed.map(([slot, id]) => [id, failureOf.get(slot) as JobError]));
  return { counts, states, failures, stop, spent };
}

/** The flag whose limit stopped the run, with a place for a greater one. */
function findSpent(stop: Stop | undefined): string | undefined {
  if (stop === 'cost') return '--max-cost <more>';
  const budget = findBudget(stop);
  return budget && `--budget ${shellWord(String(budget.value))}`;
}

/** What to do where a budget is spent, beside allowing more. */
function describeBudget(budget: GatewayError['details']): string[] {
  const wait = 'without a greater budget, it goes on when the next period begins';
  return [...(budget.retryable ? [wait] : []), seeSpentHint(budget)];
}

function findBudget(stop: Stop | undefined): GatewayError['details'] | undefined {
  return stop instanceof GatewayError && stop.details.reason === 'budget' ? stop.details : undefined;
}

/** The ids of rows by their slots, in the order of the file. Rows of a stream have those with which they were sent last. */
async function readIdsOf(slots: readonly number[], { jobs, plan, state }: EndedBatch): Promise<Map<number, string>> {
  const wanted = new Set(slots);
  const places = wanted.size > 0 ? listPlaces(plan.table, (slot) => wanted.has(slot)) : [];
  const ids = jobs && (await listIds(places, jobs));
  return new Map(
    places.map((place, at) => {
      const slot = plan.table.slots[place] as number;
      return [slot, ids?.[at] ?? state.ids.get(slot) ?? state.slots.nameOf(slot)];
    }),
  );
}

/** The counts of the rows of the table, and of the lines of a stream that are no rows: these have failed. */
function countLines({ plan, refused = 0, state }: EndedBatch): Counts {
  const counts = countRows(plan.table, state, plan.isOwn);
  return { ...counts, jobs: counts.jobs + refused, failed: counts.failed + refused };
}

/** The summary of a run, with the error that it ends with. */
async function summarize(
  { context, folder, state, plan, prices, startedAt }: EndedBatch,
  { counts, states, failures, spent }: RowsAtEnd,
  thrown: unknown,
): Promise<OwnDocument> {
  const error = thrown === undefined ? undefined : toGatewayError(thrown);
  return summaryDocument({
    counts,
    states,
    spent,
    skipped: sentBefore(plan),
    usage: state.usage,
    spending: state.spending,
    hasPrices: prices.hasAny(),
    durationMs: context.io.elapsed() - startedAt,
    outdir: folder?.outdir ?? '.',
    failures,
    exitCode: error?.exitCode ?? exitCodes.ok.code,
    error:
      error &&
      errorDocument(error, { outcome: { ...emptyOutcome, attempts: context.sent?.attempts ?? 0 } }, context.ui),
  });
}

async function saveSummary({ lock, outdir }: Pick<EndedBatch, 'lock' | 'outdir'>, summary: object): Promise<void> {
  lock.confirm();
  await writeSummary(outdir, JSON.stringify(summary));
}

/**
 * The error of the batch by its end; undefined if it succeeded. Jobs that are still at the service are no failure of a run that
 * does not wait for them.
 */
async function judgeEnd(
  { counts, states, stop, spent }: RowsAtEnd,
  batch: EndedBatch,
): Promise<GatewayError | undefined> {
  const { flags, folder, state, outdir, plan, policy } = batch;
  const { done, failed, unknown, submitted = 0, tried = 0 } = counts;
  // Rows that are left for another run are no failure; nor are waiting rows, if the jobs that they wait for are counted.
  const waiting = new Set(plan.waiting);
  const isMeant = (place: number): boolean => stop !== undefined || plan.due[place] === 1 || waiting.has(place);
  const meant = countRows(plan.table, state, (place) => plan.isOwn(place) && isMeant(place));
  // A named row that waits was not made, unless what it waits for may be at the service.
  const isExcused = stop === undefined && (!policy.onlyNamed || submitted > 0);
  const excused = isExcused ? (meant.waiting ?? 0) : 0;
  const undone = meant.pending - excused + (meant.again ?? 0) + tried;
  if (failed + unknown + undone + (flags.wait === false ? 0 : submitted) === 0) return undefined;
  const early = {
    cost: `stopped before a request that could pass --max-cost ${flags.maxCost}: `,
    failures: `stopped by --max-failures ${flags.maxFailures}: `,
    signal: '',
  };
  const why = stop instanceof GatewayError ? `stopped: ${stop.message}: ` : stop && early[stop];
  const budget = findBudget(stop);
  const hints = folder
    ? [
        await keptHint(counts, state.beganAt, [outdir]),
        ...describeNext(states),
        ...(budget ? describeBudget(budget) : []),
      ]
    : [eachHasError, stop instanceof GatewayError ? chooseHint(stop) : undefined];
  const isOpen = failed + unknown + submitted > 0;
  return new GatewayError('batch-failed', `${why ?? ''}${describeStates(states)}`, {
    hint: hints.filter((line) => line !== undefined).join('\n'),
    ...(done > 0 || isOpen ? { sent: 'yes' } : { sent: 'no', billed: 'no' }),
    ...(done > 0 && !isOpen && { billed: 'yes' }),
    retryable: failed + unknown === 0 && (spent === undefined || budget?.retryable === true),
  });
}

const eachHasError = 'each line with "ok":false has its error; a job without a line was not sent';

/** The jobs that others wait for, with their states; undefined if the next run sends them. */
async function describeWaiting(batch: EndedBatch): Promise<string | undefined> {
  const { plan, state } = batch;
  const { table } = plan;
  const notes = findNotes(table, state);
  const waiting = listPlaces(table, (slot, place) => plan.isOwn(place) && notes.waiting.has(slot));
  const used = waiting.flatMap((place) => table.links.get(place)?.parents ?? []);
  const isLacking = (slot: number): boolean => !['done', 'incomplete'].includes(state.slots.stateOf(slot));
  const lacking = used.map((place) => table.slots[place] as number).filter(isLacking);
  if (lacking.every((slot) => getToldState(slot, state) === 'pending')) return undefined;
  const ids = await readIdsOf(lacking, batch);
  const named = Array.from(ids, ([slot, id]) => `${id} (${stateNames[getToldState(slot, state)]})`);
  return `${formatCount(waiting.length, 'job')} ${waiting.length === 1 ? 'waits' : 'wait'} for the result of ${nameSome(named)}`;
}

/** The names of states in the table of states. A row with an answer that others wait for is to be made again. */
const stateNames = {
  done: 'to make again',
  failed: 'failed',
  unknown: 'unknown',
  submitted: 'at the service',
  pending: 'not sent yet',
} as const satisfies Record<ReturnType<typeof getToldState>, StateRows['state']>;

/** Tells of jobs that were sent again and got no answer: they keep the answer that they had. */
async function noteTried(batch: EndedBatch): Promise<void> {
  const { plan, state, context } = batch;
  const { slots } = state;
  const isTried = (slot: number): boolean =>
    slots.answersOf(slot) > 0 && (slots.has(slot, 'tried') || getToldState(slot, state) === 'unknown');
  const tried = listSlots(plan.table, (slot, place) => plan.isOwn(place) && isTried(slot));
  if (tried.length === 0) return;
  const ids = await readIdsOf(tried, batch);
  const what = `the earlier answer of ${nameSome([...ids.values()])} stays the result, as no other came`;
  await context.ui.warn(what);
}
