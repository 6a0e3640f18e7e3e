import { timeText } from '../../clock.ts';
import type { Bound, Spending } from '../../cost/types.ts';
import type { AuthUse, FormatName } from '../../formats/types.ts';
import { type BatchState, countCost, type JobIndex, mayHaveCost } from '../folder/state.ts';
import { hashId, hexOf } from '../digest.ts';
import type { JobRecord } from '../types.ts';

/**
 * A record of a part: the jobs that one batch of the service holds. `planned`: what they have in common; records `ready` of its
 * jobs follow. `creating`: from here on the batch may exist. `dropped`: it certainly does not. `lost`: the service cannot say. `ended`: all of
 * its results are recorded.
 */
export interface PartRecord {
  type: 'part';
  mark: string;
  step: 'planned' | 'creating' | 'created' | 'dropped' | 'lost' | 'ended';
  at: number;
  /** Only in `planned`. */
  plan?: PartPlan | undefined;
  /** Only in `created`: the id of the batch at the service, and how long the service works on it, in ms. */
  batch?: string | undefined;
  lastsMs?: number | undefined;
}

/** What the jobs of a part have in common. */
export interface PartPlan {
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

/** What is known about a part. */
export interface Part {
  mark: string;
  step: PartRecord['step'];
  plan: PartPlan;
  /** The rows of its jobs. */
  rows: number[];
  /** While it is planned, the hashes of their requests; from `creating` to `created`, those that the jobs had before. */
  requests: string[];
  /** What each of its jobs can cost, if its model has a price. */
  bounds: (Bound | undefined)[];
  /** The cost of its jobs that have ended, and how many of them were billed or may have been; only its budget needs it. */
  paid: { spending: Spending; requests: number };
  /** Wall clock of its creation, ms since 1970. */
  at: number;
  batch: string | undefined;
  lastsMs: number | undefined;
}

/** After one of these the service holds nothing of a part. */
export const finalSteps: ReadonlySet<PartRecord['step']> = new Set(['dropped', 'lost', 'ended']);

/** The key of a job in a part. All services take it: letters, digits and `-`, at most 33. */
export function keyOf(mark: string, id: string): string {
  return `${mark}-${hexOf(hashId(id))}`;
}

/** Parts that may be at the service. */
export function openParts({ parts }: Pick<BatchState, 'parts'>): Part[] {
  return [...parts.values()].filter(({ step }) => step === 'creating' || step === 'created');
}

/** The rows of the jobs of a part that have no end yet. */
export function waitingRows({ rows }: Pick<Part, 'rows'>, index: JobIndex): number[] {
  return rows.filter((row) => index.has(row, 'atService'));
}

/** What each job of a part that has no end yet can cost, by its row. */
export function waitingBounds({ rows, bounds }: Part, index: JobIndex): Map<number, Bound | undefined> {
  const all = rows.map((row, at) => [row, bounds[at]] as const);
  return new Map(all.filter(([row]) => index.has(row, 'atService')));
}

/** What jobs that a batch of the service holds can cost. */
export function openBounds(state: Pick<BatchState, 'parts' | 'index'>): (Bound | undefined)[] {
  return openParts(state).flatMap((part) => [...waitingBounds(part, state.index).values()]);
}

/** A job of a part that is planned. */
export function addToPart({ id, request, line, bound, part = '' }: JobRecord, { index, parts }: BatchState): void {
  const known = parts.get(part);
  if (known === undefined) return;
  const row = index.add(id);
  if (line !== undefined) index.setPlace(row, line);
  known.rows.push(row);
  known.requests.push(request);
  known.bounds.push(bound);
}

/** When the first of some parts was submitted, and when the first of them expires: `submitted 5 min ago, expires in 23 h` */
export function describeTimes(parts: readonly Part[], now: number): string {
  const since = Math.max(0, now - Math.min(...parts.map(({ at }) => at)));
  const left = parts.flatMap(({ at, lastsMs }) => (lastsMs === undefined ? [] : at + lastsMs - now));
  const expires = left.length === 0 ? '' : `, expires in ${timeText(Math.max(0, Math.min(...left)))}`;
  return `submitted ${timeText(since)} ago${expires}`;
}

/** The mark of a part that is paid from a budget. */
export function budgetedMark({ mark, plan }: Part): string | undefined {
  return plan.budget === undefined ? undefined : mark;
}

/** Counts the end of a job for the budget of its part. */
export function countPaid(
  { part: mark = '', ...end }: Pick<JobRecord, 'type' | 'part' | 'cost' | 'billed' | 'error'>,
  { parts }: Pick<BatchState, 'parts'>,
  bound: Bound | undefined,
): void {
  const part = parts.get(mark);
  if (part === undefined || !mayHaveCost(end)) return;
  part.paid.requests++;
  countCost(end, part.paid, bound);
}

/** Applies a record of a part to what is known. */
export function applyPart(record: PartRecord, state: BatchState): void {
  if (record.plan) state.parts.set(record.mark, newPart(record.mark, record.plan));
  const part = state.parts.get(record.mark);
  if (part === undefined) return;
  const { index } = state;
  part.step = record.step;
  if (record.step === 'creating') {
    part.at = record.at;
    swapRequests(part, index);
    for (const row of part.rows) index.mark(row, 'atService');
  }
  if (record.step === 'created') {
    [part.batch, part.lastsMs] = [record.batch, record.lastsMs];
    part.requests = [];
  }
  if (record.step === 'dropped') {
    // Its jobs get back the requests that they had before.
    swapRequests(part, index);
    for (const row of part.rows) index.mark(row, 'atService', false);
  }
  if (finalSteps.has(record.step)) state.parts.delete(record.mark);
}

function newPart(mark: string, plan: PartPlan): Part {
  return {
    mark,
    step: 'planned',
    plan,
    rows: [],
    requests: [],
    bounds: [],
    paid: { spending: { costs: [], unknown: 0, held: '0', dearest: '0' }, requests: 0 },
    at: 0,
    batch: undefined,
    lastsMs: undefined,
  };
}

function swapRequests(part: Part, index: JobIndex): void {
  part.requests = part.rows.map((row, at) => {
    const before = index.requestOf(row);
    index.setRequest(row, part.requests[at] ?? '');
    return before;
  });
}

/** What becomes of a batch that the service does not find. */
export const givesUp = 'a run that waits for it gives it up after 1 h, and its jobs are unknown';
