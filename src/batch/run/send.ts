import { createPacer } from './throttle.ts';
import { createGate, sleepByTimer } from '../../transport/gate.ts';
import { withLock, openRecorder } from '../folder/recorder.ts';
import { runJobs, type Stop } from './runner.ts';
import type { ReadyJob } from './job-queue.ts';
import { createYield, sendJob, type Performing } from './send-job.ts';
import { beginTurn, endTurn, trackActiveCalls, type Turn } from './turn.ts';
import { countOf } from '../report/summary.ts';
import type { Job, RunRecord } from '../types.ts';
import { totalTokens } from './usage.ts';
import { priceOf } from '../../cost/price.ts';
import type { Bound, Spending } from '../../cost/types.ts';
import { createDeadlines } from '../../client/deadline.ts';
import { bootMark } from '../../files/process-mark.ts';
import { version } from '../../version.ts';
import { trackProgress } from './progress.ts';
import type { CheckedJob } from '../jobs/request.ts';
import type { Batch, BatchHooks } from './types.ts';
import type { Context } from '../../cli/context.ts';
import { openConnectionsTo, type Connection } from '../../cli/run/connection.ts';
import { readdir, readFile } from 'node:fs/promises';
import { GatewayError } from '../../errors.ts';

/** Jobs under way go on for so long after a signal. */
const defaultGraceMs = 10_000;
const defaultConcurrency = 4;

/** Sends the jobs that are due. Resolves with the reason why it ended early, if any. */
export async function sendJobs(
  batch: Batch,
  { step, graceMs = defaultGraceMs }: BatchHooks,
): Promise<Stop | undefined> {
  const { flags, context, outdir, lock, state, lostEnds, plan } = batch;
  const { io } = context;
  const gateways = [...plan.gateways.values()];
  const opened = await openConnectionsTo(gateways, flags, context);
  context.atEnd(() => opened.close());
  const connections = new Map([...plan.gateways.keys()].map((key, at) => [key, opened.connections[at] as Connection]));
  await lock.confirm();
  const recorder = await openRecorder({
    folder: outdir,
    run: runRecord(batch),
    lostEnds,
    now: () => io.now(),
    step,
  });
  context.atEnd(() => recorder.close());
  if (plan.due === 0) return undefined;
  context.gracePeriod.ms = graceMs + 2000;
  const concurrency = await limitToFiles(Math.min(flags.concurrency ?? defaultConcurrency, plan.due), context);
  const gate = createGate({ elapsed: () => io.elapsed(), sleep: sleepByTimer, jobs: plan.due });
  const costs = await openCosts(batch);
  const progress = trackProgress(batch, gate, costs);
  const pace = createPacer(flags.rate, { elapsed: () => io.elapsed(), sleep: sleepByTimer });
  const performing = {
    batch,
    connections,
    gate,
    pace,
    createMeter: costs?.createMeter,
    startDeadline: createDeadlines(),
    flight: trackActiveCalls(context.signal),
    turn: createYield(() => io.elapsed()),
  };
  context.signal.addEventListener('abort', () => void tellDraining(performing, graceMs), { once: true });
  return runJobs({
    jobs: dueJobs(batch),
    prepare: (job) => prepareJob(job, batch, { performing, costs }),
    recorder: withLock(recorder, lock),
    elapsed: () => io.elapsed(),
    concurrency,
    gate,
    pace,
    signal: context.signal,
    graceMs,
    maxFailures: flags.failFast ? 1 : (flags.maxFailures ?? Number.POSITIVE_INFINITY),
    maxTokens: flags.maxTokensTotal ?? Number.POSITIVE_INFINITY,
    usedTokens: totalTokens(state.usage),
    budget: costs?.budget,
    onEnded: (job, performed, bound) => progress.count(job, performed, bound),
    onLost: (job, error) => progress.lose(job, error),
    step,
  }).finally(() => progress.stop());
}

type Costs = Awaited<ReturnType<typeof openCosts>>;

/** What a batch counts costs with: decimal arithmetic is loaded where some job has a price. */
async function openCosts({ plan, flags: { maxCost: most }, state }: Batch) {
  if (!plan.hasPrices) return undefined;
  const { addAmounts, addSpending, addUnknown, boundOf, createBudget, createMeter, heldFor } =
    await import('../../cost/cost.ts');
  const { costs, held, dearest } = state.spending;
  const spent = addAmounts(costs[0]?.amount ?? '0', held);
  const budget = most === undefined ? undefined : createBudget({ most, spent, dearest });
  return {
    createMeter,
    addSpending,
    addUnknown: (spending: Spending, bound: Bound | undefined) =>
      addUnknown(spending, heldFor(bound, spending.dearest)),
    /** What a job can cost: a later run may have a limit. */
    boundOf({ built, settings: { prices } }: CheckedJob): Bound | undefined {
      const price = priceOf(prices, built.model);
      return price && boundOf(built.post.body, price, built.format.limits(built.post.body));
    },
    budget,
  };
}

async function prepareJob(
  job: Job,
  batch: Batch,
  { performing, costs }: { performing: Performing; costs: Costs },
): Promise<ReadyJob> {
  const checked = await prepareDue(job, batch);
  let turn: Turn | undefined;
  const begin = async (signal: AbortSignal): Promise<Turn> => {
    performing.flight.landBy(signal);
    return (turn ??= await beginTurn(checked, performing));
  };
  return {
    request: checked.request,
    bound: costs?.boundOf(checked),
    ...(checked.fetchInputs && { complete: async (signal) => void (await begin(signal)) }),
    perform: async (signal) => sendJob({ job, prepared: checked, turn: await begin(signal) }, performing),
    async drop() {
      if (turn !== undefined) endTurn(turn, performing);
      await checked.own.end();
    },
  };
}

/** A job that finds no descriptor left may be paid for and lost: there are fewer at once instead. */
async function limitToFiles(wanted: number, { ui }: Context): Promise<number> {
  const files = await countOpenFiles();
  if (files === undefined || jobsWithin(files) >= wanted) return wanted;
  const jobs = jobsWithin(files);
  const limit = `the limit of ${files.most} open files leaves room for ${countOf(jobs, 'job')} at once, not ${wanted}`;
  await ui.warn(`${limit}; to raise it: ulimit -n ${filesFor(wanted, files)}`);
  return jobs;
}

/** Whoever pressed Ctrl-C sees why the program is still there, and how to end it at once. */
async function tellDraining({ flight, batch: { context } }: Performing, graceMs: number): Promise<void> {
  if (flight.flying === 0) return;
  const what = countOf(flight.flying, 'request');
  await context.ui.note(`waiting for ${what}, ${graceMs / 1000} s at most; Ctrl-C again stops`);
}

/** What the journal says of this run. */
function runRecord({ flags, plan, shard, context }: Batch): RunRecord {
  return {
    type: 'run',
    schema: 'gateway-cli/journal@1',
    tool: `gateway-cli ${version}`,
    origin: plan.origin,
    shard,
    jobs: plan.jobs,
    total: plan.total,
    list: plan.list,
    boot: bootMark(),
    maxTokens: flags.maxTokensTotal,
    maxCost: flags.maxCost,
    at: context.io.now(),
  };
}

/** Descriptors that a process may have, and those that it has. */
export interface OpenFiles {
  most: number;
  now: number;
}

/** A job has a connection, a file that it sends and two pictures that are being written, at most times. */
const each = 4;
/** For journal, results, lock, look-ups of names, and what Node opens itself. */
const spare = 32;

/** So many jobs may be under way at once; one in any case. */
export function jobsWithin({ most, now }: OpenFiles): number {
  return Math.max(1, Math.floor((most - now - spare) / each));
}

/** Under this limit so many jobs may be under way. */
export function filesFor(jobs: number, { now }: OpenFiles): number {
  return now + spare + jobs * each;
}

/** Linux alone tells. Undefined where nobody does, or where there is no limit. */
export async function countOpenFiles(): Promise<OpenFiles | undefined> {
  try {
    const [limits, open] = await Promise.all([readFile('/proc/self/limits', 'utf8'), readdir('/proc/self/fd')]);
    const most = Number(/^Max open files +(\d+)/m.exec(limits)?.[1]);
    return Number.isNaN(most) ? undefined : { most, now: open.length };
  } catch {
    return undefined;
  }
}

/** The jobs that this run sends, each once, in the order of their file. Throws GatewayError batch-locked where that changed since it was checked. */
async function* dueJobs({ source, state: { index }, plan }: Batch): AsyncGenerator<Job, void> {
  let left = plan.due - plan.ready.size;
  for (const { job } of plan.ready.values()) {
    index.mark(index.find(job.id), 'toSend', false);
    yield job;
  }
  if (left === 0) return;
  const refuse = (cause: unknown): never => {
    throw changed(source.name, cause);
  };
  for await (const job of source.jobs(refuse)) {
    const row = index.find(job.id);
    // What was added meanwhile is sent by the next run.
    if (row < 0) continue;
    if (index.has(row, 'reread')) throw changed(`${source.name}:${job.line}`);
    index.mark(row, 'reread');
    if (!index.has(row, 'toSend')) continue;
    left--;
    index.mark(row, 'toSend', false);
    yield job;
  }
  if (left > 0) throw changed(source.name);
}

/** The request as it was checked, or built again from the file; what was checked is what is sent. Throws GatewayError batch-locked. */
async function prepareDue(job: Job, { plan, builder, state, source }: Batch): Promise<CheckedJob> {
  const ready = plan.ready.get(job.id);
  // Nothing else may hold it, for it grows with its answer.
  plan.ready.delete(job.id);
  if (ready) return ready.checked;
  const place = `${source.name}:${job.line}: the job or its files`;
  try {
    const checked = await builder.check(job, plan.origin);
    if (state.index.requestOf(state.index.find(job.id)) === checked.request) return checked;
    await checked.own.end();
  } catch (error) {
    // It was whole when it was checked.
    throw error instanceof GatewayError && error.class === 'usage' ? changed(place, error) : error;
  }
  throw changed(place);
}

function changed(what: string, cause?: unknown): GatewayError {
  return new GatewayError('batch-locked', `${what} changed during the run`, {
    hint: 'run the same command again',
    sent: 'no',
    cause,
  });
}
