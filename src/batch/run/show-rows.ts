import { assignSlots } from './assign.ts';
import { openEarlier } from './assign-rows.ts';
import { partLevels } from './links.ts';
import { markWanted, type RowTable } from './table.ts';
import type { Slots } from '../folder/slots.ts';
import type { BatchState } from '../folder/state.ts';

/**
 * The rows of a table with the slots whose answers they show. A row that uses others shows what was answered to what it asks of the
 * answers that count now. While nothing was sent for that, it shows its earlier answer, also if the user has said to pay for another.
 */
export function showRows(
  rows: RowTable,
  { atService, links, slots }: Pick<BatchState, 'atService' | 'links' | 'slots'>,
  isOwn: (place: number) => boolean,
): RowTable {
  if (rows.links.size === 0) return rows;
  const shown = {
    ...rows,
    firsts: rows.firsts.slice(),
    slots: rows.slots.slice(),
    links: new Map(Array.from(rows.links, ([place, link]) => [place, { ...link }])),
    levels: partLevels(rows.links).levels,
  };
  // Nothing is known here of the answers of other shards.
  const others = [...rows.links.keys()].filter((place) => !isOwn(place));
  assignSlots(shown, rows, slots, {
    kept: new Map(others.map((place) => [place, rows.slots[place] as number])),
    listEarlier: openEarlier(shown, rows, { links, slots }, (slot) => slots.stateOf(slot) === 'pending'),
    comes: (slot) => atService.has(slot),
  });
  markWanted(shown, slots);
  return { ...shown, accepted: findAccepted(rows, shown, slots) };
}

/** The places of rows that ask what the table has for them, and show earlier answers, and of those that use these. */
function findAccepted(rows: RowTable, { firsts, levels, slots: shown }: RowTable, slots: Slots): ReadonlySet<number> {
  const accepted = new Set<number>();
  for (const place of levels.flat()) {
    const asked = rows.slots[place] as number;
    const isSame = slots.firstOf(asked) === firsts[place];
    const usesSuch = rows.links.get(place)?.parents.some((parent) => accepted.has(parent)) === true;
    if (asked !== shown[place] && (isSame || usesSuch)) accepted.add(place);
  }
  return accepted;
}

/** The state of a batch for reports, whose rows have the slots that they show. */
export function showAnswers(state: BatchState): BatchState {
  const { manifest } = state;
  const { rows } = manifest;
  const shown = showRows(rows, state, (place) => rows.others[place] === 0);
  const moved = new Map<number, number>();
  for (let place = 0; place < rows.size; place++) {
    const [slot, other] = [rows.slots[place] as number, shown.slots[place] as number];
    if (slot !== other) moved.set(slot, other);
  }
  return { ...state, manifest: { ...manifest, rows: shown, shown: moved } };
}

/** The slot that a row of jobs.jsonl shows, by the name that it has there; -1 if there is none. */
export function findShown(name: string, { manifest, slots }: Pick<BatchState, 'manifest' | 'slots'>): number {
  const slot = slots.findNamed(name);
  return manifest.shown?.get(slot) ?? slot;
}
