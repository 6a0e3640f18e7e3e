import type { Slots } from '../folder/slots.ts';
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
