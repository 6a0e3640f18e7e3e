import { assignSlots } from './assign.ts';
import { partLevels } from './links.ts';
import { markWanted, type RowTable } from './table.ts';
import type { BatchState } from '../folder/state.ts';

/**
 * The state of a batch for reports. A row that uses others has the slot of what it asks of the answers that count now, if that was answered:
 * a choice can have come since the table was written. Otherwise it has the slot of the table; and while nothing came for that, it shows
 * its earlier answer.
 */
export function showAnswers(state: BatchState): BatchState {
  const { atService, manifest, slots } = state;
  const { rows } = manifest;
  if (rows.links.size === 0) return state;
  const shown = {
    ...rows,
    firsts: rows.firsts.slice(),
    slots: rows.slots.slice(),
    links: new Map(Array.from(rows.links, ([place, link]) => [place, { ...link }])),
    levels: partLevels(rows.links).levels,
  };
  const slotOf = (place: number): number => rows.slots[place] as number;
  // Nothing is known here of the answers of other shards.
  const others = [...rows.links.keys()].filter((place) => rows.others[place] !== 0);
  assignSlots(shown, rows, slots, {
    kept: new Map(others.map((place) => [place, slotOf(place)])),
    listEarlier: (place) => (slots.mayBePaid(shown.slots[place] as number) ? [] : [slotOf(place)]),
    comes: (slot) => atService.has(slot),
  });
  markWanted(shown, slots);
  const earlier = findEarlier(shown, state);
  return { ...state, manifest: { ...manifest, rows: shown, shown: mapSlots(rows, shown), earlier } };
}

/** The slots that rows have in another table, by those that they have in this one, where they differ. */
function mapSlots({ size, slots }: RowTable, { slots: others }: RowTable): Map<number, number> {
  const found = new Map<number, number>();
  for (let place = 0; place < size; place++)
    if (slots[place] !== others[place]) found.set(slots[place] as number, others[place] as number);
  return found;
}

/** The slots with the newest earlier answers to the same questions, by the slots of rows for which nothing came yet. */
function findEarlier(table: RowTable, { links, slots }: Pick<BatchState, 'links' | 'slots'>): Map<number, number> {
  const byQuestion = new Map<string, number[]>();
  for (const [slot, { asks }] of links)
    if (slots.answersOf(slot) > 0 && !slots.has(slot, 'wanted')) {
      const same = byQuestion.get(asks);
      if (same) same.push(slot);
      else byQuestion.set(asks, [slot]);
    }
  const found = new Map<number, number>();
  // Of equal rows, the last one has the newest answer.
  for (const [place, { asks }] of [...table.links].toReversed()) {
    const slot = table.slots[place] as number;
    const earlier = slots.placeOf(slot) === undefined ? byQuestion.get(asks)?.pop() : undefined;
    if (earlier !== undefined) found.set(slot, earlier);
  }
  return found;
}

/** The slot of a row by its name in jobs.jsonl, in a state for reports; -1 if there is none. */
export function findShown(name: string, { manifest, slots }: Pick<BatchState, 'manifest' | 'slots'>): number {
  const slot = slots.findNamed(name);
  return manifest.shown?.get(slot) ?? slot;
}
