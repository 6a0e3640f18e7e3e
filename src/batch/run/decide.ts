import { getToldState } from '../counts.ts';
import type { Fold } from '../folder/fold.ts';
import type { BatchPolicy } from '../types.ts';

type ResendPolicy = Pick<BatchPolicy, 'retry' | 'onlyNamed'>;
type SlotFacts = Pick<Fold, 'slots' | 'atService'>;

/**
 * Decides whether a slot is paid for, by its state and by the user's word. No other place decides that. `isMeant`: the user's
 * word means its row. `later`: it is left for a run that sends more than what is named.
 */
export function decideSlot(
  slot: number,
  { isMeant, policy }: { isMeant: boolean; policy: ResendPolicy },
  facts: SlotFacts,
): 'send' | 'leave' | 'later' {
  const state = facts.slots.stateOf(slot);
  if (state === 'pending') return isMeant || policy.onlyNamed !== true ? 'send' : 'later';
  // A cut answer is marked to be made again before.
  return isMeant && state !== 'incomplete' && isRetried(slot, policy, facts) ? 'send' : 'leave';
}

/** Whether `--retry` names a slot, by the state of what it has. */
export function isRetried(slot: number, { retry }: ResendPolicy, facts: SlotFacts): boolean {
  const told = getToldState(slot, facts);
  if (told === 'failed' || told === 'unknown') return retry?.includes(told) === true;
  return told === 'done' && facts.slots.has(slot, 'cut') && retry?.includes('incomplete') === true;
}

/**
 * Whether an answer of a slot is to come though the slot may not be marked to be made again: the service has its request, or `--retry`
 * sends it again, as it has no end. It is not marked for that: a run that ends before leaves it unknown.
 */
export function isToCome(slot: number, policy: ResendPolicy, facts: SlotFacts): boolean {
  return facts.atService.has(slot) || (facts.slots.stateOf(slot) === 'sent' && isRetried(slot, policy, facts));
}

/**
 * Whether a slot becomes pending again: the user means its row, or its answer was cut and `--retry incomplete` is given. If a run goes
 * on with the rows that an earlier one named, only slots that failed since become pending: the others are made, or pending already.
 */
export function isMadeAgain(
  slot: number,
  { isMeant, goesOn, policy }: { isMeant: boolean; goesOn: boolean; policy: ResendPolicy },
  { slots, atService }: SlotFacts,
): boolean {
  const state = slots.stateOf(slot);
  if (atService.has(slot) || state === 'pending') return false;
  if (isMeant && (!goesOn || (state !== 'sent' && slots.has(slot, 'tried')))) return true;
  return state === 'incomplete' && isRetried(slot, policy, { slots, atService });
}

/** Whether a slot that `--redo` named still lacks its new answer. */
export function isLeftToRedo(slot: number, { slots }: Pick<Fold, 'slots'>): boolean {
  return ['pending', 'sent'].includes(slots.stateOf(slot)) || slots.has(slot, 'tried');
}
