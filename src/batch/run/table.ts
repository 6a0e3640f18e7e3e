import { hash } from 'node:crypto';
import type { ManifestHead } from '../folder/manifest.ts';
import type { Slots } from '../folder/slots.ts';

/** A row of a table, and the key of what it asks without the answers that it uses. */
export interface AskingRow {
  id: string;
  /** Its id is its number in the file, which says nothing once rows before it come or go. */
  isNumbered?: boolean | undefined;
  key: string;
}

/** A row that uses the answers of others, by their places. */
interface RowLink {
  key: string;
  parents: readonly number[];
  /** The answers that it uses: each has a slot, and a number there. Known once the slots of its parents are. */
  uses: readonly { slot: number; generation: number }[];
}

/**
 * The rows of a table in the order of their file, as far as their slots depend on them; or those of a manifest. They are columns: a million ids
 * would take 80 MiB.
 */
export interface RowTable {
  size: number;
  /** Of each id, 52 bits of its hash. */
  ids: Float64Array;
  /** 1: the id is a number. */
  numbered: Uint8Array;
  /** The slot with the number 1 of each row's key; -1 for a row that uses others, until the slots of these are known. */
  firsts: Int32Array;
  /** The slot of each row. */
  slots: Int32Array;
  /** The rows that use others, by their places; and what they are without the generations of what they use. */
  links: Map<number, RowLink>;
  own: Map<number, string>;
}

/** `rows`: about how many there will be. */
export function newRowTable(rows = 0): RowTable {
  const room = rows + 64;
  return {
    size: 0,
    ids: new Float64Array(room),
    numbered: new Uint8Array(room),
    firsts: new Int32Array(room),
    slots: new Int32Array(room),
    links: new Map(),
    own: new Map(),
  };
}

/** Adds a row that uses no other one. Returns its place, from 0. */
export function addRow(table: RowTable, { id, isNumbered, key }: AskingRow, slots: Slots): number {
  const first = slots.add(key);
  return enterRow(table, { id, isNumbered, first, slot: first });
}

/** Adds a row that uses others, which can come after it: `linkRow` says which they are. */
export function addLinkedRow(table: RowTable, { id, isNumbered }: Pick<AskingRow, 'id' | 'isNumbered'>): number {
  return enterRow(table, { id, isNumbered, first: -1, slot: -1 });
}

/** Says which rows another one uses, by their places and ids. */
export function linkRow(
  table: RowTable,
  place: number,
  { key, parents }: { key: string; parents: readonly { place: number; id: string }[] },
): void {
  table.links.set(place, { key, parents: parents.map((parent) => parent.place), uses: [] });
  table.own.set(
    place,
    digestUses(
      key,
      parents.map(({ id }) => id),
    ),
  );
}

/** Adds a row of a manifest. */
export function addManifestRow(table: RowTable, { slot: name, id, numbered, own }: ManifestHead, slots: Slots): void {
  const slot = slots.addNamed(name);
  const place = enterRow(table, { id, isNumbered: numbered, first: slot, slot });
  if (own !== undefined) table.own.set(place, own);
}

/** The key of what asks with the answers of others: 32 hex digits. */
export function digestUses(key: string, uses: readonly string[]): string {
  return hash('sha256', [key, ...uses].join('\n'), 'hex').slice(0, 32);
}

/** The first 52 bits of its hash. */
function hashRowId(id: string): number {
  return Number.parseInt(hash('sha256', id, 'hex').slice(0, 13), 16);
}

function enterRow(
  table: RowTable,
  { id, isNumbered, first, slot }: { id: string; isNumbered?: boolean | undefined; first: number; slot: number },
): number {
  const place = table.size++;
  if (table.size === table.ids.length) growTable(table);
  table.ids[place] = hashRowId(id);
  table.numbered[place] = isNumbered ? 1 : 0;
  table.firsts[place] = first;
  table.slots[place] = slot;
  return place;
}

function growTable(table: RowTable): void {
  const room = table.ids.length * 2;
  const { ids, numbered, firsts, slots } = table;
  table.ids = new Float64Array(room);
  table.ids.set(ids);
  table.numbered = new Uint8Array(room);
  table.numbered.set(numbered);
  table.firsts = new Int32Array(room);
  table.firsts.set(firsts);
  table.slots = new Int32Array(room);
  table.slots.set(slots);
}
