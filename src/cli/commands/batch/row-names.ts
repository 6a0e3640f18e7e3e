import { type BatchState, findRowSlot, readManifestRows } from '../../../batch/index.ts';
import { closest, type GatewayError, usageError } from '../../../library/index.ts';
import { joinIds, toOperands } from './next-command.ts';

/** The names of a row: its id, the id of the line that makes several jobs, and the number of its row in the file. */
export interface NamedRow {
  id: string;
  lineId?: string | undefined;
  /** The number of the row in the file, from 1. */
  number: number;
  /** The id is the number of the row. */
  isNumbered?: boolean | undefined;
  /** The name of its slot in a manifest: rows of a stream can have the same id. */
  slot?: string | undefined;
}

/** A row that a word names, and its place in the table. `isByNumber`: by its number, or by an id that is its number. */
export interface FoundRow extends NamedRow {
  place: number;
  isByNumber: boolean;
}

/** Finds the rows that words name, while a table is read. */
export function openRowNames(words: readonly string[]) {
  const byId = new Map<string, FoundRow[]>(words.map((word) => [word, []]));
  const byNumber = new Map<string, FoundRow[]>(words.map((word) => [word, []]));
  let haveNumbers = false;
  return {
    /** Whether rows can be named by their numbers, as no ids of the rows so far are numbers. */
    takesNumbers: (): boolean => !haveNumbers,
    see({ id, lineId = id, number, isNumbered = false, slot }: NamedRow, place: number): void {
      const row = { id, lineId, number, isNumbered, slot, place };
      for (const name of new Set([id, lineId])) byId.get(name)?.push({ ...row, isByNumber: isNumbered });
      if (slot !== undefined) byId.get(slot)?.push({ ...row, isByNumber: false });
      haveNumbers ||= lineId !== String(number) && /^\d+$/.test(lineId);
      for (const name of new Set([String(number), numberOf(row)]))
        byNumber.get(name)?.push({ ...row, isByNumber: true });
    },
    /** Finds rows by id or slot, otherwise by number. If ids are other numbers, a number that is no id is a mistake. */
    find(word: string): readonly FoundRow[] {
      const named = byId.get(word) ?? [];
      return named.length > 0 || haveNumbers ? named : (byNumber.get(word) ?? []);
    },
  };
}

export type RowNames = ReturnType<typeof openRowNames>;

/** The name of a row by its number: `7` is row 7; `7-2` and `7+model=a` are jobs of row 7. */
export function numberOf({ id, lineId = id, number }: NamedRow): string {
  return `${number}${id.startsWith(lineId) ? id.slice(lineId.length) : ''}`;
}

/** The rows of the table as the last run read it. */
export async function* listManifestRows(folder: string): AsyncGenerator<NamedRow> {
  for await (const rows of readManifestRows(folder))
    for (const { slot, id, of: lineId, row: number = 0, numbered: isNumbered } of rows)
      yield { id, lineId, number, isNumbered, slot };
}

/**
 * The ids of the rows of some slots, in the order of the table, as the last run read it. The table is read once more for them: all of
 * its ids would fill the memory.
 */
export async function readIds(
  wanted: ReadonlySet<number>,
  { folder, state }: { folder: string; state: Pick<BatchState, 'manifest' | 'slots'> },
): Promise<Map<number, string>> {
  const ids = new Map<number, string>();
  if (wanted.size === 0) return ids;
  for await (const rows of readManifestRows(folder))
    for (const { slot: name, id } of rows) {
      const slot = findRowSlot(name, state);
      if (wanted.has(slot)) ids.set(slot, id);
    }
  return ids;
}

/** A row that a number names in the last run, and the one that it names now. */
interface RenumberedRow {
  word: string;
  was: FoundRow;
  is: FoundRow | undefined;
  /** Both have ids, and these differ: no other fact can tell that they are the same row. */
  haveIds: boolean;
}

/**
 * The rows that words name by numbers, or by ids that are made of them, in the last run and now, unless both have the same id: the user
 * may have a number from a report of the last run.
 */
export function findRenumbered(words: readonly string[], before: RowNames, now: RowNames): RenumberedRow[] {
  return words.flatMap((word) => {
    const was = before.find(word).find(({ isByNumber }) => isByNumber);
    if (was === undefined) return [];
    const is = now.find(word)[0];
    const haveIds = is !== undefined && !was.isNumbered && !is.isNumbered;
    return haveIds && was.lineId === is.lineId ? [] : [{ word, was, is, haveIds }];
  });
}

/** Finds the rows that words name in a table. */
export async function readRowNames(words: readonly string[], rows: AsyncIterable<NamedRow>): Promise<RowNames> {
  const names = openRowNames(words);
  let place = 0;
  for await (const row of rows) names.see(row, place++);
  return names;
}

/** The error for a number that is another row in the file now. `table`: the file, as the user typed it. */
export function otherRowError({ word, was }: RenumberedRow, table: string, hint: string): GatewayError {
  const what = word === was.id ? word : `row ${word}`;
  const where = word === was.id ? '' : `, where it was ${was.id}`;
  return usageError(`${what} is another row of ${table} now than in the last run${where}`, hint);
}

/** At most this many rows are compared with the typed word. */
const maxCompared = 1000;
/** At most this many rows are named. */
const maxListed = 20;

/**
 * The error for a word that names no row of a table. `name`: the table, as the user typed it. `write`: rows as words of the command, if
 * it does not take them as one word.
 */
export async function noRowError(
  word: string,
  name: string,
  rows: AsyncIterable<NamedRow>,
  write: (names: readonly string[]) => readonly string[] = (names) => [joinIds(names).word],
): Promise<GatewayError> {
  const known: NamedRow[] = [];
  for await (const row of rows) if (known.push(row) === maxCompared) break;
  const ids = known.map(({ id }) => id);
  const near = closest(word, ids);
  const listSome = (names: readonly string[]): string =>
    `${toOperands(write(names.slice(0, maxListed)))}${names.length > maxListed ? ' …' : ''}`;
  const hint =
    near === undefined
      ? `name ids, or numbers of rows: ${listSome(ids)}`
      : `did you mean: ${toOperands(write([near]))}`;
  const range = listRange(word, known);
  return usageError(
    `${name} has no job ${JSON.stringify(word)}`,
    range.length > 0 ? `name each of them: ${listSome(range)}` : hint,
  );
}

/** The rows from one to another one, for a user who types `3-5` or `k3-k5`. */
function listRange(word: string, rows: readonly NamedRow[]): string[] {
  for (let at = word.indexOf('-', 1); at > 0; at = word.indexOf('-', at + 1)) {
    const ends = [word.slice(0, at), word.slice(at + 1)];
    const [from = -1, to = -1] = ends.map((end) => rows.findIndex(({ id, number }) => [id, `${number}`].includes(end)));
    if (from < 0 || to <= from) continue;
    return rows.slice(from, to + 1).map(({ id }) => id);
  }
  return [];
}
