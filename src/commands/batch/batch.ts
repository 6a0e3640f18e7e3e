import type { Command } from 'commander';
import {
  arrangeResults,
  type Batch,
  batchFiles,
  type BatchHooks,
  type BatchHost,
  type BatchPlan,
  countJobs,
  formatCount,
  type Counts,
  defaultGraceMs,
  enterOutdir,
  findLostEnds,
  type FolderLock,
  idsWithoutImage,
  idsWithoutResult,
  isTokenLimitReached,
  openLinks,
  listWaiting,
  type BatchJobs,
  type JobLinks,
  locateResults,
  type LostEnds,
  newBatchState,
  readJournal,
  refreshVars,
  requireOwn,
  type ResultPlaces,
  runBatch,
  sentBefore,
  type Stop,
  withKnownIds,
  totalTokens,
  writeSummary,
  addKeptReplies,
} from '../../batch/index.ts';
import type { Action, AnswerContext, CommandOutcome, Context, OwnDocument } from '../../cli/context.ts';
import { errorDocument, resultDocument } from '../../cli/output/document.ts';
import { emptyReport } from '../../cli/output/log.ts';
import { addFlags, setExamples, setNotes } from '../../cli/flags/flag.ts';
import { priceFlags } from '../../cli/flags/shared.ts';
import { batchConnectionFlags, type BatchFlags, batchFlags } from './flags.ts';
import { parseShard } from './jobs/shard.ts';
import {
  warnArranged,
  warnUnread,
  summaryDocument,
  countKept,
  describeCounts,
  describeSpending,
  incompleteStep,
  missingImageStep,
  getExitCode,
  keptHint,
  describeFailures,
  nextStep,
} from './summary.ts';
import { toGatewayError, GatewayError, outcomes } from '../../errors.ts';
import type { LockTimes } from '../../files/lock.ts';
import { asideFile } from '../../files/synced-file.ts';
import { createRequestBuilder } from './jobs/request.ts';
import { type JobSource, openJobs, refuseTypo, requireJobs } from './jobs/source.ts';
import { findOutdir } from './outdir.ts';
import { createHost, recovery } from './host.ts';
import { limitConcurrency, readPolicy, saveMemory } from './policy.ts';
import { checkPrice, emptyFacts, type JobKind, type BatchPlanFacts, planJobs } from './plan.ts';
import { trackChecking } from './progress.ts';
import { openBatchClients } from './clients.ts';
import { reportAnswer } from '../../cli/run/answer.ts';
import { requireDescriptors } from '../../cli/run/sending.ts';
import { join, relative } from 'node:path';
import { shellWord } from '../../shell-word.ts';
import { describeCosts } from '../../cost/price.ts';
import { requireUsable } from './jobs/references.ts';
import { openParentResults, type ParentResults } from './parent-results.ts';
import { seeSpent } from '../../advice-words.ts';
import { services } from '../../vendors/services.ts';

/** `batch [run] <jobs.jsonl|-> -o <dir>`: many requests, parallel, each paid for once. */
export function batchRunCommand(command: Command): Action {
  command
    .argument('[jobs...]', 'JSON Lines, one job per line; - is stdin; not with --data or --prompts')
    .usage('[jobs.jsonl|-] -o <dir> [flags]');
  setExamples(command, [
    'gateway-cli batch jobs.jsonl -o out --concurrency 8',
    'gateway-cli batch jobs.jsonl -o out                 # again: continues where it stopped',
    `gateway-cli batch --prompts prompts.txt --defaults '{"command":"image gen","aspect":"1:1"}' -o out`,
    'gateway-cli batch --data rows.csv -o out "A slogan for {{city}}"',
    'gateway-cli batch jobs.jsonl -o out --limit 20      # a sample; without --limit it goes on',
    'gateway-cli batch jobs.jsonl -o out --redo 7,9      # these two again',
    'gateway-cli batch jobs.jsonl -o out-1 --shard 1/4   # on the first of four machines',
  ]);
  setNotes(command, [
    'A job: {"id": "7", "command": "image edit", "prompt": "…", "image": ["in/7.png"], "aspect": "1:1"}. Keys are the request flags of its command (text, image gen, image edit, chat) in camel case, lists as arrays, and "profile"; files are relative to the job file.',
    'Ctrl-C takes no further job and waits up to 10 s for those in flight; again, it stops at once.',
  ]);
  addFlags(command, 'Flags', batchFlags);
  addFlags(command, 'Connection', batchConnectionFlags);
  addFlags(command, 'Costs', priceFlags);
  return (context: Context, words, typed) => {
    const flags = typed as BatchFlags;
    if (flags.stream) return reportAnswer(context, (own) => runStreamCommand(words, flags, own));
    // Nothing was said: the help, as of every group of commands; and after it what is missing.
    if (words.length === 0 && !flags.prompts && !flags.data && !flags.template && !flags.output && !flags.estimate)
      command.parent?.outputHelp({ error: true });
    return reportAnswer(context, (own) => runJobFile(words, flags, own));
  };
}

/**
 * Checks all jobs, sends those that were not sent yet, and leaves a folder from which the same command goes on. With `--dry-run`
 * and `--estimate`, nothing is sent that is paid for, and nothing is written.
 */
export async function runJobFile(
  words: readonly string[],
  flags: BatchFlags,
  context: AnswerContext,
  hooks: BatchHooks = {},
): Promise<CommandOutcome> {
  if (flags.lane === 'batch') saveMemory();
  const startedAt = context.io.elapsed();
  const host = createHost(context);
  const shard = flags.shard === undefined ? undefined : parseShard(flags.shard, context.io.env);
  if (flags.data === undefined) await refuseTypo(words, context);
  const place = requireJobs(words, flags);
  const policy = await readPolicy(flags, context);
  const needsNoFolder = flags.estimate === true && flags.output === undefined;
  const outdir = needsNoFolder ? { path: context.io.cwd, exists: false } : await findOutdir(flags.output, context);
  if (outdir.exists) await requireOwn(outdir.path);
  const source = await openJobs(place, flags, context);
  const onHashed = (bytes: number): void => checking.addBytes(bytes);
  const builder = createRequestBuilder({
    context,
    flags,
    source,
    output: outdir.path,
    onHashed,
    readResult: async (id) => results?.read(id),
  });
  const isTrial = flags.dryRun === true || flags.estimate === true;
  const early = outdir.exists && !isTrial ? await enterOutdir(outdir.path, host, hooks.lock) : undefined;
  const checking = trackChecking(context);
  const state = outdir.exists ? await readJournal(outdir.path) : newBatchState();
  // A folder without a run has no results.
  let ends = state.run && (await findLostEnds(outdir.path, state));
  if (ends && early) ends = await addKeptReplies(outdir.path, state, { ends, lock: early, host, recovery });
  const { lostEnds = [], places } = ends ?? {};
  await warnUnread({ unread: places ? places.unreadable + (places.torn ? 1 : 0) : 0, torn: state.torn }, context);
  const facts = emptyFacts();
  let links: JobLinks | undefined;
  let results: ParentResults | undefined;
  const jobs: BatchJobs = {
    name: source.name,
    read: (onFault) => (state.knownIds ? withKnownIds(source.jobs(onFault), state.knownIds) : source.jobs(onFault)),
    settingsOf: builder.settingsOf,
    digestBasis: builder.digestBasis,
    async prepare(job, origin) {
      await checkPrice(await builder.settingsOf(job), job, { facts, flags, state, context });
      return builder.check(job.names ? await jobs.links().linkJob(job, origin) : job, origin);
    },
    links: () => (links ??= openLinks({ ...jobs, requireUsable }, state)),
    refreshResults: () => (results ??= openParentResults(outdir.path, state, context)).refresh(),
    describeLost: (error) => resultDocument(emptyReport('batch run'), { error, durationMs: 0, redaction: context.ui }),
  };
  const known = { host, policy, jobs, state, shard };
  const plan = await planJobs({ ...known, facts, source, flags, context, onChecked: checking.addJob });
  const told = { flags, context, source, facts, startedAt };
  const planned = { ...known, ...told, outdir: outdir.path, lostEnds, plan };
  if (flags.estimate) return (await import('./estimate.ts')).showEstimate(planned, checking.progress);
  checking.progress.stop();
  if (ends) await noteGone(ends, state, context);
  if (!state.run) await noteIdColumn(source, context);
  if (flags.dryRun) return showPlan(planned);
  // A mistake in the jobs must not leave an empty folder.
  const batch = { ...planned, lock: early ?? (await enterNew(outdir.path, host, hooks.lock)) };
  await noteResume(batch);
  let stop: Stop | undefined;
  try {
    if (places && ((facts.hasVars && facts.hasBuilt) || plan.moves.length > 0)) await updateVars(batch, places);
    stop = await send(batch, hooks);
  } catch (error) {
    return failBatch(batch, error);
  }
  await results?.noteCut();
  await noteEmptyShard(batch);
  if (stop !== 'signal') await arrange(batch, places);
  return finishBatch(batch, stop);
}

/** `batch - --stream`: a worker, with or without a folder. */
async function runStreamCommand(
  words: readonly string[],
  flags: BatchFlags,
  context: AnswerContext,
): Promise<CommandOutcome> {
  const { finishStream, openStream, streamJobs } = await import('./stream.ts');
  const batch = await openStream(words, flags, context);
  const hasFolder = batch.results !== undefined;
  let stop: Stop | undefined;
  try {
    stop = await streamJobs(batch);
  } catch (error) {
    if (hasFolder) return failBatch(batch, error);
    throw error;
  }
  if (!hasFolder) return finishStream(batch, stop);
  if (stop !== 'signal') await arrange(batch);
  const outcome = await finishBatch(batch, stop);
  // A line that is no job is in no folder.
  return outcome.error === undefined ? { ...outcome, ...(await finishStream(batch, stop)) } : outcome;
}

/** A batch, and the command that runs it. */
export interface RunningBatch extends Batch {
  flags: BatchFlags;
  context: AnswerContext;
  source: JobSource;
  facts: BatchPlanFacts;
  /** Monotonic clock at the start, in ms. */
  startedAt: number;
}

/** Sends the jobs of a plan. Resolves with the reason why it ended early, if any. */
async function send(batch: RunningBatch, hooks: BatchHooks): Promise<Stop | undefined> {
  const { plan, flags, context } = batch;
  const clients = await openBatchClients(plan, flags, context);
  const isInBatches = [...plan.gateways.values()].some(({ settings }) => settings.lane.value === 'batch');
  if (isInBatches || plan.toSend > 0) requireDescriptors();
  if (isInBatches) saveMemory();
  const isLive = !isInBatches && plan.toSend > 0;
  const concurrency = isLive ? await limitConcurrency(flags, plan.toSend, context) : 1;
  context.gracePeriod.ms = (hooks.graceMs ?? defaultGraceMs) + 2000;
  return runBatch(batch, {
    clients,
    concurrency,
    openBudgets: async () => (await import('./budgets.ts')).openBatchBudgets(batch, flags.tag, context),
    hooks,
  });
}

/** The part of a batch that its end needs, whether its jobs were known before or not. */
type EndedBatch = Omit<RunningBatch, 'jobs' | 'source' | 'shard'>;

/** Leaves one line for each job in results.jsonl, if there can be more, or their order is not that of the jobs. */
async function arrange(
  { context, flags, lock, outdir, plan, state }: EndedBatch,
  places?: ResultPlaces,
): Promise<void> {
  if (!flags.ordered && plan.again === 0 && state.run === undefined) return;
  lock.confirm();
  const sorting = context.ui.progress('sorting the results');
  try {
    const now = await locateResults(outdir, state.index, { places });
    await arrangeResults(outdir, state.index, { places: now, ordered: flags.ordered });
    sorting.stop();
    await warnArranged({ missing: idsWithoutResult(state.index, now), unknownJobs: now.unknownJobs }, context);
  } finally {
    sorting.stop();
  }
}

/** Enters a new folder. Throws GatewayError batch-locked if another run has begun in it. */
async function enterNew(path: string, host: BatchHost, times: LockTimes | undefined): Promise<FolderLock> {
  const lock = await enterOutdir(path, host, times);
  if ((await readJournal(path)).run === undefined) return lock;
  throw new GatewayError('batch-locked', 'another run began in this folder meanwhile', {
    hint: 'run the same command again',
    sent: 'no',
    retryable: true,
  });
}

async function noteResume({ plan, facts, context, source, flags, state }: RunningBatch): Promise<void> {
  const before = sentBefore(plan) + plan.again;
  if (before > 0) {
    const next = describeNext(plan, isTokenLimitReached(state.usage, flags.maxTokensTotal));
    await context.ui.note(`${before} of ${formatCount(plan.jobs, 'job')} ${be(before, 'was')} sent before; ${next}`);
  }
  const edited = describeEdited(facts);
  if (edited !== undefined) await context.ui.note(edited);
  const stale = describeStale(plan);
  if (stale !== undefined) await context.ui.note(stale);
  for (const line of describeMoves(plan, source)) await context.ui.note(line);
  if (plan.removed.length > 0) await context.ui.warn(describeRemoved(plan, source));
}

/** Jobs that `--redo` does not name, and that use what it makes again. */
function describeStale({ leftStale: ids }: BatchPlan): string | undefined {
  if (ids.length === 0) return undefined;
  const more = ids.length > maxShown ? ` and ${ids.length - maxShown} more` : '';
  const [keep, they] = ids.length === 1 ? ['keeps', 'it'] : ['keep', 'they'];
  const named = `${ids.slice(0, maxShown).join(', ')}${more}`;
  const what = `${formatCount(ids.length, 'job')} ${keep} what ${they} made of an earlier result: ${named}`;
  return `${what}; to make those again too: --accept-changes`;
}

/** Jobs that have another place or another id in the file, and are the same. */
function describeMoves({ moves, moved }: BatchPlan, { name, nameJobs }: JobSource): string[] {
  const renamed = moves.filter(({ to }) => to !== undefined).length;
  const lines: string[] = [];
  if (moved > 0)
    lines.push(
      `${formatCount(moved, 'job')} moved in ${name}, known by what was sent: not paid for again; ${nameJobs}`,
    );
  if (renamed > 0)
    lines.push(`${formatCount(renamed, 'job')} of ${name} with another id than before: not paid for again`);
  return lines;
}

function describeRemoved({ removed }: BatchPlan, { name }: JobSource): string {
  const what = `${formatCount(removed.length, 'job')} of the journal ${be(removed.length, 'is')} no longer in ${name}`;
  return `${what}: reports leave ${removed.length === 1 ? 'it' : 'them'} out, but for --all`;
}

/** Ids decide what is sent again: a column counts only if it is named, and a folder keeps the ids that it began with. */
async function noteIdColumn({ name, unusedIdColumn: column, nameJobs }: JobSource, { ui }: Context): Promise<void> {
  if (column === undefined) return;
  await ui.note(`the jobs of ${name} are named by the numbers of their rows; ${nameJobs}`);
}

/** Jobs whose variables were edited, and whose requests are the same. */
async function updateVars(batch: RunningBatch, places: ResultPlaces): Promise<void> {
  const { ui } = batch.context;
  const progress = ui.progress('comparing the variables');
  const jobs = await refreshVars(batch, places).finally(() => progress.stop());
  if (jobs === 0) return;
  const what = `new variables of ${formatCount(jobs, 'job')} that ${be(jobs, 'was')} sent before`;
  await ui.note(`${what} are in ${batchFiles.results}: no text that is sent uses them`);
}

/** Jobs that are done, and whose images were removed since. */
async function noteGone(ends: LostEnds, { index }: Batch['state'], { ui }: Context): Promise<void> {
  const isLeft = (row: number): boolean => index.has(row, 'inFile') && !index.has(row, 'toSend');
  const step = missingImageStep(idsWithoutImage(ends, index).filter((id) => isLeft(index.find(id))));
  if (step !== undefined) await ui.warn(step);
}

/** The jobs that are sent again because they were edited, and the most that they can cost. */
function describeEdited({ edited: { ids, jobs, billed, most } }: BatchPlanFacts): string | undefined {
  if (jobs === 0) return undefined;
  const names = `${ids.join(', ')}${jobs > ids.length ? ` and ${jobs - ids.length} more` : ''}`;
  const cost = most === undefined || most.length === 0 ? '' : `, for at most ${describeCosts(most)}`;
  // Jobs that failed and were not billed are paid for once.
  const some = billed > 0 ? ` (${billed} of them ${be(billed, 'is')} paid for again)` : '';
  const next = billed === jobs ? 'paid for again' : `sent again${some}`;
  return `${formatCount(jobs, 'job')} ${be(jobs, 'was')} edited and ${be(jobs, 'is')} ${next}${cost}: ${names}`;
}

/** How many jobs are sent, and how many of them a second time: those may be paid for twice. */
function describeNext({ toSend, again }: BatchPlan, spent: boolean): string {
  const now = spent ? 0 : toSend;
  if (now === 0 || again === 0) return `${now} ${be(now, 'is')} sent now`;
  const first = toSend - again;
  return `${again} ${be(again, 'is')} sent again${first > 0 ? `, ${first} for the first time` : ''}`;
}

function be(count: number, one: 'is' | 'was'): string {
  if (count === 1) return one;
  return one === 'is' ? 'are' : 'were';
}

/** At most this many failures are listed one by one. */
const maxShown = 5;

/** The journal could not be written: the summary is tried, and the error is reported. */
async function failBatch(batch: EndedBatch, error: unknown): Promise<CommandOutcome> {
  const document = summarize(batch, countInFile(batch), error);
  await saveSummary(batch, document).catch(() => undefined);
  return { document, error };
}

/** Writes the summary, and prints where the results are. The error is what the whole means: code 13, or the signal. */
async function finishBatch(batch: EndedBatch, stop: Stop | undefined): Promise<CommandOutcome> {
  const { context, flags, state, plan, outdir } = batch;
  const counts = countInFile(batch);
  const error: unknown = stop === 'signal' ? context.signal.reason : await judgeCounts(counts, stop, batch);
  const document = summarize(batch, counts, error);
  await saveSummary(batch, document);
  await context.ui.note(describeCounts(counts, countKept(state)));
  const waiting = describeWaiting(batch);
  if (waiting !== undefined) await context.ui.note(waiting);
  const cost = describeSpending(state.spending, batch.facts.pricing.hasPrices);
  if (cost !== '') await context.ui.note(cost);
  await noteEarlier(batch);
  if (stop === 'signal') return { document, error };
  if (!context.root.json && !flags.stream)
    await context.io.stdout.write(`${shownPath(join(outdir, batchFiles.results), context.io.cwd)}\n`);
  const cut = incompleteStep(counts);
  if (cut) await context.ui.note(cut);
  const left = countLeft(plan, counts);
  if (left > 0)
    await context.ui.note(`--limit left ${formatCount(left, 'job')} unsent: the same command sends the next ones`);
  if (plan.leftAgain > 0) await context.ui.note(describeLeftAgain(plan, flags));
  const kept = describeKeptVersions(batch);
  if (kept !== undefined) await context.ui.note(kept);
  await noteFailures(batch, counts);
  return { document, error };
}

/** Edited jobs whose answers came from the service since: they are to the versions of before. */
function describeKeptVersions({ plan, state: { index } }: EndedBatch): string | undefined {
  const kept = [...plan.editedAtService].filter((row) => index.stateOf(row) === 'done').length;
  if (kept === 0) return undefined;
  const what = `${formatCount(kept, 'job')} that ${be(kept, 'was')} edited while the service had ${kept === 1 ? 'it' : 'them'}`;
  return `${what}: the answer is to the version of before; the same command again sends the new one`;
}

/** Jobs that `--limit` leaves for the next run, without those that wait for results that it will not have either. */
function countLeft({ left, toSend }: BatchPlan, { waiting = 0 }: Counts): number {
  return toSend === 0 ? left - waiting : left;
}

/** Jobs that were to be sent again, and that `--limit` left: their earlier answers are counted as done. */
function describeLeftAgain({ leftAgain }: BatchPlan, { redo }: EndedBatch['flags']): string {
  const next = redo ? 'name the next ones with --redo' : 'without it, the same command sends them';
  const their = leftAgain === 1 ? 'its earlier answer' : 'their earlier answers';
  return `--limit left ${formatCount(leftAgain, 'job')} with ${their}, to be sent again: ${next}`;
}

function countInFile({ state, plan }: EndedBatch): Counts {
  const counts = countJobs(state.index, { jobs: plan.jobs, inFile: true });
  const waiting = listWaitingAtEnd({ plan, state }).size;
  return waiting > 0 ? { ...counts, waiting } : counts;
}

async function saveSummary({ lock, outdir }: EndedBatch, summary: OwnDocument): Promise<void> {
  lock.confirm();
  await writeSummary(outdir, JSON.stringify(summary));
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
    durationMs: context.io.elapsed() - batch.startedAt,
    outdir: shownPath(outdir, context.io.cwd),
    failures: state.failures,
    exitCode: error?.exitCode ?? outcomes.ok.code,
    error: error && errorDocument(error, context.report, context.ui),
  });
}

/** With few jobs and many shards, some shards have none: that is not a mistake. */
async function noteEmptyShard({ plan, shard, source, context }: Omit<RunningBatch, 'lock'>): Promise<void> {
  if (plan.jobs > 0 || shard === undefined) return;
  await context.ui.note(`no job of ${source.name} falls into --shard ${shard.index}/${shard.total}`);
}

/** Where `--limit` had room and a run could send none, those that it left wait too: the next run could not send them either. */
function listWaitingAtEnd({ plan, state }: Pick<EndedBatch, 'plan' | 'state'>): Set<number> {
  const { index } = state;
  const isLeft = (row: number): boolean => plan.left > 0 && plan.toSend === 0 && index.stateOf(row) === 'new';
  return listWaiting({ plan, state }, (row) => index.has(row, 'toSend') || isLeft(row));
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
  const named = [...ids].slice(0, maxShown).map((id) => {
    const state = describeState(index.find(id));
    return `${id} (${state === 'new' ? 'not sent yet' : state})`;
  });
  const more = ids.size > maxShown ? ` and ${ids.size - maxShown} more` : '';
  return `${formatCount(waiting.size, 'job')} ${waiting.size === 1 ? 'waits' : 'wait'} for the result of ${named.join(', ')}${more}`;
}

/** Why the first few failed. */
async function noteFailures({ state, context, outdir }: EndedBatch, counts: Counts): Promise<void> {
  if (state.failures.size + counts.failed === 0) return;
  const results = shellWord(shownPath(join(outdir, batchFiles.results), context.io.cwd));
  for (const line of describeFailures(state.failures, { counts, most: maxShown, results })) await context.ui.note(line);
}

/** Jobs that were sent again and got no answer: what they had stays. */
async function noteEarlier({ state: { index, earlier }, context }: EndedBatch): Promise<void> {
  const ids = [...index.ids()].filter(
    (_, row) => earlier.has(row) && ['failed', 'unknown'].includes(index.stateOf(row)),
  );
  if (ids.length === 0) return;
  const more = ids.length > maxShown ? ` and ${ids.length - maxShown} more` : '';
  const what = `the earlier answer of ${ids.slice(0, maxShown).join(', ')}${more} stays the result, as no other came`;
  await context.ui.warn(`${what}: what came is in ${asideFile(batchFiles.results)}`);
}

/** What the counts mean for the exit code. Jobs that are still at the service are not a failure of a run that does not wait for them. */
async function judgeCounts(
  counts: Counts,
  stop: Stop | undefined,
  { flags, state, outdir, context, plan }: EndedBatch,
): Promise<GatewayError | undefined> {
  // What `--limit` leaves is no failure; nor is what waits: the jobs that it waits for are counted.
  const excused = countLeft(plan, counts) + (counts.waiting ?? 0);
  const pending = stop === undefined ? counts.pending - excused : counts.pending;
  const submitted = flags.wait === false ? 0 : counts.submitted;
  if (getExitCode({ ...counts, pending, submitted: submitted ?? 0 }) === outcomes.ok.code) return undefined;
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
  const next = nextStep(counts, limit);
  const summary = shellWord(shownPath(join(outdir, batchFiles.summary), context.io.cwd));
  const nextHint = counts.pending > 0 ? next : `details are in ${summary}; ${next}`;
  const hints = [await keptHint(counts, state.beganAt), nextHint, budget && seeSpent(budget)];
  const { done, failed, unknown } = counts;
  const isOpen = failed + unknown + (counts.submitted ?? 0) > 0;
  return new GatewayError('batch-failed', `${why ?? ''}${describeCounts(counts, countKept(state))}`, {
    hint: hints.filter((line) => line !== undefined).join('\n'),
    ...(done > 0 || isOpen ? { sent: 'yes' } : { sent: 'no', billed: 'no' }),
    ...(done > 0 && !isOpen && { billed: 'yes' }),
    retryable: failed + unknown === 0 && (limit === undefined || budget?.retryable === true),
  });
}

/** `--dry-run`: all jobs are checked, and nothing is sent or written. */
async function showPlan(batch: Omit<RunningBatch, 'lock'>): Promise<CommandOutcome> {
  const { plan, facts: told, context, source } = batch;
  const { jobs, total, toSend } = plan;
  const kinds = [...told.kinds.values()];
  const facts = {
    jobs,
    total,
    due: toSend,
    skipped: sentBefore(plan),
    left: plan.left,
    origin: plan.origin,
    kinds,
  };
  const document = { schema: 'gateway-cli/batch-plan@1', ...facts };
  await noteEmptyShard(batch);
  if (context.root.json) return { document };
  const left = plan.left > 0 ? [`${plan.left} left unsent by --limit`] : [];
  const counts = [
    `${formatCount(jobs, 'job')} checked`,
    `${toSend} to send`,
    ...left,
    `${sentBefore(plan)} sent before`,
  ].join(', ');
  const [edited, stale] = [describeEdited(told), describeStale(plan)];
  const product = Object.entries(batch.policy.vary ?? {}).map(([key, values]) => `${key} (${values.length})`);
  const made = product.length > 0 && `each row with ${product.join(' × ')}: ${formatCount(total, 'job')}`;
  const lines = [
    counts,
    ...(made ? [made] : []),
    ...kinds.map(describeKind),
    ...[edited, stale].filter((line) => line !== undefined),
  ];
  lines.push(...describeMoves(plan, source), ...(plan.removed.length > 0 ? [describeRemoved(plan, source)] : []));
  await context.io.stdout.write(lines.map((line) => `${line}\n`).join(''));
  return { document };
}

/** `text with m at OpenAI (https://api.openai.com): 12 jobs` */
function describeKind({ command, model, service, origin, jobs }: JobKind): string {
  const { title } = services[service];
  const where = service === 'gateway' || origin === 'offline' ? origin : `${title} (${origin})`;
  return `${command} with ${model} ${origin === 'offline' ? 'offline' : `at ${where}`}: ${formatCount(jobs, 'job')}`;
}

function shownPath(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short === '' ? '.' : short.startsWith('..') ? path : short;
}
