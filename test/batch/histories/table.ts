import { keyRequest } from '../../../src/batch/key.ts';
import type { TableRow } from './simulated-run.ts';

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

export function newTable({ isNumbered, rows }: { isNumbered: boolean; rows: number }): EditableTable {
  const all = Array.from({ length: rows }, (_, at) => ({ id: `r${at}`, a: at % 4, note: 0 }));
  return { isNumbered, next: rows, template: 't0', vary: ['m'], tokens: 10, origin: 'https://a', rows: all };
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
      table.origin = to === 3 ? 'https://b' : 'https://a';
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
  } else if (op === 'remove') {
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

const keys = new Map<string, string>();

/** The rows with what they ask. `base` is said without the code that makes keys: no token limit is in it. */
export async function expandTable(table: EditableTable): Promise<TableRow[]> {
  const { isNumbered, rows, template, vary, tokens, origin } = table;
  const found: TableRow[] = [];
  for (const [at, row] of rows.entries())
    for (const model of vary) {
      const prompt = `${template} ${row.a}${row.uses === undefined ? '' : ' {{@0}}'}`;
      const base = `${origin} ${model} ${prompt}`;
      found.push({
        id: `${isNumbered ? `row-${at + 1}` : row.id}+${model}`,
        isNumbered,
        line: at + 1,
        vars: { a: row.a, note: row.note },
        key: await keyOf({ origin, model, prompt, tokens }),
        base,
        parents: row.uses === undefined ? [] : [`${row.uses}+${model}`],
      });
    }
  return found;
}

async function keyOf({
  origin,
  model,
  prompt,
  tokens,
}: Record<'origin' | 'model' | 'prompt', string> & { tokens: number }): Promise<string> {
  const name = `${origin} ${model} ${prompt} ${tokens}`;
  const body = { model, messages: [{ role: 'user', content: prompt }], max_tokens: tokens };
  const key =
    keys.get(name) ?? (await keyRequest({ origin, path: '/v1/chat/completions', format: 'completions', body })).key;
  keys.set(name, key);
  return key;
}
