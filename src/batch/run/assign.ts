import type { Slots } from '../folder/slots.ts';
import {
  addRow,
  type AskingRow,
  digestUses,
  hashRowId,
  indexRows,
  nameUses,
  type RowIndex,
  type RowTable,
} from './table.ts';

/** Options of the assignment of slots to rows. */
interface AssignOptions {
  /** The slots that rows keep though they ask something else now, by the places of the rows. Slots from `findStale` are added. */
  stays?: Map<number, number>;
  /** Finds the slots that a row would keep rather than its new one, the best first. */
  findStale?: (place: number) => Iterable<number>;
  /** Called once the slot of a row is known, and before those of the rows that use it. */
  onSlot?: (place: number, slot: number) => void;
}

interface Assigning extends Required<AssignOptions> {
  table: RowTable;
  slots: Slots;
  /** The slot of a row before. Few tables need it. */
  findHad(place: number): number | undefined;
  /** The slots of rows that use others, and kept slots: another row can ask the same, on any level of links. */
  taken: Set<number>;
}

/**
 * Gives each row of a table its slot, and no slot to two of them. Of rows with the same key, each keeps its slot in `before`, and
 * slots with an answer are given out first, so that no row waits while there is an answer to its question.
 */
export function assignSlots(
  table: RowTable,
  before: RowTable,
  slots: Slots,
  { stays = new Map(), findStale = () => [], onSlot = () => undefined }: AssignOptions = {},
): void {
  let had: RowIndex | undefined;
  const findHad = (place: number): number | undefined => {
    had ??= indexRows(before);
    const was = had.find(table.ids[place] as number);
    return was === undefined ? undefined : before.slots[was];
  };
  const assigning: Assigning = { table, slots, findHad, stays, findStale, onSlot, taken: new Set(stays.values()) };
  assignAsked(() => listUnlinked(table), assigning);
  for (const place of listUnlinked(table)) onSlot(place, table.slots[place] as number);
  // The key of a row has the slots and generations of the answers that it uses, so these come first.
  for (const places of table.levels) {
    for (const place of places) enterUses(place, assigning);
    assignLinked(places, assigning);
  }
}

/**
 * Gives slots to rows that come one by one: rows that ask the same get the slots of their key in order. Returns undefined for a row
 * whose id has asked the same before.
 */
export function openAssigning(table: RowTable, slots: Slots): (row: AskingRow) => number | undefined {
  const placeOf = new Map<number, number>();
  return (row) => {
    const id = hashRowId(row.id);
    let number = 1;
    const findOther = (): number | undefined => placeOf.get(slots.find(row.key, number));
    for (let other = findOther(); other !== undefined; other = findOther()) {
      if (table.ids[other] === id) return undefined;
      number++;
    }
    const place = addRow(table, row, slots);
    const slot = slots.add(row.key, number);
    table.slots[place] = slot;
    placeOf.set(slot, place);
    slots.setFlag(slot, 'wanted');
    return slot;
  };
}

function* listUnlinked({ size, links }: RowTable): Generator<number, void> {
  for (let place = 0; place < size; place++) if (!links.has(place)) yield place;
}

/** Makes the key of a row that uses others: it has their slots and generations in place of their answers. */
function enterUses(place: number, { table, slots }: Assigning): void {
  const link = table.links.get(place);
  if (link === undefined) return;
  link.uses = link.parents.map((parent) => {
    const slot = table.slots[parent.place] as number;
    return { slot, generation: slots.generationOf(slot) };
  });
  const asked = link.parents.map(
    (parent) => table.links.get(parent.place)?.asks ?? slots.keyOf(table.firsts[parent.place] as number),
  );
  link.asks = digestUses(link.key, asked);
  table.firsts[place] = slots.add(digestUses(link.key, nameUses(link.uses, slots).split(' ')));
}

/**
 * Gives slots to the rows of a level of links. A row that stays keeps its slot, and a stale row goes back to its slot before,
 * unless another row asks for that.
 */
function assignLinked(places: readonly number[], assigning: Assigning): void {
  const { table, stays, findStale, onSlot, taken } = assigning;
  const asking = places.filter((place) => !stays.has(place));
  assignAsked(() => asking, assigning);
  for (const place of asking) taken.add(table.slots[place] as number);
  for (const place of asking) {
    for (const had of findStale(place)) {
      if (taken.has(had)) continue;
      stays.set(place, had);
      taken.add(had);
      break;
    }
  }
  for (const place of places) {
    table.slots[place] = stays.get(place) ?? (table.slots[place] as number);
    onSlot(place, table.slots[place]);
  }
}

/** Gives slots to rows that do not use each other, by their keys. */
function assignAsked(listPlaces: () => Iterable<number>, assigning: Assigning): void {
  for (const [first, group] of groupSame(listPlaces(), assigning)) assignSame(first, group, assigning);
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
function assignSame(first: number, group: readonly number[], { table, slots, findHad, taken }: Assigning): void {
  const ranks: [number[], number[], number[]] = [[], [], []];
  for (const slot of slots.listSame(first)) if (!taken.has(slot)) ranks[rankSlot(slot, slots)].push(slot);
  let open = group;
  const keepIf = (takeFor: (place: number) => number | undefined): void => {
    open = open.filter((place) => {
      const slot = takeFor(place);
      if (slot !== undefined) table.slots[place] = slot;
      return slot === undefined;
    });
  };
  for (const rank of ranks) {
    const free = new Set(rank);
    keepIf((place) => {
      const own = findHad(place);
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
