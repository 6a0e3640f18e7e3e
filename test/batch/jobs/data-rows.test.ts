import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { DataRow } from '../../../src/commands/batch/jobs/data-rows.ts';
import { openRows } from '../../../src/commands/batch/jobs/row-jobs.ts';
import type { Context } from '../../../src/cli/context.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const folder = scratchFolder();

/** The rows of a file, and what is wrong with it. */
async function read(name: string, content: string | Uint8Array, idColumn?: string): Promise<[DataRow[], string[]]> {
  writeFileSync(join(folder, name), content);
  const cleanups: (() => Promise<void>)[] = [];
  const context = { io: { cwd: folder }, atEnd: (cleanup: () => Promise<void>) => cleanups.push(cleanup) };
  const faults: string[] = [];
  const rows: DataRow[] = [];
  try {
    const flags = { data: name, ...(idColumn !== undefined && { idColumn }) };
    const data = await openRows(flags, context as unknown as Context);
    for await (const row of data.rows((error) => faults.push(error instanceof Error ? error.message : '')))
      rows.push(row);
  } finally {
    for (const cleanup of cleanups) await cleanup();
  }
  return [rows, faults];
}

const two = [
  { id: 'row-000001', line: 2, columns: { city: 'Rome, "old"', note: 'a\r\nb' } },
  { id: 'row-000002', line: 5, columns: { city: '', note: ' x ' } },
];

test.for([
  ['rows.csv', '\uFEFFcity, note\r\n"Rome, ""old""","a\r\nb"\r\n\r\n, x \r\n'],
  ['rows.CSV', 'city;note\n"Rome, ""old""";"a\r\nb"\n\n; x '],
  ['rows.tsv', 'city\tnote\r\n"Rome, ""old"""\t"a\r\nb"\r\n\r\n\t x \r\n'],
] as const)('reads %s %j', async ([name, content]) => {
  expect(await read(name, content)).toEqual([two, []]);
});

test.for(['a\r\n1\n2\r3', 'a\n1\r\n2\n3\r\n', 'a\r1\r\n2\n3'])(
  'a row ends with any line ending: %j',
  async (content) => {
    const [rows] = await read('mixed.csv', content);
    expect(rows.map(({ columns, line }) => [columns['a'], line])).toEqual([
      ['1', 2],
      ['2', 3],
      ['3', 4],
    ]);
  },
);

test('finds a duplicate heading among very many', async () => {
  const headings = Array.from({ length: 200_000 }, (_, at) => `c${at}`);
  expect(await read('wide.csv', `${[...headings, 'c7'].join(',')}\n`)).toEqual([
    [],
    ["wide.csv:1: the heading 'c7' appears twice"],
  ]);
});

test('reads JSON like JSON Lines, with numbers, null and nested values', async () => {
  const rows = [
    { city: 'Ro]me,{"\\', n: 1.5 },
    { city: null, more: { a: [[1], '"'] } },
  ];
  const found = (lines: number[]) =>
    rows.map((columns, at) => ({ id: `row-00000${at + 1}`, line: lines[at], columns }));
  const [one, other] = rows.map((row) => JSON.stringify(row));
  expect(await read('rows.json', `\uFEFF [\n  ${one},\n\n${other}\n]\n`)).toEqual([found([2, 4]), []]);
  expect(await read('rows.jsonl', `\uFEFF${one}\r\n\r\n${other}`)).toEqual([found([1, 3]), []]);
  expect(await read('none.json', '[ ]')).toEqual([[], []]);
});

test('an array reports the line of each item, whatever texts hold', async () => {
  const [rows] = await read('rows.json', ' [ {"a":"\\"],[é"} ,{"b":[\n{}]},\n\n{"c":{"d":",\\\\"}}\n]');
  expect(rows.map(({ line }) => line)).toEqual([1, 1, 4]);
});

test('an array of more than 64 MiB is to be written as lines', async () => {
  const [rows, faults] = await read('large.json', `[${' '.repeat(64 * 1024 * 1024)}]`);
  expect([rows, faults]).toEqual([[], ['large.json: a JSON array of more than 64 MiB']]);
});

test.for([
  [
    'a.csv',
    'a,b\n1\n2,3\n4,5,6\n',
    ['a.csv:2: row 1 has 1 cell, and there are 2 headings', 'a.csv:4: row 3 has 3 cells, and there are 2 headings'],
  ],
  [
    'a.csv',
    'a,,a, \n1,2,3,4\n',
    ['a.csv:1: column 2 has no heading', "a.csv:1: the heading 'a' appears twice", 'a.csv:1: column 4 has no heading'],
  ],
  ['a.csv', 'caf\u00e9,cafe\u0301\n1,2\n', ["a.csv:1: the heading 'caf\u00e9' appears twice"]],
  [
    'a.jsonl',
    '{"caf\u00e9":1,"cafe\u0301":2}\n',
    ["a.jsonl:1: the key 'caf\u00e9' appears twice, written in two ways"],
  ],
  ['a.csv', 'a,b\n1,"2\n3,4\n', ['a.csv:2: a cell in double quotes does not end']],
  ['a.csv', 'a,b\n1,2\n3,4 "x"\n', ['a.csv:3: there is a double quote inside a cell']],
  ['a.csv', 'a,b\n1,"2" x\n', ['a.csv:2: there is text after the closing quote of a cell']],
  [
    'a.jsonl',
    '{"a":1}\n{"a"\n[]\n',
    ["a.jsonl:2: not JSON: ':' after the key is expected at column 5", 'a.jsonl:3: a row is a JSON object'],
  ],
  ['a.json', '[{"a":1},\n{"a"},\n 7]', ["a.json:2: not JSON: ':' after the key is expected at column 5"]],
  ['a.json', '[{"a":1},\n[{}],\n 7]', ['a.json:2: a row is a JSON object', 'a.json:3: a row is a JSON object']],
  ['a.json', '{"a":1}', ['a.json:1: a JSON array is needed: it begins with [']],
  ['a.json', '[{"a":1}\n', ["a.json:2: not JSON: ',' or ']' is expected at column 1"]],
  ['a.json', '[] []', ['a.json:1: not JSON: the end of the file is expected at column 4']],
] as const)('%s %j: reports every mistake', async ([name, content, faults]) => {
  expect((await read(name, content))[1]).toEqual(faults);
});

test.for([
  ['a.csv', Buffer.from('a\n\xe9\n', 'latin1'), 'a.csv: it is not UTF-8 text'],
  ['a.csv', Buffer.from('\uFEFFa\nb\n', 'utf16le'), 'a.csv: it is not UTF-8 text'],
  ['a.txt', 'a', "--data 'a.txt': the name does not tell the format"],
] as const)('refuses %s %j', async ([name, content, message]) => {
  await expect(read(name, content)).rejects.toThrow(message);
});

test('takes the ids from a column, and suggests the nearest name for one that does not exist', async () => {
  const [rows] = await read('ids.jsonl', '{"key":"x"}\n{"key":7}\n', 'key');
  expect(rows).toMatchObject([{ id: 'x' }, { id: '7' }]);
  await expect(read('ids.csv', 'key\nx\n', 'kye')).rejects.toMatchObject({
    message: "--id-column: row 1 has no column 'kye'",
    details: { hint: 'did you mean: --id-column key' },
  });
});
