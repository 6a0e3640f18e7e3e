import { limitToFiles } from '../../cli/run/send-all.ts';
import { openThrottle } from './throttle.ts';
import { sleepByTimer } from '../../transport/gate.ts';
import { openRecorder, type Recorder } from '../folder/recorder.ts';
import { runJobs, type Stop } from './runner.ts';
import { gatewayKey } from './plan.ts';
import { checkAgain, jobsToSend, openJobQueue } from './queue.ts';
import { createJobSender, type JobSender, type SenderOptions } from './sender.ts';
import { countOf } from '../report/summary.ts';
import { openBounds } from '../lane/parts.ts';
import type { RunRecord } from '../types.ts';
import { totalTokens } from '../folder/state.ts';
import { addAmounts, createBudget, sumOfHeld } from '../../cost/cost.ts';
import type { Budget } from '../../cost/types.ts';
import { bootMark } from '../../files/process-mark.ts';
import { version } from '../../version.ts';
import { trackProgress } from './progress.ts';
import type { Batch, BatchHooks } from './types.ts';
import type { Context } from '../../cli/context.ts';
import { openConnectionsTo, type Connection } from '../../cli/run/connection.ts';

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
  const workers = await openWorkers(batch, hooks, {
    jobs: plan.toSend,
    check: (job) => checkAgain(job, batch),
    connectionTo: ({ settings }) => connections.get(gatewayKey(settings)) as Connection,
  });
  const { sender, concurrency, elapsed } = workers;
  const progress = trackProgress(batch, workers.gate);
  return runJobs({
    ...workers,
    queue: openJobQueue({ jobs: jobsToSend(batch), sender, recorder, ahead: concurrency, elapsed, step }),
    recorder,
    onEnded: (attempt, outcome) => progress.count(attempt, outcome),
    onLost: ({ job }, error) => progress.lose(job, error),
  }).finally(() => progress.stop());
}

/** What the workers of a run share: their sender, the rate, the gate and the limits. `jobs` is how many come, where that is known. */
export async function openWorkers(
  batch: SenderOptions['batch'] & Pick<Batch, 'state'>,
  { step, graceMs = defaultGraceMs }: BatchHooks,
  { jobs, ...options }: Pick<SenderOptions, 'check' | 'connectionTo' | 'isFolderless'> & { jobs: number | undefined },
) {
  const { flags, context, state } = batch;
  const { signal, io } = context;
  const wanted = Math.min(flags.concurrency ?? defaultConcurrency, jobs ?? Number.POSITIVE_INFINITY);
  const concurrency = await limitToFiles(wanted, context);
  const elapsed = (): number => io.elapsed();
  // The budget of retries is that of all jobs, or of those which may be in flight.
  const throttle = await openThrottle(flags, { elapsed, sleep: sleepByTimer, jobs: jobs ?? concurrency }, context);
  const inFlight = new AbortController();
  const sender = createJobSender({ batch, ...options, ...throttle, abortOn: inFlight.signal });
  signal.addEventListener('abort', () => void noteWaiting(sender, context, graceMs), { once: true });
  return {
    ...throttle,
    sender,
    elapsed,
    concurrency,
    inFlight,
    graceMs,
    step,
    signal,
    maxFailures: flags.failFast ? 1 : (flags.maxFailures ?? Number.POSITIVE_INFINITY),
    maxTokens: flags.maxTokensTotal ?? Number.POSITIVE_INFINITY,
    usedTokens: totalTokens(state.usage),
    budget: openBudget(batch),
  };
}

/** Records what this run does in the folder of the batch. */
export async function openFolderRecorder(
  batch: Pick<Batch, 'flags' | 'plan' | 'shard' | 'context' | 'outdir' | 'lock' | 'lostEnds'>,
  step: BatchHooks['step'],
): Promise<Recorder> {
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
}: Pick<Batch, 'plan' | 'flags' | 'context'>): Promise<ReadonlyMap<string, Connection>> {
  const opened = await openConnectionsTo([...plan.gateways.values()], flags, context);
  context.atEnd(() => opened.close());
  return new Map([...plan.gateways.keys()].map((key, at) => [key, opened.connections[at] as Connection]));
}

/** `--max-cost`, without what earlier runs have spent, and what batches of the service can cost. */
export function openBudget({ flags, state }: Pick<Batch, 'flags' | 'state'>): Budget | undefined {
  const { maxCost: most } = flags;
  if (most === undefined) return undefined;
  const { costs, held, dearest } = state.spending;
  const spent = addAmounts(costs[0]?.amount ?? '0', held, sumOfHeld(openBounds(state), dearest));
  return createBudget({ most, spent, dearest });
}

/** After Ctrl-C: why the program is still running, and how to stop it at once. */
async function noteWaiting({ inFlight }: JobSender, { ui }: Context, graceMs: number): Promise<void> {
  if (inFlight === 0) return;
  await ui.note(`waiting for ${countOf(inFlight, 'request')}, ${graceMs / 1000} s at most; Ctrl-C again stops`);
}

/** What the journal says of this run. */
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
