import type { Slots } from '../folder/slots.ts';
import type { RowTable } from './table.ts';
import { append } from '../../library/index.ts';

/** A row without an answer, whose id has an answer that no row wants any more; or that was left so by a run that sent only what was named. */
export interface EditedRow {
  place: number;
  /** The row itself was not edited: an answer that it uses is newer than the one that its own answer was made of. */
  isStale: boolean;
}

/**
 * Finds the rows that were edited since `before`, the manifest of the last run. `hasOtherFlags`: that run read the same table with other flags. `isOwn`: whether a row of the table belongs to the
 * shard of this run, if it has one. What other shards sent is not known here: it counts as answered. To
 * be asked once the slots of the table are marked as wanted.
 */
export function findEdited(
  table: RowTable,
  before: RowTable,
  slots: Slots,
  { hasOtherFlags, isOwn }: { hasOtherFlags?: boolean; isOwn?: ((place: number) => boolean) | undefined } = {},
): EditedRow[] {
  const orphans = listOrphans(before, slots, isOwn !== undefined);
  const left = listLeft(table, slots);
  if (orphans.length === 0) return left;
  const placeBefore = new Int32Array(slots.size).fill(-1);
  for (let place = 0; place < before.size; place++) placeBefore[before.slots[place] as number] = place;
  const hasOtherIds = haveOtherIds(table, before, { placeBefore, hasOtherFlags });
  const kindOf: KindOf = hasOtherIds ? () => 1 : ({ numbered }, at) => numbered[at] ?? 0;
  const byId = new Map(orphans.map((place) => [before.ids[place] as number, place]));
  const edited: EditedRow[] = [];
  const isNew = (place: number): boolean => {
    const slot = table.slots[place] as number;
    return isOwn?.(place) !== false && !isPaid(slot, slots) && !slots.has(slot, 'edited');
  };
  for (let place = 0; place < table.size; place++) {
    if (!isNew(place)) continue;
    const was = kindOf(table, place) > 0 ? undefined : byId.get(table.ids[place] as number);
    if (was === undefined) continue;
    const own = before.own.get(was);
    const isStale = own !== undefined && own === table.own.get(place);
    edited.push({ place, isStale });
  }
  const numbered = orphans.filter((place) => kindOf(before, place) > 0);
  const gaps = numbered.length > 0 ? findInGaps(table, before, { orphans: numbered, placeBefore, kindOf, isNew }) : [];
  return [...left, ...edited, ...gaps.map(toEdited)].sort((a, b) => a.place - b.place);
}

function toEdited(place: number): EditedRow {
  return { place, isStale: false };
}

/** The rows that were edited already when the last run left them. */
function listLeft(table: RowTable, slots: Slots): EditedRow[] {
  const found: EditedRow[] = [];
  for (let place = 0; place < table.size; place++) {
    const slot = table.slots[place] as number;
    if (slots.has(slot, 'edited') && !isPaid(slot, slots)) found.push(toEdited(place));
  }
  return found;
}

/** Marks the slots of the rows of a table as wanted. */
export function markWanted(table: RowTable, slots: Slots): void {
  for (let slot = 0; slot < slots.size; slot++) slots.setFlag(slot, 'wanted', false);
  for (let place = 0; place < table.size; place++) slots.setFlag(table.slots[place] as number, 'wanted');
}

/** Marks the slots of edited rows that nobody has said to pay for, and no others. */
export function markEdited(places: readonly number[], table: RowTable, slots: Slots): void {
  for (let slot = 0; slot < slots.size; slot++) slots.setFlag(slot, 'edited', false);
  for (const place of places) slots.setFlag(table.slots[place] as number, 'edited');
}

/**
 * The orphans: places in `before` of slots that have an answer, or may have been billed, and are not wanted any more; or of rows
 * that were edited then already, and left. A row that failed is mended, not edited.
 */
function listOrphans(before: RowTable, slots: Slots, isSharded: boolean): number[] {
  const found: number[] = [];
  for (let place = 0; place < before.size; place++) {
    const slot = before.slots[place] as number;
    if (slots.has(slot, 'wanted')) continue;
    if ((isSharded && before.others[place] !== 0) || isPaid(slot, slots) || slots.has(slot, 'edited'))
      found.push(place);
  }
  return found;
}

function isPaid(slot: number, slots: Slots): boolean {
  return slots.answersOf(slot) > 0 || slots.stateOf(slot) === 'sent';
}

/** The kind of a row whose id is a number: ids of one kind differ in their numbers alone. 0 if the id says which row it is. */
type KindOf = (rows: RowTable, place: number) => number;

/**
 * Whether the rows that are still there all have other ids, for example from another column: then ids tell as little as numbers do.
 * A number that only moved is no other id. Where no row is still there, other flags can have named them all anew.
 */
function haveOtherIds(
  table: RowTable,
  before: RowTable,
  { placeBefore, hasOtherFlags = false }: { placeBefore: Int32Array; hasOtherFlags?: boolean | undefined },
): boolean {
  let isSomeThere = false;
  for (let place = 0; place < table.size; place++) {
    const was = placeBefore[table.slots[place] as number] as number;
    if (was < 0) continue;
    const kind = table.numbered[place];
    if (kind === before.numbered[was] && (kind !== 0 || before.ids[was] === table.ids[place])) return false;
    isSomeThere = true;
  }
  if (isSomeThere || !hasOtherFlags) return isSomeThere;
  const ids = new Set(before.ids.subarray(0, before.size));
  return !table.ids.subarray(0, table.size).some((id) => ids.has(id));
}

/** The rows of one kind, whose ids differ in their numbers alone, while their table is read. A known row is one that the manifest has, too. */
interface NumberedRows {
  /** Places of orphans in the manifest; and how many of them lie before the last known row. */
  orphans: number[];
  passed: number;
  /** The place of the last known row in the manifest; and whether the known rows have the same order as before. */
  last: number;
  isOrdered: boolean;
  /** New rows since the last known one, new rows in gaps with an orphan, and the other new rows. */
  gap: number[];
  edited: number[];
  others: number[];
}

/**
 * Finds edited rows among rows whose ids are numbers: rows without an answer, if an orphan of the same kind lay between the same
 * two neighbours. If the rows that are still there have another order, neighbours tell nothing, and each new row may be edited.
 */
function findInGaps(
  table: RowTable,
  before: RowTable,
  {
    orphans,
    placeBefore,
    kindOf,
    isNew,
  }: { orphans: readonly number[]; placeBefore: Int32Array; kindOf: KindOf; isNew: (place: number) => boolean },
): number[] {
  const kinds = new Map<number, NumberedRows>();
  for (const place of orphans) {
    const tag = kindOf(before, place);
    const kind = kinds.get(tag) ?? newNumberedRows();
    kind.orphans.push(place);
    kinds.set(tag, kind);
  }
  for (let place = 0; place < table.size; place++) {
    const known = placeBefore[table.slots[place] as number] as number;
    const kind = kinds.get(kindOf(table, place));
    if (kind === undefined) continue;
    if (known >= 0) closeGap(kind, known);
    else if (isNew(place)) kind.gap.push(place);
  }
  return [...kinds.values()].flatMap((kind) => {
    closeGap(kind, Number.POSITIVE_INFINITY);
    return kind.isOrdered ? kind.edited : [...kind.edited, ...kind.others];
  });
}

function newNumberedRows(): NumberedRows {
  return { orphans: [], passed: 0, last: -1, isOrdered: true, gap: [], edited: [], others: [] };
}

/** Ends a gap of new rows at the next known row, whose place in the manifest is `end`. */
function closeGap(kind: NumberedRows, end: number): void {
  const { orphans, gap } = kind;
  while (kind.passed < orphans.length && (orphans[kind.passed] as number) < kind.last) kind.passed++;
  const hasOrphan = kind.passed < orphans.length && (orphans[kind.passed] as number) < end;
  append(hasOrphan ? kind.edited : kind.others, gap);
  kind.gap = [];
  kind.isOrdered &&= end > kind.last;
  kind.last = end;
}
