import { timeText } from '../../clock.ts';
import type { Bound, Spending } from '../../cost/types.ts';
import type { AuthUse, FormatName } from '../../formats/types.ts';
import { type BatchState, countCost, type JobIndex, mayHaveCost } from '../folder/state.ts';
import { hashId, toHex } from '../digest.ts';
import type { JobRecord } from '../types.ts';
import { minOf } from '../../long-lists.ts';

/**
 * A record of a provider batch: the jobs that one batch of the service holds. `planned`: what they have in common; records `ready` of its
 * jobs follow. `creating`: from here on the batch may exist. `dropped`: it certainly does not. `lost`: the service cannot say. `ended`: all of
 * its results are recorded.
 */
export interface ProviderBatchRecord {
  /** The journal's word for it, on disks before it had its name here. */
  type: 'part';
  mark: string;
  step: 'planned' | 'creating' | 'created' | 'dropped' | 'lost' | 'ended';
  at: number;
  /** Only in `planned`. */
  plan?: ProviderBatchPlan | undefined;
  /** Only in `created`: the id of the batch at the service, and how long the service works on it, in ms. */
  batch?: string | undefined;
  lastsMs?: number | undefined;
}

/** What the jobs of a provider batch have in common. */
export interface ProviderBatchPlan {
  /** The profile of its jobs, and where they go. */
  profile: string;
  origin: string;
  format: FormatName;
  use: AuthUse;
  model: string;
  /** The newest batch of the service before it, where batches have no names. */
  after?: string | undefined;
  /** The file of the budget that it is paid from. */
  budget?: string | undefined;
  /** Digest of the key that it is submitted with, and of its mark. */
  key?: string | undefined;
}

/** What is known about a provider batch. */
export interface ProviderBatch {
  mark: string;
  step: ProviderBatchRecord['step'];
  plan: ProviderBatchPlan;
  /** The rows of its jobs. */
  rows: number[];
  /** By place in `rows`: until `creating`, those of its requests; from there to `created`, those before, which `dropped` brings back. */
  digests: string[];
  /** What each of its jobs can cost, if its model has a price. */
  bounds: (Bound | undefined)[];
  /** The cost of its jobs that have ended, and how many of them were billed or may have been; only its budget needs it. */
  paid: { spending: Spending; requests: number };
  /** Wall clock of its creation, ms since 1970. */
  at: number;
  batch: string | undefined;
  lastsMs: number | undefined;
}

/** After one of these the service holds nothing of a provider batch. */
export const finalSteps: ReadonlySet<ProviderBatchRecord['step']> = new Set(['dropped', 'lost', 'ended']);

/** The key of a job in a provider batch. All services take it: letters, digits and `-`, at most 33. */
export function makeEntryKey(mark: string, id: string): string {
  return `${mark}-${toHex(hashId(id))}`;
}

/** Provider batches that may be at the service. */
export function listOpenProviderBatches({ providerBatches }: Pick<BatchState, 'providerBatches'>): ProviderBatch[] {
  return [...providerBatches.values()].filter(({ step }) => step === 'creating' || step === 'created');
}

/**
 * The gateway of `--offline` ends with its process, and its batches with it. Nothing of them is billed: their jobs are as before, and
 * what a budget holds for them is freed as for batches that were not created.
 */
export function endOffline(state: BatchState): void {
  const { index, earlier } = state;
  for (const providerBatch of listOpenProviderBatches(state)) {
    if (!isOffline(providerBatch)) continue;
    for (const row of waitingRows(providerBatch, index)) {
      index.setFlag(row, 'atService', false);
      const answer = earlier.get(row);
      if (answer === undefined) continue;
      index.setDigest(row, answer.digest);
      index.setSequence(row, answer.sequence);
    }
    providerBatch.step = 'planned';
  }
}

export function isOffline({ plan }: ProviderBatch): boolean {
  return plan.origin === 'offline';
}

/** The rows of the jobs of a provider batch that have no end yet. */
export function waitingRows({ rows }: Pick<ProviderBatch, 'rows'>, index: JobIndex): number[] {
  return rows.filter((row) => index.has(row, 'atService'));
}

/** What each job of a provider batch that has no end yet can cost, by its row. */
export function waitingBounds({ rows, bounds }: ProviderBatch, index: JobIndex): Map<number, Bound | undefined> {
  const all = rows.map((row, at) => [row, bounds[at]] as const);
  return new Map(all.filter(([row]) => index.has(row, 'atService')));
}

/** What jobs that a batch of the service holds can cost. */
export function openBounds(state: Pick<BatchState, 'providerBatches' | 'index'>): (Bound | undefined)[] {
  return listOpenProviderBatches(state).flatMap((providerBatch) => [
    ...waitingBounds(providerBatch, state.index).values(),
  ]);
}

/** A job of a provider batch that is planned. */
export function addToProviderBatch(
  { id, request: digest, line, bound, part = '' }: JobRecord,
  { index, providerBatches }: BatchState,
): void {
  const known = providerBatches.get(part);
  if (known === undefined) return;
  const row = index.add(id);
  if (line !== undefined) index.setPlace(row, line);
  index.setSequence(row);
  known.rows.push(row);
  known.digests.push(digest);
  known.bounds.push(bound);
}

/** When the first of some provider batches was submitted, and when the first of them expires, or did: `submitted 5 min ago, expires in 23 h` */
export function describeTimes(providerBatches: readonly Pick<ProviderBatch, 'at' | 'lastsMs'>[], now: number): string {
  const since = Math.max(0, now - minOf(providerBatches.map(({ at }) => at)));
  const left = providerBatches.flatMap(({ at, lastsMs }) => (lastsMs === undefined ? [] : at + lastsMs - now));
  const first = minOf(left);
  const expires = first < 0 ? `, expired ${timeText(-first)} ago` : `, expires in ${timeText(first)}`;
  return `submitted ${timeText(since)} ago${left.length === 0 ? '' : expires}`;
}

/** The mark of a provider batch that is paid from a budget. */
export function budgetedMark({ mark, plan }: ProviderBatch): string | undefined {
  return plan.budget === undefined ? undefined : mark;
}

/** Counts the end of a job for the budget of its provider batch. */
export function countPaid(
  end: Pick<JobRecord, 'type' | 'part' | 'cost' | 'billed' | 'error'>,
  { providerBatches }: Pick<BatchState, 'providerBatches'>,
  bound: Bound | undefined,
): void {
  const providerBatch = end.part === undefined ? undefined : providerBatches.get(end.part);
  if (providerBatch === undefined || !mayHaveCost(end)) return;
  providerBatch.paid.requests++;
  countCost(end, providerBatch.paid, bound);
}

/** Applies a record of a provider batch to what is known. */
export function applyProviderBatch(record: ProviderBatchRecord, state: BatchState): void {
  if (record.plan) state.providerBatches.set(record.mark, newProviderBatch(record.mark, record.plan));
  const providerBatch = state.providerBatches.get(record.mark);
  if (providerBatch === undefined) return;
  const { index } = state;
  providerBatch.step = record.step;
  if (record.step === 'creating') {
    providerBatch.at = record.at;
    swapDigests(providerBatch, index);
    for (const row of providerBatch.rows) index.setFlag(row, 'atService');
  }
  if (record.step === 'created') {
    [providerBatch.batch, providerBatch.lastsMs] = [record.batch, record.lastsMs];
    providerBatch.digests = [];
  }
  if (record.step === 'dropped') {
    // Its jobs get back the requests that they had before.
    swapDigests(providerBatch, index);
    for (const row of providerBatch.rows) index.setFlag(row, 'atService', false);
  }
  if (finalSteps.has(record.step)) state.providerBatches.delete(record.mark);
}

function newProviderBatch(mark: string, plan: ProviderBatchPlan): ProviderBatch {
  return {
    mark,
    step: 'planned',
    plan,
    rows: [],
    digests: [],
    bounds: [],
    paid: { spending: { costs: [], unknown: 0, held: '0', dearest: '0' }, requests: 0 },
    at: 0,
    batch: undefined,
    lastsMs: undefined,
  };
}

function swapDigests(providerBatch: ProviderBatch, index: JobIndex): void {
  providerBatch.digests = providerBatch.rows.map((row, at) => {
    const before = index.digestOf(row);
    index.setDigest(row, providerBatch.digests[at] ?? '');
    return before;
  });
}

/** What becomes of a batch that the service does not find. */
export const giveUpNotice =
  'a run that waits for it gives it up after 1 h, with --retry-unknown after 1 min, and its jobs are unknown';

/** The hint where a batch is not found. */
export const notFoundHint = `give the key with which it was submitted; ${giveUpNotice}`;
