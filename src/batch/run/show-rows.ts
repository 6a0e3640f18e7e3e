import { assignSlots } from './assign.ts';
import { openEarlier } from './assign-rows.ts';
import { partLevels } from './links.ts';
import { markWanted, type RowTable } from './table.ts';
import { getToldState } from '../counts.ts';
import type { BatchState } from '../folder/state.ts';

/**
 * The state of a batch whose rows have the slots that a run without a flag would give them: an answer can have been chosen since the
 * table was written. A row that uses others has the slot of what it asks of the answers that count now, if that was answered; otherwise
 * that of the table, if it asks that, or of an earlier answer. New slots are added, and those of the rows are marked as wanted.
 */
export function showAnswers(state: BatchState): BatchState {
  const { atService, manifest, slots } = state;
  const { rows } = manifest;
  if (rows.links.size === 0) return state;
  const shown: RowTable = {
    ...rows,
    firsts: rows.firsts.slice(),
    slots: rows.slots.slice(),
    links: new Map(Array.from(rows.links, ([place, link]) => [place, { ...link }])),
    levels: partLevels(rows.links).levels,
  };
  const slotOf = (place: number): number => rows.slots[place] as number;
  // Nothing is known here of the answers of other shards.
  const others = [...rows.links.keys()].filter((place) => rows.others[place] !== 0);
  const findEarlier = openEarlier(shown, state);
  assignSlots(shown, rows, slots, {
    kept: new Map(others.map((place) => [place, slotOf(place)])),
    listEarlier: (place) =>
      slots.mayBePaid(shown.slots[place] as number) ? [] : [...findEarlier(place), slotOf(place)],
    comes: (slot) => atService.has(slot),
  });
  markWanted(shown, slots);
  const earlier = findShown(shown, state);
  return { ...state, manifest: { ...manifest, rows: shown, moved: mapSlots(rows, shown), earlier } };
}

/** The slots that rows have in another table, by those that they have in this one, where they differ. */
function mapSlots({ size, slots }: RowTable, { slots: others }: RowTable): Map<number, number> {
  const found = new Map<number, number>();
  for (let place = 0; place < size; place++)
    if (slots[place] !== others[place]) found.set(slots[place] as number, others[place] as number);
  return found;
}

/** The slots whose answers rows show that have none, and that did not fail, by the slots of these rows. No other row has them. */
function findShown(
  table: RowTable,
  { atService, slots }: Pick<BatchState, 'atService' | 'slots'>,
): Map<number, number> {
  const found = new Map<number, number>();
  const taken = new Set<number>();
  for (const [place, earlier] of table.earlier) {
    const slot = table.slots[place] as number;
    const isBare = slots.answersOf(slot) === 0 && getToldState(slot, { atService, slots }) !== 'failed';
    const isFree = slots.answersOf(earlier) > 0 && !slots.has(earlier, 'wanted') && !taken.has(earlier);
    if (!isBare || !isFree) continue;
    taken.add(earlier);
    found.set(slot, earlier);
  }
  return found;
}

/** The slot of a row by its name in jobs.jsonl; -1 if there is none. */
export function findRowSlot(name: string, { manifest, slots }: Pick<BatchState, 'manifest' | 'slots'>): number {
  const slot = slots.findNamed(name);
  return manifest.moved?.get(slot) ?? slot;
}
