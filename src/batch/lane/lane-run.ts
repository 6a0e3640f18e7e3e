import { type BatchApi, type Client, type Deadline, openBatchApi, startDeadline } from '../../client/index.ts';
import { GatewayError, withoutCost } from '../../errors.ts';
import { type BatchFormat, type BatchInfo, type BatchPage, loadBatchFormat } from '../../formats/batch-format.ts';
import { originOf } from '../gateway.ts';
import type { Batch, BatchHooks, JobOutcome, JobRecord, JournalEntry, Step } from '../types.ts';
import type { Recorder } from '../folder/recorder.ts';
import type { BatchBudgets } from './budgets.ts';
import { countOf } from '../counts.ts';
import {
  addToPart,
  applyPart,
  budgetedMark,
  finalSteps,
  type Part,
  type PartPlan,
  type PartRecord,
  waitingBounds,
} from './parts.ts';

/** What the parts of one run in the lane `batch` have in common. */
export interface LaneRun {
  batch: Batch;
  /** By `gatewayKey`. */
  clients: ReadonlyMap<string, Client>;
  recorder: Recorder;
  hooks: BatchHooks;
  step: Step | undefined;
  now: () => number;
  /** The budgets that pay for parts; absent if no part has one. */
  budgets: BatchBudgets | undefined;
  /** Records the end of a job, and counts it. */
  recordOutcome(entry: JournalEntry, outcome: JobOutcome): Promise<void>;
}

type Place = Pick<PartPlan, 'profile' | 'origin' | 'format' | 'use'>;

/** The batch API that the jobs of a part go to. Throws GatewayError batch-locked if the command leads elsewhere. */
export async function apiOf(
  plan: Place,
  { batch, clients }: Pick<LaneRun, 'batch' | 'clients'>,
): Promise<{ api: BatchApi; format: BatchFormat }> {
  const format = await loadBatchFormat(plan.format);
  const connection = clients.get(plan.profile);
  const gateway = batch.plan.gateways.get(plan.profile);
  if (gateway) requireOrigin(originOf(gateway.settings), plan.origin);
  if (connection === undefined) {
    const named = plan.profile === '' ? 'without a profile' : `with the profile ${plan.profile}`;
    throw new GatewayError('batch-locked', `jobs were submitted ${named}`, {
      hint: 'run the command with which they were submitted',
      sent: 'no',
    });
  }
  return { format, api: openBatchApi(format, (post, options) => connection.send(post, options), plan.use) };
}

/** Throws GatewayError batch-locked if the settings lead to another service than that of a part. */
export function requireOrigin(now: string | undefined, origin: string): void {
  if (now === origin) return;
  throw new GatewayError('batch-locked', `the jobs went to ${origin}, not to ${now ?? 'any service that is set'}`, {
    hint: 'give the connection flags with which they were submitted',
    sent: 'no',
  });
}

/** Throws GatewayError batch-locked for a part of another key that this one does not find, unless the user gives it up. */
export async function requireKey({ mark, plan, rows }: Part, { batch, clients }: LaneRun): Promise<void> {
  const { profile, key } = plan;
  const isOfOtherKey = key !== undefined && key !== (await clients.get(profile)?.keyDigest?.(mark));
  if (batch.policy.retryUnknown || !isOfOtherKey) return;
  const jobs = countOf(rows.length, 'job');
  throw new GatewayError('batch-locked', `${jobs} went with another key: this one does not find their batch`, {
    hint: 'give the key with which they were submitted, or give their batch up: --retry-unknown',
    sent: 'no',
  });
}

type Service = Awaited<ReturnType<typeof apiOf>>;

/** Asks the service of a part. Throws what the service or the signal says, and batch-locked as `apiOf` does. */
export async function askService<Value>(
  plan: Place,
  run: Pick<LaneRun, 'batch' | 'clients'>,
  ask: (service: Service, deadline: Deadline) => Promise<Value>,
): Promise<Value> {
  const service = await apiOf(plan, run);
  const deadline = longDeadline(plan, run, run.batch.host.signal);
  return ask(service, deadline)
    .catch((error: unknown) => {
      throw withoutCost(error, askAgain);
    })
    .finally(() => deadline.end());
}

/** The hint if a service did not answer, or did not create a batch. */
export const askAgain = 'run the same command again: no batch is created twice';

/** Undefined for the error of a service that refuses to report; other errors are thrown again. */
export function undefinedIfRejected(error: unknown): undefined {
  if (error instanceof GatewayError && error.class === 'rejected') return undefined;
  throw error;
}

/** A page of the batches of a service, from the newest on; undefined if it has no such list. */
export function pageOf(plan: Place, run: LaneRun, page?: string): Promise<BatchPage | undefined> {
  return askService(plan, run, ({ api }, deadline) => api.page(deadline, page)).catch(undefinedIfRejected);
}

/** An upload, a download and a list with results can take long; a limit that was given counts. */
export function longDeadline(
  { profile }: Pick<PartPlan, 'profile'>,
  { batch }: Pick<LaneRun, 'batch'>,
  signal?: AbortSignal,
): Deadline {
  const timeout = batch.plan.gateways.get(profile)?.settings.timeoutMs;
  const isGiven = timeout !== undefined && timeout.origin.kind !== 'default';
  return startDeadline(isGiven ? timeout.value : 3_600_000, signal);
}

/** Writes records of parts into the journal, and applies them. Resolves when they are synced. */
export async function record(records: readonly (PartRecord | JobRecord)[], run: LaneRun): Promise<void> {
  const { state } = run.batch;
  for (const one of records) {
    const part = one.type === 'part' && finalSteps.has(one.step) ? state.parts.get(one.mark) : undefined;
    // The ledger first: it takes an end once, and the next run writes it again if this one is killed.
    if (part?.plan.budget === undefined) continue;
    const { endPart } = await import('./budgets.ts');
    await endPart(part, (one as PartRecord).step !== 'dropped', run.batch.host);
  }
  await run.recorder.parts(records);
  for (const one of records) {
    if (one.type === 'part') applyPart(one, state);
    else addToPart(one, state);
  }
}

/** Writes the next step of a part into the journal, and applies it. Resolves when it is synced. */
export function recordStep(
  { mark }: Pick<Part, 'mark'>,
  step: Omit<PartRecord, 'type' | 'mark' | 'at'>,
  run: LaneRun,
): Promise<void> {
  return record([{ type: 'part', mark, ...step, at: run.now() }], run);
}

/** Records what the service calls the batch of a part, and how long it has. */
export async function recordCreated({ id, createdAt, expiresAt }: BatchInfo, part: Part, run: LaneRun): Promise<void> {
  const lastsMs = createdAt === undefined || expiresAt === undefined ? undefined : expiresAt - createdAt;
  await recordStep(part, { step: 'created', batch: id, lastsMs }, run);
  run.step?.('part-created', part.mark);
}

/** How many ends are written at the same time: they share syncs. */
export const maxPending = 256;

/** Ends the jobs of a part that wait for a result which cannot come; `reasonOf` says why, by their rows. They may have been billed. */
export async function loseJobs(
  part: Part,
  reasonOf: (row: number) => Promise<string> | string,
  { batch, recordOutcome }: LaneRun,
): Promise<void> {
  const { host, jobs } = batch;
  const { index } = batch.state;
  const ids = [...index.ids()];
  const waiting = [...waitingBounds(part, index)];
  const mark = budgetedMark(part);
  async function lose([row, bound]: (typeof waiting)[number], reason: string): Promise<void> {
    const error = new GatewayError('no-reply', reason, { sent: 'yes' });
    const shown = { class: error.class, message: host.redaction.redact(error.message), billed: error.billed };
    const outcome: JobOutcome = { state: 'unknown', document: jobs.describeLost(error), error: shown };
    await recordOutcome({ job: { id: ids[row] ?? '' }, request: index.requestOf(row), bound, part: mark }, outcome);
  }
  while (waiting.length > 0) {
    const group = [];
    // One after the other: they append to the same aside file.
    for (const job of waiting.splice(0, maxPending)) group.push([job, await reasonOf(job[0])] as const);
    await Promise.all(group.map(([job, reason]) => lose(job, reason)));
  }
}

/** Gives up a part whose jobs cannot be found at the service. They may have been billed. */
export async function losePart(part: Part, reason: string, run: LaneRun): Promise<void> {
  await loseJobs(part, () => reason, run);
  await recordStep(part, { step: 'lost' }, run);
}
