import type { Slots } from '../folder/slots.ts';
import { addRow, digestUses, hashRowId, indexRows, nameUses, type RowIndex, type RowTable } from './table.ts';

interface Assigning {
  table: RowTable;
  slots: Slots;
  /** The slot of a row in the last run. Few tables need it. */
  findBefore(place: number): number | undefined;
  /** The slots of rows that use others, and kept slots: another row can ask the same, on any level of links. */
  taken: Set<number>;
  comes(slot: number): boolean;
}

interface AssignOptions {
  /** The slots that rows keep though they ask something else now, by the places of the rows. Slots from `listEarlier` are added. */
  kept?: Map<number, number>;
  /** The slots with earlier answers that a row would keep rather than take its new one, the best first. */
  listEarlier?(place: number): readonly number[];
  /** Whether a new answer of a slot is to come in this run though the slot is not marked to be made again. */
  comes?(slot: number): boolean;
}

/**
 * Gives each row of a table its slot, and no slot to two of them. Of rows with the same key, each keeps its slot in `before`, and
 * slots with an answer are given out first, so that no row waits while there is an answer to its question. Yields the rows of each level of
 * links: what is made again of these is to be marked before the rows that use them get their keys.
 */
export function* assignLevels(
  table: RowTable,
  before: RowTable,
  slots: Slots,
  { kept = new Map(), listEarlier = () => [], comes = () => false }: AssignOptions = {},
): Generator<Iterable<number>, void> {
  let index: RowIndex | undefined;
  const findBefore = (place: number): number | undefined => {
    index ??= indexRows(before);
    const was = index.find(table.ids[place] as number);
    return was === undefined ? undefined : before.slots[was];
  };
  const taken = new Set(kept.values());
  const assigning: Assigning = { table, slots, findBefore, taken, comes };
  const unlinked = listUnlinked(table);
  assignAsked(unlinked, assigning);
  yield unlinked;
  for (const places of table.levels) {
    for (const place of places) enterUses(place, assigning);
    const asking = places.filter((place) => !kept.has(place));
    assignAsked(asking, assigning);
    for (const place of asking) taken.add(table.slots[place] as number);
    for (const place of asking) {
      const earlier = listEarlier(place).find((slot) => !taken.has(slot));
      if (earlier === undefined) continue;
      kept.set(place, earlier);
      taken.add(earlier);
    }
    for (const place of places) table.slots[place] = kept.get(place) ?? (table.slots[place] as number);
    yield places;
  }
}

/** Gives each row of a table its slot, as `assignLevels` does. */
export function assignSlots(table: RowTable, before: RowTable, slots: Slots, options?: AssignOptions): void {
  for (const _ of assignLevels(table, before, slots, options));
}

/**
 * Gives slots to rows that come one by one: rows that ask the same get the slots of their key in order. Returns undefined for a row
 * whose id has asked the same before.
 */
export function openAssigning(table: RowTable, slots: Slots): (row: { id: string; key: string }) => number | undefined {
  const placeOf = new Map<number, number>();
  return (row) => {
    const id = hashRowId(row.id);
    let number = 1;
    const findOther = (): number | undefined => placeOf.get(slots.find(row.key, number));
    for (let other = findOther(); other !== undefined; other = findOther()) {
      if (table.ids[other] === id) return undefined;
      number++;
    }
    const place = addRow(table, row, slots.add(row.key));
    const slot = slots.add(row.key, number);
    table.slots[place] = slot;
    placeOf.set(slot, place);
    slots.setFlag(slot, 'wanted');
    return slot;
  };
}

function listUnlinked({ size, links }: RowTable): Uint32Array {
  const places = new Uint32Array(size - links.size);
  let count = 0;
  for (let place = 0; place < size; place++) if (!links.has(place)) places[count++] = place;
  return places;
}

/** Makes the key of a row that uses others: it has their slots and generations in place of their answers, so these come first. */
function enterUses(place: number, { table, slots, comes }: Assigning): void {
  const link = table.links.get(place);
  if (link === undefined) return;
  link.uses = link.parents.map((parent) => {
    const slot = table.slots[parent] as number;
    return { slot, generation: slots.generationOf(slot, comes(slot)) };
  });
  const asked = link.parents.map(
    (parent) => table.links.get(parent)?.asks ?? slots.keyOf(table.firsts[parent] as number),
  );
  link.asks = digestUses(link.key, asked);
  table.firsts[place] = slots.add(digestUses(link.key, nameUses(link.uses, slots).split(' ')));
}

/** Gives slots to rows that do not use each other, by their keys. */
function assignAsked(places: Iterable<number>, assigning: Assigning): void {
  for (const [first, group] of groupSame(places, assigning)) assignSame(first, group, assigning);
}

/**
 * Gives each row the first slot of its key. Returns the rows that are not alone with it: others have the same key, or the key has
 * more slots.
 */
function groupSame(places: Iterable<number>, { table, slots, taken }: Assigning): Map<number, number[]> {
  const groups = new Map<number, number[]>();
  const owners = new Int32Array(slots.size).fill(-1);
  for (const place of places) {
    const first = table.firsts[place] as number;
    table.slots[place] = first;
    const owner = owners[first] as number;
    if (owner < 0) owners[first] = place;
    if (owner < 0 && !slots.hasOthers(first) && !taken.has(first)) continue;
    const group = groups.get(first) ?? (owner < 0 ? [] : [owner]);
    group.push(place);
    groups.set(first, group);
  }
  return groups;
}

/** Slots with an answer come first, then slots that may have been billed. */
function rankSlot(slot: number, slots: Slots): 0 | 1 | 2 {
  if (slots.answersOf(slot) > 0) return 0;
  return slots.stateOf(slot) === 'sent' ? 1 : 2;
}

/** Gives slots to rows with the same key. In each round a row keeps its own slot, and free slots go to the others in the order of the file. */
function assignSame(first: number, group: readonly number[], { table, slots, findBefore, taken }: Assigning): void {
  const ranks: [number[], number[], number[]] = [[], [], []];
  for (const slot of slots.listSame(first)) if (!taken.has(slot)) ranks[rankSlot(slot, slots)].push(slot);
  let asking = group;
  const keepIf = (takeFor: (place: number) => number | undefined): void => {
    asking = asking.filter((place) => {
      const slot = takeFor(place);
      if (slot !== undefined) table.slots[place] = slot;
      return slot === undefined;
    });
  };
  for (const rank of ranks) {
    const free = new Set(rank);
    keepIf((place) => {
      const own = findBefore(place);
      return own !== undefined && free.delete(own) ? own : undefined;
    });
    const others = free.values();
    keepIf(() => others.next().value);
  }
  const key = slots.keyOf(first);
  let number = 1;
  keepIf(() => {
    while (slots.find(key, number) >= 0) number++;
    return slots.add(key, number);
  });
}
