import {
  type BatchApi,
  type BatchFormat,
  type BatchInfo,
  type BatchPage,
  type Deadline,
  findServiceByUrl,
  type GatewayClient,
  GatewayError,
  loadBatchFormat,
  openBatchApi,
  startDeadline,
  withoutCost,
} from '../../library/index.ts';
import { getRequestOrigin } from '../gateway.ts';
import type { BatchStep } from '../folder/records.ts';
import type { Batch, BatchHooks, JobOutcome, JournalEntry } from '../types.ts';
import type { Recorder } from '../folder/recorder.ts';
import { type BatchBudget, endProviderBatch } from './budgets.ts';
import { formatCount } from '../counts.ts';
import { ignoreUnlisted } from './failures.ts';
import { finalSteps, listWaiting, type ProviderBatch, type ProviderBatchPlan } from './provider-batches.ts';

/** The parts that the provider batches of one run in the lane `batch` have in common. */
export interface LaneRun {
  batch: Batch;
  /** The clients of the gateways, by `gatewayKey`. */
  clients: ReadonlyMap<string, GatewayClient>;
  recorder: Recorder;
  hooks: BatchHooks;
  /** The budgets that pay for provider batches, by `gatewayKey`. */
  budgets: ReadonlyMap<string, BatchBudget>;
  /**
   * Slots of jobs that the service refused, and that go to it once more in the form that it asks for. `due`: the places of those
   * that wait for the next provider batch.
   */
  sentAgain: { slots: Set<number>; due: number[] };
  /** The places of rows in the file, by their slots. */
  places: ReadonlyMap<number, number>;
  /** Records the end of a job, and counts it. */
  recordOutcome(entry: JournalEntry, outcome: JobOutcome): Promise<void>;
}

type ServicePlace = Pick<ProviderBatchPlan, 'profile' | 'origin' | 'format' | 'use'>;

/** The batch API that receives the jobs of a provider batch. Throws GatewayError batch-locked if the command leads elsewhere. */
export async function openPlaceApi(
  plan: ServicePlace,
  { batch, clients }: Pick<LaneRun, 'batch' | 'clients'>,
): Promise<{ api: BatchApi; format: BatchFormat }> {
  const format = await loadBatchFormat(plan.format);
  const client = clients.get(plan.profile);
  const gateway = batch.plan.gateways.get(plan.profile);
  if (gateway) requireOrigin(getRequestOrigin(gateway.settings), plan.origin);
  if (client === undefined) {
    const named = plan.profile === '' ? 'without a profile' : `with the profile ${plan.profile}`;
    throw new GatewayError('batch-locked', `jobs were submitted ${named}`, {
      hint: 'run the command with which they were submitted',
      sent: 'no',
    });
  }
  return { format, api: openBatchApi(format, (apiRequest, options) => client.send(apiRequest, options), plan.use) };
}

/** Throws GatewayError batch-locked if the settings lead to another service than that of a provider batch. */
export function requireOrigin(found: string | undefined, origin: string): void {
  if (found === origin) return;
  throw new GatewayError('batch-locked', `the jobs went to ${origin}, not to ${found ?? 'any service that is set'}`, {
    hint: `give the connection flags with which they were submitted, such as ${chooseFlag(origin)}`,
    sent: 'no',
  });
}

function chooseFlag(origin: string): string {
  if (origin === 'offline') return '--offline';
  const service = findServiceByUrl(origin);
  return service === undefined ? `--base-url ${origin}` : `--service ${service}`;
}

/**
 * Returns GatewayError batch-locked for a provider batch of another API key that the service does not show to this one, unless the
 * user gives it up.
 */
export async function findKeyError(
  { mark, plan, slots }: ProviderBatch,
  { batch, clients }: LaneRun,
): Promise<GatewayError | undefined> {
  const { profile, key } = plan;
  const isOfOtherKey = key !== undefined && key !== (await clients.get(profile)?.keyDigest?.(mark));
  if (batch.policy.retry?.includes('unknown') || !isOfOtherKey) return undefined;
  const jobs = formatCount(slots.length, 'job');
  return new GatewayError('batch-locked', `${jobs} went with another key: this one does not find their batch`, {
    hint: `give the key with which they were submitted, or give their batch up, which may bill them twice: ${batch.host.nextCommand('retry', { operand: 'unknown' })}`,
    sent: 'no',
  });
}

type OpenService = Awaited<ReturnType<typeof openPlaceApi>>;

/**
 * Calls the batch API of the service of a provider batch. Throws the error of the service or of the signal, and batch-locked in the
 * same way as `openPlaceApi`.
 */
export async function callService<Value>(
  plan: ServicePlace,
  run: Pick<LaneRun, 'batch' | 'clients'>,
  call: (service: OpenService, deadline: Deadline) => Promise<Value>,
): Promise<Value> {
  const service = await openPlaceApi(plan, run);
  const deadline = longDeadline(plan, run, run.batch.host.signal);
  return call(service, deadline)
    .catch((error: unknown) => {
      throw withoutCost(error, goOnHint(run.batch.host.nextCommand('again')));
    })
    .finally(() => deadline.end());
}

/** The hint if a service did not answer, or did not create a batch. */
export function goOnHint(command: string): string {
  return `to go on, without a second batch: ${command}`;
}

/** Reads a page of the batches of a service, from the newest on; undefined if it has no such list. */
export function readBatchPage(plan: ServicePlace, run: LaneRun, page?: string): Promise<BatchPage | undefined> {
  return callService(plan, run, ({ api }, deadline) => api.page(deadline, page)).catch(ignoreUnlisted);
}

/** The deadline of an upload, a download or a list with results, which can take long; a limit that the user gave counts. */
export function longDeadline(
  { profile }: Pick<ProviderBatchPlan, 'profile'>,
  { batch }: Pick<LaneRun, 'batch'>,
  signal?: AbortSignal,
): Deadline {
  const { timeoutMs, origins } = batch.plan.gateways.get(profile)?.settings ?? {};
  const isGiven = origins?.timeoutMs !== undefined && origins.timeoutMs.kind !== 'default';
  return startDeadline(isGiven && timeoutMs !== undefined ? timeoutMs : 3_600_000, signal);
}

/** Writes the next step of a provider batch into the journal, and applies it. Resolves when it is synced. */
export async function recordStep(
  { mark }: Pick<ProviderBatch, 'mark'>,
  facts: Omit<BatchStep, 't' | 'mark' | 'at'>,
  run: LaneRun,
): Promise<void> {
  const { step } = facts;
  const ended = finalSteps.has(step) ? run.batch.state.providerBatches.get(mark) : undefined;
  // The ledger is written first: it takes an end once, and the next run writes it again if this run is killed.
  if (ended) await endProviderBatch(ended, step !== 'dropped', run.batch.host);
  await run.recorder.step({ t: 'batch', mark, ...facts, at: run.batch.host.now() });
}

/** Records the id and the time limit that the service gave a provider batch. */
export async function recordCreated(
  { id, createdAt, expiresAt }: BatchInfo,
  providerBatch: ProviderBatch,
  run: LaneRun,
): Promise<void> {
  const lastsMs = createdAt === undefined || expiresAt === undefined ? undefined : expiresAt - createdAt;
  await recordStep(providerBatch, { step: 'created', batch: id, lastsMs }, run);
  run.hooks.step?.('part-created', providerBatch.mark);
}

/** The number of ends that are written at the same time, and so share syncs. */
export const maxPending = 256;

/** Ends the jobs of a provider batch that wait for a result which cannot come, with the reason. They may have been billed. */
export async function loseJobs(
  providerBatch: ProviderBatch,
  reason: string,
  { batch, recordOutcome }: LaneRun,
): Promise<void> {
  const { host, jobs, state } = batch;
  const error = new GatewayError('no-reply', reason, { sent: 'yes' });
  const shown = { class: error.class, message: host.redaction.redact(error.message), billed: error.billed };
  const waiting = listWaiting(providerBatch, state);
  while (waiting.length > 0) {
    const ends = waiting.splice(0, maxPending).map((slot) => {
      const job = { id: state.ids.get(slot) ?? state.slots.nameOf(slot) };
      const outcome: JobOutcome = { state: 'unknown', document: jobs.describeLost(error), error: shown };
      return recordOutcome({ job, slot, bound: state.bounds.get(slot) }, outcome);
    });
    await Promise.all(ends);
  }
}

/** Gives up a provider batch whose jobs cannot be found at the service. The jobs may have been billed. */
export async function giveUpProviderBatch(providerBatch: ProviderBatch, reason: string, run: LaneRun): Promise<void> {
  await loseJobs(providerBatch, reason, run);
  await recordStep(providerBatch, { step: 'lost' }, run);
}
