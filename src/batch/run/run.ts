import { noRecorder, openRecorder, type Recorder } from '../folder/recorder.ts';
import { type BatchBudget, freePlanned } from '../lane/budgets.ts';
import { sendByBatches } from '../lane/lane.ts';
import type { RunStart, SlotRecord } from '../folder/records.ts';
import type { Batch, BatchHooks } from '../types.ts';
import { bootMark, type GatewayClient, version } from '../../library/index.ts';
import { gatewayKey } from '../gateway.ts';
import { createJobSender, type SenderOptions } from './live.ts';
import { isLeftToRedo } from './decide.ts';
import { hasDue } from './links.ts';
import { describeNamed } from './table.ts';
import { openThrottle } from './pace.ts';
import type { BatchPlan } from './plan.ts';
import { type JobFeed, openJobQueue, readyJobs } from './queue.ts';
import { openRunLimit } from './run-budget.ts';
import { type ResultPrinter, runJobs, type Stop } from './runner.ts';
import { countOutcomes } from './tally.ts';

/** The time that jobs in flight have after a signal, in ms. */
export const defaultGraceMs = 10_000;

export interface RunOptions {
  /** The clients of the gateways, by `gatewayKey`. */
  clients: ReadonlyMap<string, GatewayClient>;
  /** The number of requests in flight at the same time. */
  concurrency: number;
  /** The budgets that pay for provider batches, by `gatewayKey`. */
  budgets: ReadonlyMap<string, BatchBudget>;
  hooks?: BatchHooks;
}

/** Sends the jobs of the plan, and records the outcome of each. Resolves with the reason why it ended early, if any. */
export async function runBatch(batch: Batch, options: RunOptions): Promise<Stop | undefined> {
  const { plan } = batch;
  const { clients, budgets, hooks = {} } = options;
  const recorder = await openFolderRecorder(batch, plan.records, hooks);
  const stop = isInBatches(plan)
    ? await sendByBatches({ batch, clients, recorder, hooks, budgets })
    : await sendLive(batch, recorder, options);
  await endRun(batch, recorder);
  return stop;
}

/** Whether the rows of a plan go in the lane `batch`: all of them do, or none. */
export function isInBatches({ gateways }: Pick<BatchPlan, 'gateways'>): boolean {
  return [...gateways.values()].some(({ settings }) => settings.lane === 'batch');
}

/** Sends the rows that are due, and then the rows that use their answers. */
async function sendLive(
  batch: Batch,
  recorder: Recorder,
  { clients, concurrency, hooks = {} }: RunOptions,
): Promise<Stop | undefined> {
  const { host, plan } = batch;
  if (plan.toSend === 0) return undefined;
  const { step, graceMs = defaultGraceMs } = hooks;
  const findClient: SenderOptions['clientOf'] = ({ settings }) => clients.get(gatewayKey(settings)) as GatewayClient;
  const workers = await openWorkers(batch, { jobs: plan.toSend, concurrency, clientOf: findClient });
  const tally = countOutcomes(batch);
  const { state } = batch;
  const progress = () => {
    const { usage, spending } = state;
    return { ...tally.counts, pausedMs: workers.gate.waitMs, usage, spending };
  };
  await host.on({ type: 'sending', jobs: plan.toSend, progress });
  try {
    for (;;) {
      const source: JobFeed = () => readyJobs(batch, { step });
      const queue = openJobQueue({ source, recorder, ahead: concurrency });
      const stop = await runJobs({ ...workers, batch, queue, recorder, tally, step, graceMs });
      // Rows that use the answers of these are sent next.
      if (stop !== undefined || !hasDue(batch)) return stop;
    }
  } finally {
    await host.on({ type: 'sent-all' });
  }
}

interface RunStreamOptions extends Pick<SenderOptions, 'clientOf'> {
  /** The source of the jobs, which come one by one. */
  source: JobFeed;
  /** Prints the outcome of each job. */
  print: ResultPrinter;
  concurrency: number;
  /** The batch has a folder, whose journal is written. */
  hasFolder: boolean;
}

/** Sends jobs that come one by one. Resolves when all of them have ended, with the reason if it ended early. */
export async function runStream(
  batch: RecordedBatch,
  { source, print, concurrency, hasFolder, clientOf }: RunStreamOptions,
): Promise<Stop | undefined> {
  const recorder = hasFolder ? await openFolderRecorder(batch, []) : noRecorder(batch.state);
  const workers = await openWorkers(batch, { jobs: undefined, concurrency, clientOf });
  const tally = countOutcomes(batch);
  const queue = openJobQueue({ source, recorder, ahead: 0 });
  return runJobs({ ...workers, batch, queue, print, recorder, tally, graceMs: defaultGraceMs });
}

/** Opens the parts that the workers of a run share: their sender, the rate, the gate and the budget. `jobs`: how many come, if that is known. */
async function openWorkers(
  batch: SenderOptions['batch'] & Pick<Batch, 'state'>,
  options: Pick<SenderOptions, 'clientOf'> & { jobs: number | undefined; concurrency: number },
) {
  const { jobs, concurrency, clientOf } = options;
  // The budget of retries is for all jobs, or for those that may be in flight.
  const throttle = await openThrottle(batch.policy, jobs ?? concurrency, batch.host);
  const sender = createJobSender({ batch, clientOf, ...throttle });
  return { ...throttle, sender, concurrency, limit: openRunLimit(batch) };
}

/** The parts of a batch that its recorder and its workers need, whether its rows are known before or not. */
type RecordedBatch = Omit<Batch, 'jobs' | 'plan' | 'shard'>;

/** Opens the recorder of this run in the folder of the batch. */
async function openFolderRecorder(
  batch: RecordedBatch,
  planned: readonly SlotRecord[],
  hooks?: BatchHooks,
): Promise<Recorder> {
  const { host, state, outdir: folder, lock, lostEnds } = batch;
  // An earlier run in the lane `batch` can have left planned provider batches, whatever the lane of this run.
  if (state.providerBatches.size > 0) await freePlanned(state, host);
  const recorder = await openRecorder({
    folder,
    run: startRun(batch),
    lock,
    state,
    lostEnds,
    planned,
    now: () => host.now(),
    hooks,
  });
  host.atEnd(() => recorder.close());
  return recorder;
}

/** Records that nothing of `--redo` is left to make, if that is so. */
async function endRun({ plan, state }: Batch, recorder: Recorder): Promise<void> {
  if (state.redo === undefined) return;
  const named = new Set(state.redo);
  const { table } = plan;
  for (let place = 0; place < table.size; place++) {
    const isNamed = plan.isOwn(place) && named.has(describeNamed(table, place, state.slots));
    if (isNamed && isLeftToRedo(table.slots[place] as number, state)) return;
  }
  await recorder.redone();
}

/** The first record of this run. */
function startRun({ policy, host }: Pick<Batch, 'policy' | 'host'>): RunStart {
  return {
    t: 'run',
    schema: 'gateway-cli/batch@2',
    tool: `gateway-cli ${version}`,
    boot: bootMark(),
    maxCost: policy.maxCost,
    tags: policy.tags,
    at: host.now(),
  };
}
