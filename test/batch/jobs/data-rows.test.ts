import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type DataRow, openData } from '../../../src/cli/commands/batch/jobs/data-rows.ts';
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
    const data = await openData(name, idColumn === undefined ? {} : { idColumn }, context as unknown as Context);
    for await (const row of data.rows((error) => faults.push(error instanceof Error ? error.message : '')))
      rows.push(row);
  } finally {
    for (const cleanup of cleanups) await cleanup();
  }
  return [rows, faults];
}

const two = [
  { id: 'row-000001', number: 1, line: 2, columns: { city: 'Rome, "old"', note: 'a\r\nb' } },
  { id: 'row-000002', number: 2, line: 5, columns: { city: '', note: ' x ' } },
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

test('numbers a heading that is there several times, among very many', async () => {
  const headings = Array.from({ length: 200_000 }, (_, at) => `c${at}`);
  const line = [...headings, 'c7', 'c7 (1)'].join(',');
  const [[row] = [], faults] = await read('wide.csv', `${line}\n${line}\n`);
  const { 'c7 (2)': first, 'c7 (3)': second, 'c7 (1)': third, c7 } = row?.columns ?? {};
  expect([first, second, third, c7, faults]).toEqual(['c7', 'c7', 'c7 (1)', undefined, []]);
});

test.for([
  ['a.csv', 'sep=;\r\na;b\r\n1,5;2\r\n', [{ line: 3, columns: { a: '1,5', b: '2' } }]],
  ['a.csv', '\uFEFF"sep=|"\na|b\n1;5|2,\n', [{ line: 3, columns: { a: '1;5', b: '2,' } }]],
  ['a.csv', 'sep,b\n1,2\n', [{ line: 2, columns: { sep: '1', b: '2' } }]],
  // The headings are on two lines, and the first has more commas.
  [
    'a.csv',
    '"a, b,\nc";d\n1,5;2\n3,5;4\n',
    [
      { line: 3, columns: { 'a, b, c': '1,5', d: '2' } },
      { line: 4, columns: { 'a, b, c': '3,5', d: '4' } },
    ],
  ],
  ['a.csv', 'Name, Vorname;Ort\nx;y\n', [{ line: 2, columns: { 'Name, Vorname': 'x', Ort: 'y' } }]],
  ['a.csv', 'a;b,c\n1;2,3\n', [{ line: 2, columns: { a: '1', 'b,c': '2,3' } }]],
  [
    'a.csv',
    'a,b,,\n1,2,,\n3,4\n',
    [
      { line: 2, columns: { a: '1', b: '2' } },
      { line: 3, columns: { a: '3', b: '4' } },
    ],
  ],
  ['a.csv', ',a, ,b\n,1,,2\n', [{ line: 2, columns: { a: '1', b: '2' } }]],
] as const)('reads %s as spreadsheets write it: %j', async ([name, content, expected]) => {
  const [rows, faults] = await read(name, content);
  expect([rows.map(({ line, columns }) => ({ line, columns })), faults]).toEqual([expected, []]);
});

test('reads JSON like JSON Lines, with numbers, null and nested values', async () => {
  const rows = [
    { city: 'Ro]me,{"\\', n: 1.5 },
    { city: null, more: { a: [[1], '"'] } },
  ];
  const found = rows.map((columns, at) => ({ id: `row-00000${at + 1}`, number: at + 1, columns }));
  const [one, other] = rows.map((row) => JSON.stringify(row));
  expect(await read('rows.json', `\uFEFF [\n  ${one},\n\n${other}\n]\n`)).toMatchObject([found, []]);
  expect(await read('rows.jsonl', `\uFEFF${one}\r\n\r\n${other}`)).toMatchObject([found, []]);
  expect(await read('none.json', '[ ]')).toEqual([[], []]);
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
    'a,, \n1,2,\n1,,\n1,,4\n1,2,3,4\n',
    [
      'a.csv:2: row 1 has a cell in column 2, which has no heading',
      'a.csv:4: row 3 has a cell in column 3, which has no heading',
      'a.csv:5: row 4 has a cell in column 2, which has no heading',
    ],
  ],
  ['a.csv', ', \n1,2\n', ['a.csv:1: no column has a heading']],
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
  [
    'a.json',
    '[{"a":1},\n[{}],\n 7]',
    ['a.json: row 2: a row is a JSON object', 'a.json: row 3: a row is a JSON object'],
  ],
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
