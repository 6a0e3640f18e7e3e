import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rowId } from '../../../src/cli/commands/batch/jobs/data-rows.ts';
import type { History } from './history.ts';

interface EditableRow {
  id: string;
  a: number;
  was?: number;
  note: number;
  uses?: string | undefined;
}

/** A table as its user sees it. */
export interface EditableTable {
  isNumbered: boolean;
  /** The number of the next id. */
  next: number;
  template: string;
  vary: string[];
  tokens: number;
  origin: string;
  rows: EditableRow[];
}

export const rowEdits = ['used', 'unused', 'id', 'remove', 'double', 'back'] as const;
export const tableEdits = ['add', 'template', 'vary', 'tokens', 'origin', 'reverse', 'sort', 'link'] as const;

export interface Edit {
  op: (typeof rowEdits)[number] | (typeof tableEdits)[number];
  at: number;
  to: number;
}

const origins = ['http://127.0.0.1:1', 'http://127.0.0.1:2'] as const;

/** `kinds`: so many of its rows ask something else, and the others the same as one of these. */
export function newTable({ isNumbered, rows, kinds }: Pick<History, 'isNumbered' | 'rows' | 'kinds'>): EditableTable {
  const all = Array.from({ length: rows }, (_, at) => ({ id: `r${at}`, a: at % kinds, note: 0 }));
  return { isNumbered, next: rows, template: 't0', vary: ['m'], tokens: 10, origin: origins[0], rows: all };
}

const varied = [['m'], ['m', 'n'], ['n'], ['o', 'm']];

export function changeTable(table: EditableTable, { op, at, to }: Edit, hasLinks: boolean): void {
  const { rows } = table;
  switch (op) {
    case 'add':
      rows.splice(at % (rows.length + 1), 0, { id: `r${table.next++}`, a: to, note: 0 });
      return;
    case 'template':
      table.template = `t${to}`;
      return;
    case 'vary':
      table.vary = varied[to % varied.length] as string[];
      return;
    case 'tokens':
      table.tokens = 10 + to;
      return;
    case 'origin':
      table.origin = origins[to === 3 ? 1 : 0];
      return;
    case 'reverse':
      rows.reverse();
      return;
    case 'sort':
      rows.sort((x, y) => x.a - y.a || (x.id < y.id ? -1 : 1));
      return;
    default:
      changeRow(table, { op, at, to }, hasLinks);
  }
}

function changeRow(table: EditableTable, { op, at, to }: Edit, hasLinks: boolean): void {
  const { rows } = table;
  const row = rows[at % Math.max(1, rows.length)];
  if (row === undefined) return;
  if (op === 'used') Object.assign(row, { was: row.a, a: to });
  else if (op === 'back') row.a = row.was ?? row.a;
  else if (op === 'unused') row.note++;
  else if (op === 'double') rows.splice(to, 0, { id: `r${table.next++}`, a: row.a, note: 0 });
  else if (op === 'id') {
    const old = row.id;
    row.id = `r${table.next++}`;
    for (const one of rows) if (one.uses === old) one.uses = row.id;
  } else if (op === 'remove' && rows.length > 1) {
    rows.splice(rows.indexOf(row), 1);
    for (const one of rows) if (one.uses === row.id) delete one.uses;
  } else if (op === 'link' && hasLinks && row.uses === undefined) {
    const other = rows[to % rows.length] as EditableRow;
    if (other !== row && !reaches(rows, other, row.id)) row.uses = other.id;
  }
}

function reaches(rows: readonly EditableRow[], from: EditableRow, id: string): boolean {
  const next = rows.find((one) => one.id === from.uses);
  return from.uses === id || (next !== undefined && reaches(rows, next, id));
}

/** A row of the table, with what it asks. */
export interface TableRow {
  id: string;
  isNumbered: boolean;
  vars: { a: number; note: number };
  /** What the gateway is asked, without the answers that it uses. It is said without the code that makes keys: no token limit is in it. */
  base: string;
  parents: readonly string[];
}

/** The rows with what they ask. */
export function expandTable({ isNumbered, rows, template, vary, origin }: EditableTable): TableRow[] {
  return rows.flatMap((row, at) =>
    vary.map((model) => ({
      id: `${isNumbered ? rowId(at + 1) : row.id}+model=${model}`,
      isNumbered,
      vars: { a: row.a, note: row.note },
      base: `${origin} ${model} ${template} ${row.a}${row.uses === undefined ? '' : ' use'}`,
      parents: row.uses === undefined ? [] : [`${row.uses}+model=${model}`],
    })),
  );
}

/** Writes the table where `jobFlags` name it. */
export function writeTable({ isNumbered, rows, template, tokens }: EditableTable, folder: string): void {
  const lines = rows.map(({ id, a, note, uses }) =>
    isNumbered
      ? { a, note }
      : {
          id,
          prompt: `${template} {{a}}${uses === undefined ? '' : ` use {{@${uses}.text}}`}`,
          vars: { a, note },
          maxTokens: tokens,
        },
  );
  writeFileSync(join(folder, 'table.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

/** What is typed for a run of the table. */
export function jobFlags({ isNumbered, template, vary, tokens }: EditableTable) {
  const shared = { vary: [['model', vary] as const] };
  if (!isNumbered) return { words: ['table.jsonl'], flags: shared };
  const rows = { data: 'table.jsonl', defaults: JSON.stringify({ maxTokens: tokens }) };
  return { words: [`${template} {{a}}`], flags: { ...shared, ...rows } };
}
