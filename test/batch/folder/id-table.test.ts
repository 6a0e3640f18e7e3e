import { expect, test } from 'vitest';
import { IdTable } from '../../../src/batch/folder/id-table.ts';

test('finds each of many ids in its row, and none that is not there', () => {
  const table = new IdTable();
  const added = Array.from({ length: 50_000 }, (_, row) => table.add(`id-${row}`));
  const isRight = (row: number) =>
    added[row] === row && table.find(`id-${row}`) === row && table.get(row) === `id-${row}`;
  expect(Array.from({ length: 50_000 }, (_, row) => isRight(row)).every(Boolean)).toBe(true);
  for (const other of ['', 'id', 'id-', 'id-50000', 'id-1 ', 'ID-1']) expect(table.find(other)).toBe(-1);
});

test('keeps apart what looks alike in bytes: halves of characters, other scripts, marks of the table itself', () => {
  const table = new IdTable();
  const ids = [
    '',
    'a',
    'a\0',
    'ä',
    'Ã¤',
    'ÿ',
    'þ',
    'ÿa',
    '\u00fe',
    '\ufe00',
    '\ufffe',
    '\ud83d',
    '\ude00',
    '😀',
    '猫',
    'a猫',
    '\uff61',
  ];
  const distinct = [...new Set(ids)];
  for (const id of distinct) table.add(id);
  expect(distinct.map((id) => table.find(id))).toEqual(distinct.map((_, row) => row));
  expect(distinct.map((_, row) => table.get(row))).toEqual(distinct);
});

test('a row can get another id, again and again, and the first rows can be left alone', () => {
  const table = new IdTable();
  for (let row = 0; row < 3000; row++) table.add(`${row}`);
  for (let round = 0; round < 3; round++) for (let row = 0; row < 3000; row++) table.replace(row, `${round} ${row}`);
  expect([table.find('7'), table.find('1 7'), table.find('2 7'), table.get(7)]).toEqual([-1, -1, 7, '2 7']);
  table.cut(8);
  expect([table.size, table.find('2 7'), table.find('2 8'), table.add('2 8'), table.find('2 8')]).toEqual([
    8, 7, -1, 8, 8,
  ]);
});
