import type { Slots } from '../folder/slots.ts';
import type { BatchState } from '../folder/state.ts';
import type { BatchPolicy } from '../types.ts';
import { decideSlot } from './decide.ts';
import type { RowTable } from './table.ts';

/**
 * Finds the rows that stay though rows that they use are made again or were edited, as the user has not said to pay for them, too.
 * Gives the earlier slot of a row, if only the answers that it uses are others. To be asked once the slot of the row in this run is
 * known.
 */
export function openStale(table: RowTable, before: RowTable, slots: Slots): (place: number) => number | undefined {
  const byId = new Map<number, number>();
  // A row that was renamed has another id, and asks the same.
  const byOwn = new Map<string, number>();
  for (const [place, own] of before.own) {
    byId.set(before.ids[place] as number, place);
    byOwn.set(own, place);
  }
  const isPaid = (slot: number): boolean => slots.answersOf(slot) > 0 || slots.stateOf(slot) === 'sent';
  return (place) => {
    const slot = table.slots[place] as number;
    const own = table.own.get(place) as string;
    const sameId = byId.get(table.ids[place] as number) ?? -1;
    const was = before.own.get(sameId) === own ? sameId : byOwn.get(own);
    if (was === undefined) return undefined;
    const had = before.slots[was] as number;
    return had === slot || isPaid(slot) || !isPaid(had) ? undefined : had;
  };
}

/**
 * Finds the rows that wait: they use one that failed or may have been billed, and is not sent again; or one that waits. `see` takes each
 * row that has its slot, before the rows that use it.
 */
export function openWaiting(
  table: RowTable,
  { policy, state: { atService, slots } }: { policy: BatchPolicy; state: Pick<BatchState, 'atService' | 'slots'> },
): { has(place: number): boolean; see(place: number): void } {
  const waiting = new Set<number>();
  const stateOf = (place: number) => slots.stateOf(table.slots[place] as number);
  const isLeft = (place: number): boolean => {
    const asked = { isAtService: atService.has(table.slots[place] as number), isNamed: true, policy };
    return ['failed', 'sent'].includes(stateOf(place)) && decideSlot(stateOf(place), asked) === 'leave';
  };
  const has = (place: number): boolean =>
    (table.links.get(place)?.parents ?? []).some((used) => waiting.has(used.place) || isLeft(used.place));
  return {
    has,
    see(place) {
      if (stateOf(place) === 'pending' && has(place)) waiting.add(place);
    },
  };
}
