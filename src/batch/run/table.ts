import { hash } from 'node:crypto';
import type { ManifestHead } from '../folder/manifest.ts';
import { grown, type Slots } from '../folder/slots.ts';
import type { JobParent } from '../types.ts';

/** An answer that a row uses. */
export interface AnswerUse {
  slot: number;
  generation: number;
}

/** What a row asks that uses the answers of others. */
interface RowLink {
  /** The key of the row's question, without the answers that it uses. */
  key: string;
  /** The places of the rows that it uses. */
  parents: readonly number[];
  /** The answers that the row uses: each by its slot and generation. Known once the slots of its parents are. */
  uses: readonly AnswerUse[];
  /** The key of its question, whatever answers its parents have and whatever they are called. Known once those of its parents are. */
  asks: string;
}

/**
 * The rows of a table in the order of their file, with the facts that their slots depend on; or the rows of a manifest. They are
 * columns: a million ids would take 80 MiB.
 */
export interface RowTable {
  size: number;
  /** The hash of each id. */
  ids: Float64Array;
  /**
   * The series of each id that is the number of its row: the same for ids that differ in their numbers alone, such as `3+model=a` and
   * `4+model=a`. Such an id tells nothing once rows before it come or go. 0 for an id of another kind.
   */
  series: Uint16Array;
  /** The slot with the number 1 of each row's key; -1 for a row that uses others, until the slots of these are known. */
  firsts: Int32Array;
  /** The slot of each row. */
  slots: Int32Array;
  /** For each row of a manifest that belongs to another shard the number of that; 0 for the others. */
  others: Uint32Array;
  /** The places of rows that were edited, and that the user has not said to pay for. */
  edited: Set<number>;
  /** The slots whose answers rows show while nothing came for what they ask, by the places of the rows. */
  earlier: Map<number, number>;
  /** The rows that use others, by their places. */
  links: Map<number, RowLink>;
  /** The rows that each of them uses, as the file names them; not known of the rows of a manifest. */
  jobParents: Map<number, readonly JobParent[]>;
  /** Their places, parted so that each row comes after those that it uses. */
  levels: readonly (readonly number[])[];
  /** The kind of answer of each row: its number in `jobProducts`. */
  products: Uint8Array;
  /**
   * The number in the memo of the digest of each row's line and settings, from 1: a later run knows the key by it, without the
   * request. 0 if the key does not follow from these.
   */
  froms: Int32Array;
}

/** Makes an empty table. `rows`: about how many rows there will be. */
export function newRowTable(rows = 0): RowTable {
  const room = rows + 64;
  return {
    size: 0,
    ids: new Float64Array(room),
    series: new Uint16Array(room),
    firsts: new Int32Array(room),
    slots: new Int32Array(room),
    others: new Uint32Array(room),
    edited: new Set(),
    earlier: new Map(),
    links: new Map(),
    jobParents: new Map(),
    levels: [],
    products: new Uint8Array(room),
    froms: new Int32Array(room),
  };
}

/** Adds a row. `first`: the first slot of its key; absent if it uses others, which can come after it: `linkRows` names them. Returns its place, from 0. */
export function addRow(
  table: RowTable,
  { id, isNumbered }: { id: string; isNumbered?: boolean | undefined },
  first = -1,
): number {
  const place = table.size++;
  if (table.size === table.ids.length) growTable(table);
  table.ids[place] = hashRowId(id);
  table.series[place] = isNumbered ? tagSeries(id) : 0;
  table.firsts[place] = first;
  table.slots[place] = first;
  return place;
}

/** Adds a row of a manifest. Returns its place, from 0. */
export function addManifestRow(table: RowTable, row: ManifestHead, slots: Slots): number {
  const slot = slots.addNamed(row.slot);
  const place = addRow(table, { id: row.id, isNumbered: row.numbered }, slots.firstOf(slot));
  table.slots[place] = slot;
  const { key, parents = '' } = row;
  if (key !== undefined) table.links.set(place, { key, parents: parents.split(' ').map(Number), uses: [], asks: '' });
  table.others[place] = row.other ?? 0;
  if (row.edited) table.edited.add(place);
  if (row.earlier !== undefined) table.earlier.set(place, slots.addNamed(row.earlier));
  return place;
}

/** The rows of a table by the hashes of their ids. */
export type RowIndex = ReturnType<typeof indexRows>;

/** Finds the rows of a table by their ids. It is an open hash table, as a Map of a million numbers takes 60 MiB. */
export function indexRows(table: RowTable) {
  /** The place of a row plus one, as 0 is empty. At most half of them are taken. */
  let places = new Int32Array(0);
  function seek(id: number): number {
    const mask = places.length - 1;
    for (let at = id & mask; ; at = (at + 1) & mask) {
      const place = (places[at] as number) - 1;
      if (place < 0 || table.ids[place] === id) return at;
    }
  }
  function enter(place: number): boolean {
    const at = seek(table.ids[place] as number);
    const isKnown = places[at] !== 0;
    places[at] = place + 1;
    return isKnown;
  }
  function makeRoom(rows: number): void {
    places = new Int32Array(2 ** Math.ceil(Math.log2(table.ids.length * 2)));
    for (let place = 0; place < rows; place++) enter(place);
  }
  makeRoom(table.size);
  return {
    /** The place of the last row with an id; undefined if there is none. */
    find(id: number): number | undefined {
      const place = (places[seek(id)] as number) - 1;
      return place < 0 ? undefined : place;
    },
    /** Adds a row that the table has now. Returns whether an earlier row has its id. */
    add(place: number): boolean {
      if (places.length < table.ids.length * 2) makeRoom(place);
      return enter(place);
    },
  };
}

/** What a row asks that uses others, apart from the answers that it uses: its key and the ids of the others. Undefined for another row. */
export function ownOf({ ids, links }: RowTable, place: number): string | undefined {
  const link = links.get(place);
  return link && [link.key, ...link.parents.map((parent) => ids[parent])].join(' ');
}

/** Whether a row that uses others asks the same as one of another table, apart from the answers that it uses. */
export function hasSameOwn(one: RowTable, place: number, other: RowTable, was: number): boolean {
  const own = ownOf(one, place);
  return own !== undefined && own === ownOf(other, was);
}

/** Marks the slots of the rows of a table as wanted, and no others. */
export function markWanted(table: RowTable, slots: Slots): void {
  for (let slot = 0; slot < slots.size; slot++) slots.setFlag(slot, 'wanted', false);
  for (let place = 0; place < table.size; place++) slots.setFlag(table.slots[place] as number, 'wanted');
}

/** Whether an answer that a row uses is there, and counts. */
export function isThere({ slot, generation }: AnswerUse, slots: Slots): boolean {
  return ['done', 'incomplete'].includes(slots.stateOf(slot)) && slots.countingOf(slot) === generation;
}

/** The names of answers that a row uses: `<slot>@<generation>`, separated by blanks. */
export function nameUses(uses: readonly AnswerUse[], slots: Slots): string {
  return uses.map(({ slot, generation }) => `${slots.nameOf(slot)}@${generation}`).join(' ');
}

/** The key of a row that uses the answers of others: 32 hex digits. */
export function digestUses(key: string, uses: readonly string[]): string {
  return hash('sha256', [key, ...uses].join('\n'), 'hex').slice(0, 32);
}

/** A row that the user named: its id, and what it asks, whatever the rows that it uses are called and answer. */
export function describeNamed({ ids, firsts, links }: RowTable, place: number, slots: Slots): string {
  const key = links.get(place)?.key ?? slots.keyOf(firsts[place] as number);
  return `${(ids[place] as number).toString(16)}:${key}`;
}

/** The first 52 bits of the hash of an id. */
export function hashRowId(id: string): number {
  return Number.parseInt(hash('sha256', id, 'hex').slice(0, 13), 16);
}

/** The series of a numbered id: the number itself tells nothing, and the text after it does: the copy, and the values by which the row varies. */
function tagSeries(id: string): number {
  const rest = id.replace(/^\D*\d+/, '');
  return rest === '' ? 1 : 2 + (hashRowId(rest) % 65_534);
}

function growTable(table: RowTable): void {
  const room = table.ids.length * 2;
  table.ids = grown(table.ids, new Float64Array(room));
  table.series = grown(table.series, new Uint16Array(room));
  table.firsts = grown(table.firsts, new Int32Array(room));
  table.slots = grown(table.slots, new Int32Array(room));
  table.others = grown(table.others, new Uint32Array(room));
  table.froms = grown(table.froms, new Int32Array(room));
  table.products = grown(table.products, new Uint8Array(room));
}
