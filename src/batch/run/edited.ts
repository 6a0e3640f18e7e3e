import type { Slots } from '../folder/slots.ts';
import type { RowTable } from './table.ts';
import { append } from '../../long-lists.ts';

/** A row without an answer, whose id has an answer that no row wants any more. */
export interface EditedRow {
  place: number;
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
  const placeBefore = new Int32Array(slots.size).fill(-1);
  for (let place = 0; place < before.size; place++) placeBefore[before.slots[place] as number] = place;
  const kindOf: KindOf = haveOtherIds(table, before, placeBefore) ? () => 1 : ({ numbered }, at) => numbered[at] ?? 0;
  const byId = new Map(orphans.map((place) => [before.ids[place] as number, place]));
  const edited: EditedRow[] = [];
  for (const place of listUnanswered(table, slots, isOwn)) {
    const was = kindOf(table, place) > 0 ? undefined : byId.get(table.ids[place] as number);
    if (was === undefined) continue;
    const own = before.own.get(was);
    const isStale = own !== undefined && own === table.own.get(place);
    edited.push({ place, isStale });
  }
  const numbered = orphans.filter((place) => kindOf(before, place) > 0);
  const isNew = (slot: number): boolean => isOwn(slot) && !isPaid(slot, slots);
  const gaps = numbered.length > 0 ? findInGaps(table, before, { orphans: numbered, placeBefore, kindOf, isNew }) : [];
  return [...edited, ...gaps.map((place) => ({ place, isStale: false }))].sort((a, b) => a.place - b.place);
}

/** Marks the slots that rows of a table have. */
export function markWanted(table: RowTable, slots: Slots): void {
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

/** Of a row whose id is a number, which ids differ from it in their numbers alone; 0: its id says which row it is. */
type KindOf = (rows: RowTable, place: number) => number;

/** Whether the rows that are still there all have other ids, as with another column for them: then ids say as little as numbers do. A number that only moved is no other id. */
function haveOtherIds(table: RowTable, before: RowTable, placeBefore: Int32Array): boolean {
  let isSame = false;
  for (let place = 0; place < table.size; place++) {
    const was = placeBefore[table.slots[place] as number] as number;
    if (was < 0) continue;
    const kind = table.numbered[place];
    if (kind === before.numbered[was] && (kind !== 0 || before.ids[was] === table.ids[place])) return false;
    isSame = true;
  }
  return isSame;
}

/** What is known of rows whose ids differ in their numbers alone, while their table is gone through. */
interface NumberedRows {
  /** Places in the manifest of answers that no row wants; how many of them lie before the last row that is known. */
  orphans: number[];
  passed: number;
  /** The place in the manifest of that row; and whether those that are known have the same order as before. */
  last: number;
  isOrdered: boolean;
  /** New rows since then, those in gaps with an orphan, and the others. */
  gap: number[];
  edited: number[];
  others: number[];
}

/**
 * Rows whose ids are numbers: without an answer, where an orphan of the same kind lay between the same two neighbours. Where the rows that are
 * still there have another order, neighbours say nothing, and each of them may be edited.
 */
function findInGaps(
  table: RowTable,
  before: RowTable,
  {
    orphans,
    placeBefore,
    kindOf,
    isNew,
  }: { orphans: readonly number[]; placeBefore: Int32Array; kindOf: KindOf; isNew: (slot: number) => boolean },
): number[] {
  const kinds = new Map<number, NumberedRows>();
  for (const place of orphans) {
    const tag = kindOf(before, place);
    const kind = kinds.get(tag) ?? newNumberedRows();
    kind.orphans.push(place);
    kinds.set(tag, kind);
  }
  for (let place = 0; place < table.size; place++) {
    const slot = table.slots[place] as number;
    const known = placeBefore[slot] as number;
    const kind = kinds.get(kindOf(table, place));
    if (kind === undefined) continue;
    if (known >= 0) closeGap(kind, known);
    else if (isNew(slot)) kind.gap.push(place);
  }
  return [...kinds.values()].flatMap((kind) => {
    closeGap(kind, Number.POSITIVE_INFINITY);
    return kind.isOrdered ? kind.edited : [...kind.edited, ...kind.others];
  });
}

function newNumberedRows(): NumberedRows {
  return { orphans: [], passed: 0, last: -1, isOrdered: true, gap: [], edited: [], others: [] };
}

/** The next row that is known was at a place of the manifest. */
function closeGap(kind: NumberedRows, end: number): void {
  const { orphans, gap } = kind;
  while (kind.passed < orphans.length && (orphans[kind.passed] as number) < kind.last) kind.passed++;
  const hasOrphan = kind.passed < orphans.length && (orphans[kind.passed] as number) < end;
  append(hasOrphan ? kind.edited : kind.others, gap);
  kind.gap = [];
  kind.isOrdered &&= end > kind.last;
  kind.last = end;
}
