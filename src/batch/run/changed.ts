import type { Slots } from '../folder/slots.ts';
import { hasSameOwn, indexRows, type RowTable } from './table.ts';

/** A row without an answer that is not paid for before the user says so. */
export interface ChangedRow {
  place: number;
  /**
   * `edited`: it asks something else than its answer was to, or was left so by a run that sent only what was named. `outdated`: the row
   * itself was not edited, but an answer that it uses is newer than the one that its own answer was made of. `resharded`: it was of another
   * shard, as rows that use each other are of one, and may be paid there.
   */
  kind: 'edited' | 'outdated' | 'resharded';
  /** There are fewer answers without a row than rows that may have been edited: some of these are new. */
  mayBeNew: boolean;
}

/** Facts of this run beside its table. */
interface Comparing {
  /** The last run read the same table with other flags. */
  hasOtherFlags?: boolean;
  /** Whether a row of the table belongs to this run. */
  isOwn?: (place: number) => boolean;
  /** This run is of a shard. What other shards sent is not known here: it counts as answered. */
  isSharded?: boolean;
  /** Whether `--retry` names what a slot has. */
  isRetried?: (slot: number) => boolean;
}

/**
 * Finds the rows that changed since `before`, the manifest of the last run. An edited row is known by its id; but where an id is a number, it
 * does not tell which row was edited, so each new row may be one. To be asked once the slots of the table are marked as wanted.
 */
export function findChanged(table: RowTable, before: RowTable, slots: Slots, comparing: Comparing = {}): ChangedRow[] {
  const { isOwn = () => true, isRetried = () => false, isSharded = false } = comparing;
  const orphans = findOrphans(before, slots, isSharded);
  if (orphans.size === 0 && before.edited.size === 0 && !before.others.some((shard) => shard !== 0)) return [];
  const idsBefore = indexRows(before);
  const placeBefore = new Int32Array(slots.size).fill(-1);
  for (let place = 0; place < before.size; place++) placeBefore[before.slots[place] as number] = place;
  const hasOtherIds = haveOtherIds(table, before, { ...comparing, orphans, placeBefore });
  const seriesOf = ({ series }: RowTable, place: number): number => (hasOtherIds ? 1 : (series[place] as number));
  const orphansOf = countBy(orphans, (place) => seriesOf(before, place));
  const found: Omit<ChangedRow, 'mayBeNew'>[] = [];
  for (let place = 0; place < table.size; place++) {
    const slot = table.slots[place] as number;
    if (!isOwn(place) || isLeft(slot)) continue;
    const kind = findKind(place, slot);
    if (kind !== undefined) found.push({ place, kind });
  }
  const edited = found.filter(({ kind }) => kind !== 'resharded');
  const editedOf = countBy(edited, ({ place }) => seriesOf(table, place));
  const mayBeNew = (series: number): boolean =>
    series > 0 && (editedOf.get(series) ?? 0) > (orphansOf.get(series) ?? 0);
  return found.map((row) => ({ ...row, mayBeNew: mayBeNew(seriesOf(table, row.place)) }));

  /** Whether a run leaves a slot as it is, also if another row had it before. */
  function isLeft(slot: number): boolean {
    return slots.answersOf(slot) > 0 || (slots.stateOf(slot) !== 'pending' && !isRetried(slot));
  }

  /** How a row without an answer changed; undefined if it is new, or asks what it asked. */
  function findKind(place: number, slot: number): ChangedRow['kind'] | undefined {
    const series = seriesOf(table, place);
    const sameId = idsBefore.find(table.ids[place] as number);
    const sameSlot = placeBefore[slot] as number;
    // What a numbered row asks tells more about it than its number.
    const was = series > 0 && sameSlot >= 0 ? sameSlot : (sameId ?? sameSlot);
    const isSameOwn = hasSameOwn(table, place, before, was);
    const wasElsewhere = was >= 0 && before.others[was] !== 0;
    if (wasElsewhere && (was === sameSlot || isSameOwn)) return 'resharded';
    if (before.edited.has(was)) return 'edited';
    const isEdited = series > 0 ? sameSlot < 0 && orphansOf.has(series) && !isUnanswered(sameId) : orphans.has(was);
    if (!isEdited) return undefined;
    return isSameOwn ? 'outdated' : 'edited';
  }

  /** Whether a row had the same number, was never answered, and is gone: then its place has another question, and no answer is lost. */
  function isUnanswered(sameId: number | undefined): boolean {
    return sameId !== undefined && !orphans.has(sameId) && !slots.has(before.slots[sameId] as number, 'wanted');
  }
}

function countBy<Item>(items: Iterable<Item>, seriesOf: (item: Item) => number): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const item of items) counts.set(seriesOf(item), (counts.get(seriesOf(item)) ?? 0) + 1);
  return counts;
}

/**
 * The orphans: places in `before` of slots that have an answer, or may have been billed, and are not wanted any more; or of rows
 * that were edited then already, and left, or that showed an earlier answer, as nothing was sent for them. A row that failed is mended,
 * not edited.
 */
function findOrphans(before: RowTable, slots: Slots, isSharded: boolean): Set<number> {
  const found = new Set<number>();
  for (let place = 0; place < before.size; place++) {
    const slot = before.slots[place] as number;
    if (slots.has(slot, 'wanted')) continue;
    const shown = slots.stateOf(slot) === 'pending' ? (before.earlier.get(place) ?? slot) : slot;
    const isPaid = slots.mayBePaid(shown) && !slots.has(shown, 'wanted');
    if ((isSharded && before.others[place] !== 0) || isPaid || before.edited.has(place)) found.add(place);
  }
  return found;
}

/**
 * Whether rows were named anew, for example from another column: no row that is still there has its id, and no orphan's id is there.
 * Then ids tell as little as numbers do. A number that only moved is no other id. Where no row is still there, other flags can have
 * named them all anew.
 */
function haveOtherIds(
  table: RowTable,
  before: RowTable,
  {
    orphans,
    placeBefore,
    hasOtherFlags = false,
  }: Comparing & { orphans: ReadonlySet<number>; placeBefore: Int32Array },
): boolean {
  const ids = indexRows(table);
  for (const orphan of orphans) if (ids.find(before.ids[orphan] as number) !== undefined) return false;
  let isSomeThere = false;
  for (let place = 0; place < table.size; place++) {
    const was = placeBefore[table.slots[place] as number] as number;
    if (was < 0) continue;
    const series = table.series[place];
    if (series === before.series[was] && (series !== 0 || before.ids[was] === table.ids[place])) return false;
    isSomeThere = true;
  }
  return isSomeThere || hasOtherFlags;
}
