import { getToldState } from '../counts.ts';
import type { Fold } from '../folder/fold.ts';
import type { SlotState } from '../folder/slots.ts';
import type { BatchPolicy } from '../types.ts';

type ResendPolicy = Pick<BatchPolicy, 'retry' | 'onlyNamed'>;

/**
 * Decides whether a slot is paid for, by its state and by the user's word. No other place decides that. `isNamed`: the user named
 * its row. `later`: it is left for a run that sends more than what is named.
 */
export function decideSlot(
  state: SlotState,
  { isAtService, isNamed, policy }: { isAtService: boolean; isNamed: boolean; policy: ResendPolicy },
): 'send' | 'collect' | 'leave' | 'later' {
  if (isAtService) return 'collect';
  if (state === 'pending') return isNamed || policy.onlyNamed !== true ? 'send' : 'later';
  if (state === 'sent') return policy.retry?.includes('unknown') ? 'send' : 'leave';
  if (state === 'failed') return policy.retry?.includes('failed') ? 'send' : 'leave';
  return 'leave';
}

/** Whether `--retry` names a slot, by the state of what it has. */
export function isRetried(
  slot: number,
  { retry }: ResendPolicy,
  { slots, atService }: Pick<Fold, 'slots' | 'atService'>,
): boolean {
  const told = getToldState(slot, { slots, atService });
  if (told === 'failed' || told === 'unknown') return retry?.includes(told) === true;
  return told === 'done' && slots.has(slot, 'cut') && retry?.includes('incomplete') === true;
}

/**
 * Whether a slot becomes pending again: `--redo` names it, or its answer was cut and `--retry incomplete` is given. If a run goes
 * on with the rows that an earlier one named, only slots that failed since become pending: the others are made, or pending already.
 */
export function isMadeAgain(
  slot: number,
  { isNamed, goesOn, policy }: { isNamed: boolean; goesOn: boolean; policy: ResendPolicy },
  { slots, atService }: Pick<Fold, 'slots' | 'atService'>,
): boolean {
  const state = slots.stateOf(slot);
  if (atService.has(slot) || state === 'pending') return false;
  if (isNamed && (!goesOn || (state !== 'sent' && slots.has(slot, 'tried')))) return true;
  return state === 'incomplete' && isRetried(slot, policy, { slots, atService });
}

/** Whether a slot that `--redo` named still lacks its new answer. */
export function isLeftToRedo(slot: number, { slots }: Pick<Fold, 'slots'>): boolean {
  return ['pending', 'sent'].includes(slots.stateOf(slot)) || slots.has(slot, 'tried');
}
