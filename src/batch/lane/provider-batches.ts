import { type AuthUse, type Bound, type FormatName, minOf, type Spending, timeText } from '../../library/index.ts';
import type { BatchStep, EndRecord } from '../folder/records.ts';
import type { SlotState } from '../folder/slots.ts';
import { countCost, mayHaveCost, noSpending } from '../folder/spending.ts';
import type { BatchState } from '../folder/state.ts';

/** The parts that the jobs of a provider batch have in common. */
export interface ProviderBatchPlan {
  /** The profile of the jobs, and the scheme and host of their gateway. */
  profile: string;
  origin: string;
  format: FormatName;
  use: AuthUse;
  model: string;
  /** The newest batch of the service before this one, if batches have no names there. */
  after?: string | undefined;
  /** The file of the budget that pays for the provider batch. */
  budget?: string | undefined;
  /** Digest of the API key of its creation, and of its mark. */
  key?: string | undefined;
}

/** The slots that one batch of the service holds, and its state. */
export interface ProviderBatch {
  mark: string;
  step: BatchStep['step'];
  plan: ProviderBatchPlan;
  slots: readonly number[];
  /** The states of the slots when the batch was created. */
  before: readonly SlotState[];
  /** The cost of the slots that have ended, and how many of them were billed or may have been; only the budget needs it. */
  paid: { spending: Spending; requests: number };
  /** Wall clock of the creation, ms since 1970. */
  at: number;
  /** The id of the batch at the service, and the time that the service works on it, in ms. */
  batch: string | undefined;
  lastsMs: number | undefined;
}

/** The last steps of a provider batch: after one of these the service holds nothing of it. */
export const finalSteps: ReadonlySet<BatchStep['step']> = new Set(['dropped', 'lost', 'ended']);

export function newProviderBatch({ mark, plan }: BatchStep, slots: readonly number[]): ProviderBatch {
  return {
    mark,
    step: 'planned',
    plan: plan as ProviderBatchPlan,
    slots,
    before: [],
    paid: { spending: noSpending(), requests: 0 },
    at: 0,
    batch: undefined,
    lastsMs: undefined,
  };
}

/** The name of a slot in a provider batch. All services take it: letters, digits and `-`, at most 64. */
export function makeEntryName(mark: string, slot: string): string {
  return `${mark}-${slot}`;
}

type ServiceState = Pick<BatchState, 'providerBatches' | 'atService'>;

/** The provider batch that holds a slot. */
export function findProviderBatch(
  slot: number,
  { providerBatches, atService }: ServiceState,
): ProviderBatch | undefined {
  return providerBatches.get(atService.get(slot) ?? '');
}

/** Provider batches that may be at the service. */
export function listOpenProviderBatches({ providerBatches }: Pick<ServiceState, 'providerBatches'>): ProviderBatch[] {
  return [...providerBatches.values()].filter(({ step }) => step === 'creating' || step === 'created');
}

export function isOffline({ plan }: ProviderBatch): boolean {
  return plan.origin === 'offline';
}

/** The slots of a provider batch that have no end yet, and that no later provider batch holds. */
export function listAtService(
  { mark, slots }: Pick<ProviderBatch, 'mark' | 'slots'>,
  { atService }: Pick<ServiceState, 'atService'>,
): number[] {
  return slots.filter((slot) => atService.get(slot) === mark);
}

/** The bounds of the costs of the slots in provider batches. */
export function openBounds({ atService, bounds }: Pick<BatchState, 'atService' | 'bounds'>): (Bound | undefined)[] {
  return Array.from(atService.keys(), (slot) => bounds.get(slot));
}

/**
 * The time since the first of some provider batches was submitted, and the time until the first of them expires, or since it did:
 * `submitted 5 min ago, expires in 23 h`
 */
export function describeTimes(providerBatches: readonly Pick<ProviderBatch, 'at' | 'lastsMs'>[], now: number): string {
  const since = Math.max(0, now - minOf(providerBatches.map(({ at }) => at)));
  const left = providerBatches.flatMap(({ at, lastsMs }) => (lastsMs === undefined ? [] : at + lastsMs - now));
  const first = minOf(left);
  const expires = first < 0 ? `, expired ${timeText(-first)} ago` : `, expires in ${timeText(first)}`;
  return `submitted ${timeText(since)} ago${left.length === 0 ? '' : expires}`;
}

/** Counts the end of a slot for the budget of its provider batch. */
export function addPaid(slot: number, end: EndRecord, state: ServiceState & Pick<BatchState, 'bounds'>): void {
  const batch = findProviderBatch(slot, state);
  if (batch === undefined || !mayHaveCost(end)) return;
  batch.paid.requests++;
  countCost(end, batch.paid, end.bound ?? state.bounds.get(slot));
}

/** The end of a provider batch that the service does not find, in words for hints. */
export const giveUpNotice =
  'a run that waits for it gives it up after 1 h, with --retry unknown after 1 min, and its jobs are unknown';

/** The hint for a provider batch that is not found. */
export const notFoundHint = `give the key with which it was submitted; ${giveUpNotice}`;
