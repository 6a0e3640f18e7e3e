import { markAgain } from '../folder/fold.ts';
import type { SlotState } from '../folder/slots.ts';
import type { BatchState } from '../folder/state.ts';
import type { Batch } from '../types.ts';
import { assignLevels, assignSlots } from './assign.ts';
import { isMadeAgain, isRetried } from './decide.ts';
import type { BatchPlan } from './plan.ts';
import type { Sharding } from './shards.ts';
import { hasSameOwn, indexRows, markWanted, ownOf, type RowTable } from './table.ts';

/** The rows that keep earlier answers, and those that this run makes again. */
export interface AssignedRows {
  /** The slots of rows that stay as they are though rows that they use are made again, by their places. */
  kept: ReadonlyMap<number, number>;
  /** The states that the slots had which are made again, by the places of their rows. */
  madeAgain: ReadonlyMap<number, SlotState>;
}

/** What a run is to make: the rows that belong to it, those that `--redo` names, and the answers that are to come. */
export interface NamedRows extends Pick<Sharding, 'isOwn'> {
  isNamed(place: number): boolean;
  /** An earlier run named the same rows, and left some of them. */
  goesOn: boolean;
  /** Whether a new answer of a slot is to come though the slot may not be marked to be made again. */
  comes(slot: number): boolean;
}

/** Gives each row its slot, and marks the rows that are made again before the rows that use them get their keys. */
export function assignRows(
  table: RowTable,
  { isNamed, goesOn, isOwn, comes }: NamedRows,
  { policy, state }: Pick<Batch, 'policy' | 'state'>,
): AssignedRows {
  const { slots } = state;
  const kept = new Map<number, number>();
  const madeAgain = new Map<number, SlotState>();
  const findEarlier = openEarlier(table, state);
  const waiting = new Set<number>();
  const waits = (place: number): boolean => mustWait(place, waiting, { table, policy, state });
  // A row leaves its earlier answer by the user's word, and only for one that this run can get.
  const listEarlier = (place: number): readonly number[] => {
    if (isNamed(place) || !isOwn(place)) return [];
    const earlier = findEarlier(place);
    const [had] = earlier;
    const isMeant = policy.acceptChanges || (had !== undefined && isRetried(had, policy, state));
    return isMeant && !waits(place) ? [] : earlier;
  };
  const markIfAgain = (place: number): void => {
    if (!isOwn(place) || kept.has(place)) return;
    const slot = table.slots[place] as number;
    const isMeant = isNamed(place) || (policy.acceptChanges === true && findEarlier(place).length > 0);
    if (!isMadeAgain(slot, { isMeant, goesOn, policy }, state)) return;
    madeAgain.set(place, slots.stateOf(slot));
    markAgain(slot, state);
  };
  for (const places of assignLevels(table, state.manifest.rows, slots, { kept, listEarlier, comes }))
    for (const place of places) {
      markIfAgain(place);
      if (slots.stateOf(table.slots[place] as number) === 'pending' && waits(place)) waiting.add(place);
    }
  return { kept, madeAgain };
}

/**
 * Gives each row its slot once more, after a run: of equal rows one may have failed while another one has an answer too many, and
 * if a row was not made again, those that use it have their earlier answers. Returns whether some row has another slot now.
 */
export function assignAgain({ kept, table }: Pick<BatchPlan, 'kept' | 'table'>, state: BatchState): boolean {
  const { atService, slots } = state;
  const before = { ...table, slots: table.slots.slice() };
  const hasOther = (place: number): boolean => table.slots[place] !== before.slots[place];
  const findEarlier = openEarlier(table, state);
  assignSlots(table, before, slots, {
    kept: new Map(kept),
    // What the run was to ask is asked by the next one; anything else was not meant.
    listEarlier: (place) => (hasOther(place) ? findEarlier(place) : []),
    comes: (slot) => atService.has(slot),
  });
  // A mark says that what the row asked in this run was not paid for.
  for (const place of table.edited) if (hasOther(place)) table.edited.delete(place);
  const isChanged = table.slots.some((_, place) => hasOther(place));
  if (isChanged) markWanted(table, slots);
  return isChanged;
}

/**
 * Finds the slots with earlier answers that a row would keep though what it uses is made again or was edited, as the user has not said to
 * pay for it, too: those of the same question, as the row had it or as another row left it; and the one that the row had if what it uses
 * asks something else now. To be asked once the slot of the row in this run is known.
 */
export function openEarlier(
  table: RowTable,
  { links, manifest: { rows: before }, slots }: Pick<BatchState, 'links' | 'manifest' | 'slots'>,
): (place: number) => readonly number[] {
  if (table.links.size === 0) return () => [];
  const findBefore = openBefore(table, before);
  const known = new Set(before.slots.subarray(0, before.size));
  const byQuestion = new Map<string, number[]>();
  // The newest comes first.
  for (const [slot, { asks }] of [...links].toReversed()) {
    const same = byQuestion.get(asks);
    if (same) same.push(slot);
    else byQuestion.set(asks, [slot]);
  }
  return (place) => {
    const slot = table.slots[place] as number;
    const asks = table.links.get(place)?.asks;
    if (asks === undefined || slots.mayBePaid(slot)) return [];
    // An earlier run was allowed to pay for it, and did not come to that.
    if (known.has(slot)) return [];
    const was = findBefore(place);
    const had = was === undefined ? [] : [before.slots[was], before.earlier.get(was)];
    const own = had.filter((one) => one !== undefined);
    const isSame = (one: number): boolean => links.get(one)?.asks === asks;
    const all = [...own.filter(isSame), ...(byQuestion.get(asks) ?? []), ...own.filter((one) => !isSame(one))];
    return all.filter((one) => one !== slot && slots.mayBePaid(one));
  };
}

/**
 * Finds the places that rows which use others had in the last run, if they asked the same there but for the answers that they use, or
 * for the names of the rows whose answers these are.
 */
function openBefore(table: RowTable, before: RowTable): (place: number) => number | undefined {
  const index = indexRows(before);
  // A row that was renamed has another id.
  const byOwn = new Map(Array.from(before.links.keys(), (place) => [ownOf(before, place), place]));
  const byQuestion = new Map(Array.from(before.links, ([place, { asks }]) => [asks, place]));
  return (place) => {
    const sameId = index.find(table.ids[place] as number) ?? -1;
    const asks = table.links.get(place)?.asks ?? '';
    const isSame = hasSameOwn(table, place, before, sameId) || before.links.get(sameId)?.asks === asks;
    return isSame ? sameId : (byOwn.get(ownOf(table, place)) ?? byQuestion.get(asks));
  };
}

/** The answers that rows showed in the last run, and show until one comes for what they ask now: their slots by the places of the rows. */
export function listShown(
  table: RowTable,
  { atService, manifest: { rows: before }, slots }: Pick<BatchState, 'atService' | 'manifest' | 'slots'>,
): Map<number, number> {
  const shown = new Map<number, number>();
  if (table.links.size === 0) return shown;
  const findBefore = openBefore(table, before);
  for (const place of table.links.keys()) {
    const slot = table.slots[place] as number;
    const was = slots.answersOf(slot) > 0 ? undefined : findBefore(place);
    if (was === undefined) continue;
    const had = before.slots[was] as number;
    // The service can make an answer to what the row asked before.
    const isAnswered = slots.answersOf(had) > 0 || (had !== slot && atService.has(had));
    const earlier = isAnswered ? had : before.earlier.get(was);
    if (earlier !== undefined) shown.set(place, earlier);
  }
  return shown;
}

/** Whether a row uses one that waits, or that failed or may have been billed, and is not sent again. */
function mustWait(
  place: number,
  waiting: ReadonlySet<number>,
  { table, policy, state }: Pick<Batch, 'policy' | 'state'> & { table: RowTable },
): boolean {
  const { parents = [] } = table.links.get(place) ?? {};
  return parents.some((parent) => {
    const slot = table.slots[parent] as number;
    const isLeft = ['failed', 'sent'].includes(state.slots.stateOf(slot)) && !state.atService.has(slot);
    return waiting.has(parent) || (isLeft && !isRetried(slot, policy, state));
  });
}
