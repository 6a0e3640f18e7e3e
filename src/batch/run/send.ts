import { setFlagsFromString } from 'node:v8';
import { requireDescriptors } from '../../cli/run/command.ts';
import { limitToFiles } from '../../cli/run/send-all.ts';
import { createGate, type GateOptions, type SharedGate, sleepByTimer } from '../../transport/gate.ts';
import { openRecorder, type Recorder } from '../folder/recorder.ts';
import { runJobs, type Stop } from './runner.ts';
import { gatewayKey } from './plan.ts';
import { jobsToSend, openJobQueue, prepareAgain } from './queue.ts';
import { createJobSender, type SenderOptions } from './live.ts';
import { openBounds } from '../lane/parts.ts';
import type { Batch, BatchHooks, Job, ReadyJob, RunRecord } from '../types.ts';
import { addAmounts, createBudget, sumOfHeld } from '../../cost/cost.ts';
import type { Budget } from '../../cost/types.ts';
import { usageError } from '../../errors.ts';
import { bootMark } from '../../files/process-mark.ts';
import { version } from '../../version.ts';
import { trackProgress } from './progress.ts';
import type { BatchFlags } from '../../commands/batch/flags.ts';
import type { Context } from '../../cli/context.ts';
import { openClients } from '../../cli/run/client.ts';
import type { Client } from '../../client/index.ts';

/** How long jobs in flight can go on after a signal. */
export const defaultGraceMs = 10_000;
export const defaultConcurrency = 4;

/** Sends the jobs of the plan. Resolves with the reason why it ended early, if any. */
export async function sendJobs(batch: Batch, hooks: BatchHooks): Promise<Stop | undefined> {
  const { context, plan } = batch;
  const { step, graceMs = defaultGraceMs } = hooks;
  const connections = await openConnections(batch);
  const recorder = await openFolderRecorder(batch, step);
  context.gracePeriod.ms = graceMs + 2000;
  if ([...plan.gateways.values()].some(({ settings }) => settings.lane.value === 'batch')) {
    const { sendByBatches } = await import('../lane/lane.ts');
    return sendByBatches({ batch, connections, recorder, hooks });
  }
  if (plan.toSend === 0) return undefined;
  const workers = await openWorkers(batch, {
    jobs: plan.toSend,
    connectionTo: ({ settings }) => connections.get(gatewayKey(settings)) as Client,
  });
  const { concurrency: ahead } = workers;
  const prepare = (job: Job): Promise<ReadyJob> => prepareAgain(job, batch);
  const elapsed = (): number => context.io.elapsed();
  const queue = openJobQueue({ jobs: jobsToSend(batch), prepare, recorder, ahead, elapsed, step });
  const tally = trackProgress(batch, workers.gate);
  return runJobs({ ...workers, batch, queue, recorder, tally, step, graceMs }).finally(() => tally.stop());
}

/** What the workers of a run share: their sender, the rate, the gate and the budget. `jobs` is how many come, if that is known. */
export async function openWorkers(
  batch: SenderOptions['batch'] & Pick<Batch, 'state'>,
  { jobs, ...options }: Pick<SenderOptions, 'connectionTo'> & { jobs: number | undefined },
) {
  requireDescriptors();
  const { flags, context } = batch;
  const wanted = Math.min(flags.concurrency ?? defaultConcurrency, jobs ?? Number.POSITIVE_INFINITY);
  const concurrency = await limitToFiles(wanted, context);
  // The budget of retries is that of all jobs, or of those which may be in flight.
  const throttle = await openThrottle(flags, jobs ?? concurrency, context);
  const sender = createJobSender({ batch, ...options, ...throttle });
  return { ...throttle, sender, concurrency, budget: openBudget(batch) };
}

/** Throws GatewayError usage for a group without a rate. */
export function requireRate({ rate, rateGroup }: BatchFlags): void {
  if (rateGroup !== undefined && rate === undefined)
    throw usageError('--rate-group shares a rate, and none is given', 'add it: --rate 60/m');
}

/** Waits for the turn of one request; rejects with the signal's reason. */
export type Pacer = (signal: AbortSignal) => Promise<void>;

/** How the requests of a run are spaced, and what holds them back after a 429: alone, or with all processes of `--rate-group`. */
async function openThrottle(
  { rate, rateGroup }: BatchFlags,
  jobs: number,
  context: Context,
): Promise<{ gate: SharedGate; pace: Pacer }> {
  const clock = { elapsed: () => context.io.elapsed(), sleep: sleepByTimer };
  const gate = createGate({ ...clock, jobs });
  if (rateGroup === undefined || rate === undefined) return { gate, pace: createPacer(rate, clock) };
  const { joinGroup } = await import('./rate-group.ts');
  return joinGroup(gate, { rateGroup, spacingMs: rate, sleep: sleepByTimer }, context);
}

/** Spaces requests evenly: each call waits for its own turn. A time without requests is not made up for by a burst. */
export function createPacer(
  spacingMs: number | undefined,
  { elapsed, sleep }: Pick<GateOptions, 'elapsed' | 'sleep'>,
): Pacer {
  const atOnce = Promise.resolve();
  if (spacingMs === undefined) return () => atOnce;
  let nextAt = Number.NEGATIVE_INFINITY;
  return async (signal) => {
    const turn = Math.max(nextAt, elapsed());
    nextAt = turn + spacingMs;
    for (let ms = turn - elapsed(); ms > 0; ms = turn - elapsed()) await sleep(ms, signal);
  };
}

/** Records what this run does in the folder of the batch. */
export async function openFolderRecorder(
  batch: Pick<Batch, 'flags' | 'plan' | 'shard' | 'state' | 'context' | 'outdir' | 'lock' | 'lostEnds'>,
  step?: BatchHooks['step'],
): Promise<Recorder> {
  // Of a run in the lane `batch`, in whatever lane the folder goes on.
  if (batch.state.parts.size > 0) await (await import('../lane/budgets.ts')).freePlanned(batch.state, batch.context);
  const { context, outdir: folder, lock, lostEnds } = batch;
  const now = (): number => context.io.now();
  const recorder = await openRecorder({ folder, run: runRecord(batch), lock, lostEnds, now, step });
  context.atEnd(() => recorder.close());
  return recorder;
}

/** Connections by `gatewayKey`. */
export async function openConnections({
  plan,
  flags,
  context,
}: Pick<Batch, 'plan' | 'flags' | 'context'>): Promise<ReadonlyMap<string, Client>> {
  const opened = await openClients([...plan.gateways.values()], flags, context);
  context.atEnd(() => opened.close());
  return new Map([...plan.gateways.keys()].map((key, at) => [key, opened.clients[at] as Client]));
}

/** `--max-cost`, without what earlier runs have spent, and what batches of the service can cost. */
export function openBudget({ flags, state }: Pick<Batch, 'flags' | 'state'>): Budget | undefined {
  const { maxCost: most } = flags;
  if (most === undefined) return undefined;
  const { costs, held, dearest } = state.spending;
  const spent = addAmounts(costs[0]?.amount ?? '0', held, sumOfHeld(openBounds(state), dearest));
  return createBudget({ most, spent, dearest });
}

/** What the journal says about this run. */
function runRecord({ flags, plan, shard, context }: Pick<Batch, 'flags' | 'plan' | 'shard' | 'context'>): RunRecord {
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
    tags: flags.tag && Object.fromEntries(flags.tag),
    at: context.io.now(),
  };
}

/** For a run that lasts for hours or days, perhaps with others: its memory matters more than the last tenth of its speed. */
export function saveMemory(): void {
  for (const flag of ['--semi-space-growth-factor=1', '--optimize-for-size']) setFlagsFromString(flag);
}
