import type { Slots } from '../folder/slots.ts';
import type { RowTable } from './table.ts';

/**
 * Finds the rows that stay though rows that they use are made again: a user who names rows with `--redo` means only these. Gives
 * the earlier slot of a row, if only the answers that it uses are others. To be asked once the slot of the row in this run is known.
 */
export function openStale(table: RowTable, before: RowTable, slots: Slots): (place: number) => number | undefined {
  const placesBefore = new Map<number, number>();
  for (const place of before.own.keys()) placesBefore.set(before.ids[place] as number, place);
  const isPaid = (slot: number): boolean => slots.answersOf(slot) > 0 || slots.stateOf(slot) === 'sent';
  return (place) => {
    const slot = table.slots[place] as number;
    const was = placesBefore.get(table.ids[place] as number);
    if (was === undefined || before.own.get(was) !== table.own.get(place)) return undefined;
    const had = before.slots[was] as number;
    return had === slot || isPaid(slot) || !isPaid(had) ? undefined : had;
  };
}
