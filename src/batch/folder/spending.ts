import {
  addSpending,
  addUnknown,
  type Bound,
  heldFor,
  type Spending,
  sumAmounts,
  type Usage,
} from '../../library/index.ts';
import type { JobError } from '../types.ts';
import type { EndRecord } from './records.ts';

/** The usage and the costs of all runs of a batch, also for answers that no row wants any more. */
export interface SpendingState {
  usage: Usage;
  spending: Spending;
  /** The bounds of the costs of slots without an end, if their models have a price. */
  bounds: Map<number, Bound>;
  /** The amount that slots without a known end count with against a limit of costs. */
  held: Map<number, string>;
  /** The time of the last request of these slots, ms since 1970. */
  sentAt: Map<number, number>;
  /** The newest error of slots without an answer, for at most `maxFailures` of them. */
  failures: Map<number, JobError>;
  /** The ids with which slots without an answer were sent. */
  ids: Map<number, string>;
}

export function newSpendingState(): SpendingState {
  return {
    usage: {},
    spending: noSpending(),
    bounds: new Map(),
    held: new Map(),
    sentAt: new Map(),
    failures: new Map(),
    ids: new Map(),
  };
}

export function noSpending(): Spending {
  return { costs: [], unknown: 0, held: '0', dearest: '0' };
}

/** Adds token counts to a sum; a count that neither of the two has stays unknown. */
export function addUsage(sum: Usage, more: Usage = {}): Usage {
  const counts = sum as Record<string, number>;
  const isTotalOfOne = (sum.totalTokens === undefined) !== (more.totalTokens === undefined);
  const total = totalTokens(sum) + totalTokens(more);
  for (const name in more) {
    const count: unknown = more[name as keyof Usage];
    if (typeof count === 'number' && Number.isFinite(count)) counts[name] = (counts[name] ?? 0) + count;
  }
  if (isTotalOfOne && Number.isFinite(total)) sum.totalTokens = total;
  return sum;
}

/** All tokens of a usage: the total of the gateway, otherwise the sum of input and output. */
export function totalTokens({ totalTokens: total, inputTokens = 0, outputTokens = 0 }: Usage): number {
  return total ?? inputTokens + outputTokens;
}

/** At most this many failures are kept in memory; results.jsonl has them all. */
const maxFailures = 1000;

/** The error of a slot that was sent and has no end in the journal. */
export const unanswered: JobError = {
  class: 'no-reply',
  message: 'its run ended before an answer was written down',
  billed: 'unknown',
};

/** Keeps the newest error of a slot, if there is room. */
export function keepFailure(failures: SpendingState['failures'], slot: number, error: JobError): void {
  if (failures.size < maxFailures || failures.has(slot)) failures.set(slot, error);
}

/** Counts a slot that was sent, and whose run is over, as one of unknown cost. */
export function countLost(slot: number, spent: SpendingState): void {
  keepFailure(spent.failures, slot, unanswered);
  if (!spent.held.has(slot)) spent.held.set(slot, countUnknown(spent, spent.bounds.get(slot)));
  spent.bounds.delete(slot);
}

/** Counts the end of a slot, with its usage and cost. */
export function countEnd(slot: number, end: EndRecord, spent: SpendingState): void {
  const { t, cost, error } = end;
  const bound = end.bound ?? spent.bounds.get(slot);
  spent.bounds.delete(slot);
  addUsage(spent.usage, end.usage);
  if (t === 'done' || t === 'incomplete') spent.failures.delete(slot);
  else keepFailure(spent.failures, slot, error ?? { class: 'unknown', message: 'no error is known' });
  if (!spent.failures.has(slot)) spent.ids.delete(slot);
  const held = spent.held.get(slot);
  // The run of the slot was over before: the slot was counted as one of unknown cost, and may be one still.
  if (held !== undefined && cost === undefined && mayHaveCost(end)) return;
  if (held !== undefined) spent.spending = addUnknown(spent.spending, held, -1);
  spent.held.delete(slot);
  countCost(end, spent, bound);
}

/**
 * Adds the cost of an end, or counts it among the unknown costs if it may have been billed. Each earlier request that may have been
 * billed counts with the bound of its cost.
 */
export function countCost(
  end: Pick<EndRecord, 'cost' | 'doubtful' | 'billed' | 'error'>,
  spent: Pick<SpendingState, 'spending'>,
  bound?: Bound,
): void {
  if (end.cost !== undefined) spent.spending = addSpending(spent.spending, end.cost);
  else if (mayHaveCost(end)) countUnknown(spent, bound);
  for (let left = end.doubtful ?? 0; left > 0; left--) {
    const { held, dearest } = spent.spending;
    spent.spending = { ...spent.spending, held: sumAmounts([held, heldFor(bound, dearest)]) };
  }
}

/** Whether a request with this end cost something, or may have. */
export function mayHaveCost({ cost, billed, error }: Pick<EndRecord, 'cost' | 'billed' | 'error'>): boolean {
  return cost !== undefined || (billed ?? error?.billed) !== 'no';
}

/** Counts a request of unknown cost. Returns the amount that it counts with against a limit. */
function countUnknown(spent: Pick<SpendingState, 'spending'>, bound: Bound | undefined): string {
  if (bound === undefined && spent.spending.dearest === '0') {
    // A million rows without a price need no decimal arithmetic.
    spent.spending.unknown++;
    return '0';
  }
  const held = heldFor(bound, spent.spending.dearest);
  spent.spending = addUnknown(spent.spending, held);
  return held;
}
