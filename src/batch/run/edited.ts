import type { Slots } from '../folder/slots.ts';
import type { RowTable } from './table.ts';
import { append } from '../../long-lists.ts';

/** A row without an answer, whose id has an answer that no row wants any more. */
export interface EditedRow {
  place: number;
  /** The slot that it had. */
  had: number | undefined;
  /** Nothing of it was edited: what it uses is newer than what it was made of. */
  isStale: boolean;
}

/**
 * The rows that were edited since `before`, the manifest of the last run. `isOwn`: whether a slot belongs to this shard; what another one sent is
 * not known here, and counts as answered. Marks the slots that are wanted.
 */
export function findEdited(
  table: RowTable,
  before: RowTable,
  slots: Slots,
  isOwn: (slot: number) => boolean = () => true,
): EditedRow[] {
  markWanted(table, slots);
  const orphans = listOrphans(before, slots, isOwn);
  if (orphans.length === 0) return [];
  const byId = new Map(orphans.map((place) => [before.ids[place] as number, place]));
  const edited: EditedRow[] = [];
  for (const place of listUnanswered(table, slots, isOwn)) {
    const was = table.numbered[place] === 1 ? undefined : byId.get(table.ids[place] as number);
    if (was === undefined) continue;
    const own = before.own.get(was);
    const isStale = own !== undefined && own === table.own.get(place);
    edited.push({ place, had: before.slots[was], isStale });
  }
  const numbered = orphans.filter((place) => before.numbered[place] === 1);
  const gaps = numbered.length > 0 ? findInGaps(table, before, numbered, slots, isOwn) : [];
  return [...edited, ...gaps.map((place) => ({ place, had: undefined, isStale: false }))].sort(
    (a, b) => a.place - b.place,
  );
}

function markWanted(table: RowTable, slots: Slots): void {
  for (let slot = 0; slot < slots.size; slot++) slots.setFlag(slot, 'wanted', false);
  for (let place = 0; place < table.size; place++) slots.setFlag(table.slots[place] as number, 'wanted');
}

/** The places in `before` of what has an answer, or may have been billed, and is not wanted any more. What failed is mended, not edited. */
function listOrphans(before: RowTable, slots: Slots, isOwn: (slot: number) => boolean): number[] {
  const found: number[] = [];
  for (let place = 0; place < before.size; place++) {
    const slot = before.slots[place] as number;
    if (slots.has(slot, 'wanted')) continue;
    if (!isOwn(slot) || isPaid(slot, slots)) found.push(place);
  }
  return found;
}

function isPaid(slot: number, slots: Slots): boolean {
  return slots.answersOf(slot) > 0 || slots.stateOf(slot) === 'sent';
}

function* listUnanswered(
  { size, slots: rowSlots }: RowTable,
  slots: Slots,
  isOwn: (slot: number) => boolean,
): Generator<number, void> {
  for (let place = 0; place < size; place++) {
    const slot = rowSlots[place] as number;
    if (isOwn(slot) && !isPaid(slot, slots)) yield place;
  }
}

/**
 * Rows whose ids are numbers: without an answer, where an orphan lay between the same two neighbours. Where the rows that are still there have another
 * order, neighbours say nothing, and each of them may be edited.
 */
function findInGaps(
  table: RowTable,
  before: RowTable,
  orphans: readonly number[],
  slots: Slots,
  isOwn: (slot: number) => boolean,
): number[] {
  const placeBefore = new Int32Array(slots.size).fill(-1);
  for (let place = 0; place < before.size; place++)
    if (before.numbered[place] === 1) placeBefore[before.slots[place] as number] = place;
  const edited: number[] = [];
  const others: number[] = [];
  let gap: number[] = [];
  let [last, isOrdered, next] = [-1, true, 0];
  const closeGap = (end: number): void => {
    while (next < orphans.length && (orphans[next] as number) < last) next++;
    const hasOrphan = next < orphans.length && (orphans[next] as number) < end;
    append(hasOrphan ? edited : others, gap);
    gap = [];
  };
  for (let place = 0; place < table.size; place++) {
    const slot = table.slots[place] as number;
    const known = placeBefore[slot] as number;
    if (known >= 0) {
      isOrdered &&= known > last;
      closeGap(known);
      last = known;
    } else if (table.numbered[place] === 1 && isOwn(slot) && !isPaid(slot, slots)) gap.push(place);
  }
  closeGap(Number.POSITIVE_INFINITY);
  return isOrdered ? edited : [...edited, ...others];
}
