import { expect, test } from 'vitest';
import { applyRecord, type Fold, newFold } from '../../../src/batch/folder/fold.ts';
import type { SlotRecord } from '../../../src/batch/folder/records.ts';
import { assignSlots } from '../../../src/batch/run/assign.ts';
import { linkRows } from '../../../src/batch/run/links.ts';
import { findChanged } from '../../../src/batch/run/changed.ts';
import {
  addManifestRow,
  addRow,
  hashRowId,
  indexRows,
  markWanted,
  newRowTable,
  type RowTable,
} from '../../../src/batch/run/table.ts';

const [keyA, keyB, keyC] = ['a', 'b', 'c'].map((digit) => digit.repeat(32)) as [string, string, string];

/** `1a 2b`: the rows 1 and 2, which ask a and b. Ids of digits are numbers. */
function readRows(words: string, { slots }: Fold): RowTable {
  const table = newRowTable();
  for (const word of words.split(' ').filter(Boolean)) {
    const id = word.slice(0, -1);
    addRow(table, { id, isNumbered: /^\d+$/.test(id) }, slots.add(word.slice(-1).repeat(32)));
  }
  return table;
}

/** `1a 2a-2 3b!`: rows and the slots that they had; with `!` a row of another shard. */
function readManifest(words: string, { slots }: Fold): RowTable {
  const table = newRowTable();
  for (const word of words.split(' ').filter(Boolean)) {
    const [, id = '', digit = '', number = '', mark] = /^(.*)([a-f])(-\d+)?(!)?$/.exec(word) ?? [];
    const numbered = /^\d+$/.test(id) ? true : undefined;
    addManifestRow(table, { slot: `${digit.repeat(32)}${number}`, id, numbered, other: mark ? 2 : undefined }, slots);
  }
  return table;
}

test('an index finds each of many rows by its id, and tells an id that an earlier row has', () => {
  const table = newRowTable();
  const index = indexRows(table);
  const { slots } = newFold();
  const seen = ['a', 'b', 'a', ...Array.from({ length: 5000 }, (_, at) => `row ${at}`), 'b'].map((id) =>
    index.add(addRow(table, { id }, slots.add(keyA))),
  );
  expect(seen.flatMap((isKnown, place) => (isKnown ? place : []))).toEqual([2, 5003]);
  expect(['a', 'b', 'row 4999', 'row 5000'].map((id) => index.find(hashRowId(id)))).toEqual([2, 5003, 5002, undefined]);
});

function foldOf(...records: SlotRecord[]): Fold {
  const fold = newFold();
  for (const record of records) applyRecord(record, fold);
  return fold;
}

let off = 0;
const end = (t: 'done' | 'failed' | 'incomplete' | 'unknown', slot: string): SlotRecord => ({
  t,
  slot,
  off: off++,
  len: 1,
});
const sent = (slot: string): SlotRecord => ({ t: 'sent', slot });

function assign(words: string, fold: Fold, before = ''): string[] {
  const manifest = readManifest(before, fold);
  const table = readRows(words, fold);
  assignSlots(table, manifest, fold.slots);
  return Array.from({ length: table.size }, (_, place) =>
    fold.slots.nameOf(table.slots[place] as number).replace(/^(.)\1{31}/, '$1'),
  );
}

test('equal rows get slots of their own, in the order of the file', () => {
  expect(assign('x1a x2a x3b x4a', foldOf())).toEqual(['a', 'a-2', 'b', 'a-3']);
});

test('of equal rows, each keeps the slot that it had', () => {
  const fold = foldOf(end('done', keyA), end('done', `${keyA}-2`));
  expect(assign('sa ra', fold, 'ra sa-2')).toEqual(['a-2', 'a']);
});

test('two equal rows of which neither was sent have two slots, also where only the manifest counts one', () => {
  expect(assign('ra sa', foldOf(), 'sa-2')).toEqual(['a', 'a-2']);
  expect(assign('ra sa ta', foldOf(), 'ta-2')).toEqual(['a', 'a-3', 'a-2']);
});

test('a row takes the free answer to its question rather than its own empty slot, and rather than one that may have been billed', () => {
  expect(assign('ra', foldOf(end('done', `${keyA}-2`)), 'ra')).toEqual(['a-2']);
  expect(assign('ra', foldOf(sent(keyA), end('done', `${keyA}-2`)))).toEqual(['a-2']);
});

test('a row keeps what may have been billed for it, though an equal one comes before it', () => {
  expect(assign('ra sa', foldOf(sent(keyA)), 'sa')).toEqual(['a-2', 'a']);
});

test('equal rows take no longer than others, however many they are', () => {
  const fold = foldOf();
  const table = newRowTable();
  for (let row = 0; row < 50_000; row++) addRow(table, { id: `r${row}` }, fold.slots.add(keyA));
  assignSlots(table, newRowTable(), fold.slots);
  expect(fold.slots.nameOf(table.slots[49_999] as number)).toBe(`${keyA}-50000`);
});

test('a row that uses another one is known by the number of its answer; made again, it is another question', () => {
  const fold = foldOf(end('done', keyA));
  const slotOfChild = (): string => {
    const table = newRowTable();
    const child = addRow(table, { id: 'child' });
    const parent = addRow(table, { id: 'parent' }, fold.slots.add(keyA));
    const use = { name: 'parent', text: true, picture: false };
    linkRows(table, [{ place: child, key: keyB, parents: [{ ...use, place: parent, id: 'parent' }] }]);
    assignSlots(table, newRowTable(), fold.slots);
    return fold.slots.nameOf(table.slots[child] as number);
  };
  const first = slotOfChild();
  applyRecord({ t: 'redo', slots: [keyA] }, fold);
  const second = slotOfChild();
  expect(second).not.toBe(first);
  // The try to make it again failed: the earlier answer counts, and what was made of it.
  applyRecord(end('failed', keyA), fold);
  expect(slotOfChild()).toBe(first);
  applyRecord(end('done', keyA), fold);
  expect(slotOfChild()).toBe(second);
  // Both answers stay: the first one can count again, for nothing.
  applyRecord({ t: 'choose', slot: keyA, answer: 1 }, fold);
  expect(slotOfChild()).toBe(first);
});

test('a long chain of rows, each before the one that it uses, is parted in as many levels; a circle in it is named', () => {
  const { slots } = foldOf();
  const table = newRowTable();
  const rows = 20_000;
  for (let row = 0; row < rows; row++) addRow(table, { id: `r${row}` });
  addRow(table, { id: `r${rows}` }, slots.add(keyA));
  const use = (place: number) => ({ name: `r${place}`, text: true, picture: false, id: `r${place}`, place });
  const linked = Array.from({ length: rows }, (_, place) => ({ place, key: keyB, parents: [use(place + 1)] }));
  expect(linkRows(table, linked)).toEqual([]);
  expect(table.levels).toHaveLength(rows);
  assignSlots(table, newRowTable(), slots);
  expect(new Set(table.slots.subarray(0, table.size)).size).toBe(rows + 1);
  const circle = linked.map((row) => (row.place === rows - 1 ? { ...row, parents: [use(rows - 3)] } : row));
  expect(linkRows(newRowTable(), circle)).toEqual([rows - 3, rows - 2, rows - 1]);
});

function edited(words: string, before: string, fold: Fold, { isSharded = false } = {}): number[] {
  const manifest = readManifest(before, fold);
  const table = readRows(words, fold);
  assignSlots(table, manifest, fold.slots);
  markWanted(table, fold.slots);
  return findChanged(table, manifest, fold.slots, { isSharded }).flatMap(({ place, kind }) =>
    kind === 'resharded' ? [] : place,
  );
}

test('a row is edited if its id has an answer that no row wants any more', () => {
  const fold = () => foldOf(end('done', keyA), end('failed', keyC));
  expect(edited('rb', 'ra', fold())).toEqual([0]);
  // It moved, has another id, left, or failed before: nobody is asked.
  expect(edited('sb ra', 'ra sb', fold())).toEqual([]);
  expect(edited('sa', 'ra', fold())).toEqual([]);
  expect(edited('', 'ra', fold())).toEqual([]);
  expect(edited('rb', 'rc', fold())).toEqual([]);
  expect(edited('sb', 'ra', fold())).toEqual([]);
});

test('where ids are numbers, each new row may be an edited one while an answer has no row', () => {
  const fold = () => foldOf(end('done', keyA), end('done', keyB), end('done', keyC));
  expect(edited('1a 2d 3c', '1a 2b 3c', fold())).toEqual([1]);
  expect(edited('1d 2a 3b 4c', '1a 2b 3c', fold())).toEqual([]);
  // It can have moved, too.
  expect(edited('1a 2c 3d', '1a 2b 3c', fold())).toEqual([2]);
  expect(edited('1c 2a 3d', '1a 2b 3c', fold())).toEqual([2]);
  // Rows that were never sent are no edits where the others are.
  expect(edited('1d 2e 3f', '1a 2b 3c', foldOf(end('done', keyA)))).toEqual([0]);
});

test('ids count as long as an answer without a row has one of them, whichever rows got other ids', () => {
  const fold = () => foldOf(end('done', keyA), end('done', keyB), end('done', keyC));
  expect(edited('rd se tf ya', 'ra sb tc', fold())).toEqual([1, 2]);
});

test('where another column has the ids, a row is edited as if they were numbers', () => {
  const fold = () => foldOf(end('done', keyA), end('done', keyB), end('done', keyC));
  expect(edited('xa yd zc', '1a 2b 3c', fold())).toEqual([1]);
  expect(edited('xa yd zc', 'ra sb tc', fold())).toEqual([1]);
  expect(edited('1a 2d 3c', 'ra sb tc', fold())).toEqual([1]);
  expect(edited('xa yc zd', 'ra sb tc', fold())).toEqual([2]);
  // Nothing says that this is the same table.
  expect(edited('xd ye', 'ra sb', fold())).toEqual([]);
});

test('what may have been billed counts as answered; what another shard sent does, too', () => {
  expect(edited('rb', 'ra', foldOf(sent(keyA)))).toEqual([0]);
  expect(edited('rb', 'ra', foldOf())).toEqual([]);
  expect(edited('rb', 'ra!', foldOf(), { isSharded: true })).toEqual([0]);
  // A run of the whole table knows what this folder has.
  expect(edited('rb', 'ra!', foldOf())).toEqual([]);
  // A new row beside one that this folder never sent, whichever shard it belongs to now.
  expect(edited('xb yd', 'rb sa', foldOf(), { isSharded: true })).toEqual([]);
});

test('new rows of small tables are no edits as long as each row is there that was answered, or belongs to another shard', () => {
  let seed = 20_261_129;
  const pick = (count: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return (seed >>> 8) % count;
  };
  for (let round = 0; round < 2000; round++) {
    const isNumbered = pick(2) === 0;
    const name = (at: number): string => (isNumbered ? `${at + 1}` : `${'rstuvw'[at]}`);
    // Each row asks something else, and was answered, belongs to another shard, or was not sent.
    const rows = Array.from({ length: 1 + pick(4) }, (_, at) => ({ key: 'abcd'[at], fate: pick(3) }));
    const before = rows.map(({ key, fate }, at) => `${name(at)}${key}${fate === 1 ? '!' : ''}`).join(' ');
    const answered = rows.filter(({ fate }) => fate === 0).map(({ key }) => end('done', `${key}`.repeat(32)));
    const left = rows.filter(({ fate }) => fate < 2 || pick(2) === 0);
    const moved = (pick(2) === 0 ? left : left.toReversed()).map(({ key }) => key);
    const now = moved.toSpliced(pick(moved.length + 1), 0, 'e').toSpliced(pick(moved.length + 2), 0, 'f');
    const isRenamed = pick(2) === 0;
    const after = now.map((key, at) => `${isRenamed ? 'xyzopq'[at] : name(at)}${key}`).join(' ');
    expect([before, after, edited(after, before, foldOf(...answered), { isSharded: true })]).toEqual([
      before,
      after,
      [],
    ]);
  }
});
