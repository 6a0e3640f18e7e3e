import { readManifestRows } from '../../../batch/index.ts';
import { closest, type GatewayError, isObject, usageError } from '../../../library/index.ts';
import { joinIds, toOperands } from './next-command.ts';

/** The names of a row: its id, the id of the line that makes several jobs, and the number of its row in the file. */
export interface NamedRow {
  id: string;
  lineId?: string | undefined;
  /** The number of the row in the file, from 1. */
  number: number;
  /** The id is the number of the row. */
  isNumbered?: boolean | undefined;
  /** The variables of the row, or its prompt: they tell a numbered row from others. */
  content?: unknown;
}

/** A row that a word names, and its place in the table. `isByNumber`: by its number, or by an id that is its number. */
export interface FoundRow extends Pick<NamedRow, 'id' | 'lineId' | 'number' | 'isNumbered' | 'content'> {
  place: number;
  isByNumber: boolean;
}

/** Numbers as names: `7` is row 7; `7-2` and `7+model=a` are jobs of row 7. */
const numberForm = /^([1-9]\d{0,8})((?:[-+].*)?)$/s;

/** Finds the rows that words name, while a table is read. */
export function openRowNames(words: readonly string[]) {
  const byId = new Map<string, FoundRow[]>(words.map((word) => [word, []]));
  const byNumber = new Map<string, FoundRow[]>(words.map((word) => [word, []]));
  const wantedOf = new Map<number, { word: string; rest: string }[]>();
  for (const word of new Set(words)) {
    const [, number, rest = ''] = numberForm.exec(word) ?? [];
    if (number === undefined) continue;
    wantedOf.set(Number(number), [...(wantedOf.get(Number(number)) ?? []), { word, rest }]);
  }
  let haveNumbers = false;
  return {
    /** Looks for one more id, from the next row on. */
    add(id: string): void {
      if (!byId.has(id)) byId.set(id, []);
    },
    /** Whether rows can be named by their numbers, as no ids of the rows so far are numbers. */
    takesNumbers: (): boolean => !haveNumbers,
    see({ id, lineId = id, number, isNumbered = false, content }: NamedRow, place: number): void {
      const row = { id, lineId, number, isNumbered, content, place };
      byId.get(id)?.push({ ...row, isByNumber: isNumbered });
      if (lineId !== id) byId.get(lineId)?.push({ ...row, isByNumber: isNumbered });
      haveNumbers ||= lineId !== String(number) && /^\d+$/.test(lineId);
      for (const { word, rest } of wantedOf.get(number) ?? [])
        if (rest === '' || id === `${lineId}${rest}`) byNumber.get(word)?.push({ ...row, isByNumber: true });
    },
    /** Finds rows by id, otherwise by number. If ids are other numbers, a number that is no id is a mistake. */
    find(word: string): readonly FoundRow[] {
      const named = byId.get(word) ?? [];
      return named.length > 0 || haveNumbers ? named : (byNumber.get(word) ?? []);
    },
  };
}

/** The name of a row by its number. */
export function numberOf({ id, lineId = id, number }: FoundRow): string {
  return `${number}${id.startsWith(lineId) ? id.slice(lineId.length) : ''}`;
}

/** The rows of the table as the last run read it. */
export async function* listManifestRows(folder: string): AsyncGenerator<NamedRow> {
  for await (const rows of readManifestRows(folder))
    for (const { id, of: lineId, row: number = 0, numbered: isNumbered, vars, prompt } of rows)
      yield { id, lineId, number, isNumbered, content: vars ?? prompt };
}

/** A table of rows, which can be read as often as needed. */
type Rows = () => AsyncIterable<NamedRow>;

/**
 * Throws GatewayError usage for a number, or an id that is made of one, that is another row in the file now than in the last run: the
 * user may have it from a report of that. A row that was edited in its place is the same one. `table`: the file, as the user typed it.
 */
export async function requireSameRows(
  words: readonly string[],
  { before, now, table }: { before: Rows; now: Rows; table: string },
  describeNext: (was: FoundRow, is: FoundRow | undefined) => string,
): Promise<void> {
  const [had, has] = [await findRows(words, before), await findRows(words, now)];
  for (const word of words) {
    const was = had.find(word).find(({ isByNumber }) => isByNumber);
    if (was === undefined) continue;
    const [row] = has.find(word);
    const isById = row !== undefined && !was.isNumbered && !row.isNumbered;
    const isSame = isById
      ? was.lineId === row.lineId
      : row !== undefined && !(await hasMoved(was, row, { before, now }));
    if (isSame) continue;
    throw usageError(
      `row ${word} of ${table} is another one now than in the last run, where it was ${was.id}`,
      describeNext(was, row),
    );
  }
}

async function findRows(words: readonly string[], read: Rows): Promise<ReturnType<typeof openRowNames>> {
  const names = openRowNames(words);
  let place = 0;
  for await (const row of read()) names.see(row, place++);
  return names;
}

/** Whether the content of a number is that of another number in the other table. Columns that only one of them has tell nothing. */
async function hasMoved(was: FoundRow, is: FoundRow, { before, now }: { before: Rows; now: Rows }): Promise<boolean> {
  const columns = isObject(was.content) && isObject(is.content) ? Object.keys(was.content) : [];
  const common = columns.filter((name) => Object.hasOwn(is.content as object, name));
  const contentOf = ({ content }: Pick<NamedRow, 'content'>): string =>
    JSON.stringify(isObject(content) ? common.map((name) => content[name]) : content);
  const isElsewhere = async (content: string, number: number, read: Rows): Promise<boolean> => {
    for await (const row of read()) if (row.number !== number && contentOf(row) === content) return true;
    return false;
  };
  const [old, current] = [contentOf(was), contentOf(is)];
  if (old === current) return false;
  return (await isElsewhere(old, is.number, now)) || (await isElsewhere(current, was.number, before));
}

/** At most this many rows are compared with the typed word. */
const maxCompared = 1000;
/** At most this many rows are named. */
const maxListed = 20;

/** The first few rows as words of the command, to type in place of the one that was wrong, and how many of them there are. */
type WriteRows = (names: readonly string[]) => { words: readonly string[]; count: number };

const writeOneWord: WriteRows = (names) => {
  const { word, count } = joinIds(names, maxListed);
  return { words: [word], count };
};

/**
 * The error for a word that names no row of a table. `name`: the table, as the user typed it. `write`: how the command takes rows, if
 * it does not take them as one word.
 */
export async function noRowError(
  word: string,
  name: string,
  rows: AsyncIterable<NamedRow>,
  write: WriteRows = writeOneWord,
): Promise<GatewayError> {
  const known: NamedRow[] = [];
  for await (const row of rows) if (known.push(row) === maxCompared) break;
  const ids = known.map(({ id }) => id);
  const near = closest(word, ids);
  const listSome = (names: readonly string[]): string => {
    const { words, count } = write(names.slice(0, maxListed));
    return `${toOperands(words)}${names.length > count ? ' …' : ''}`;
  };
  const hint =
    near === undefined
      ? `name ids, or numbers of rows: ${listSome(ids)}`
      : `did you mean: ${toOperands(write([near]).words)}`;
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
    const isById = rows[from]?.id === ends[0];
    return [...new Set(rows.slice(from, to + 1).map(({ id, number }) => (isById ? id : `${number}`)))];
  }
  return [];
}
