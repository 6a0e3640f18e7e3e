import type { Slots } from '../folder/slots.ts';
import type { RowTable } from './table.ts';

/**
 * Finds the rows that stay as they are though what they use is made again: who names with `--redo` what is made again means only that. To be
 * asked for each row once its slot is known, and before those of the rows that use it: these are made of the answer that stays.
 */
export function openStale(table: RowTable, before: RowTable, slots: Slots) {
  const stays = new Set<number>();
  const taken = new Set<number>();
  const placesBefore = new Map<number, number>();
  for (const place of before.own.keys()) placesBefore.set(before.ids[place] as number, place);
  return {
    stays,
    /** Gives a row the slot that it had, if nothing but the answers that it uses is another one. Returns whether it stays. */
    keep(place: number): boolean {
      const slot = table.slots[place] as number;
      const was = placesBefore.get(table.ids[place] as number);
      const had = was === undefined ? slot : (before.slots[was] as number);
      const isStale = was !== undefined && had !== slot && before.own.get(was) === table.own.get(place);
      const isPaid = slots.answersOf(slot) > 0 || slots.stateOf(slot) === 'sent';
      if (!isStale || isPaid || slots.answersOf(had) === 0 || taken.has(had)) {
        taken.add(slot);
        return false;
      }
      table.slots[place] = had;
      taken.add(had);
      stays.add(had);
      return true;
    },
  };
}
