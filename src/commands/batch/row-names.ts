import { closest } from '../../closest.ts';
import { type GatewayError, usageError } from '../../errors.ts';
import { shellWord } from '../../shell-word.ts';

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
export interface FoundRow extends Pick<NamedRow, 'id' | 'isNumbered' | 'content'> {
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
  for (const word of words) {
    const [, number, rest = ''] = numberForm.exec(word) ?? [];
    if (number === undefined) continue;
    wantedOf.set(Number(number), [...(wantedOf.get(Number(number)) ?? []), { word, rest }]);
  }
  let haveNumbers = false;
  return {
    see({ id, lineId = id, number, isNumbered = false, content }: NamedRow, place: number): void {
      const row = { id, isNumbered, content, place };
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

/** At most this many rows are compared with the typed word. */
const maxCompared = 1000;
/** At most this many rows are named. */
const maxListed = 20;

/** The error for a word that names no row of a table. `name`: the table, as the user typed it. */
export async function noRowError(word: string, name: string, rows: AsyncIterable<NamedRow>): Promise<GatewayError> {
  const known: NamedRow[] = [];
  for await (const row of rows) if (known.push(row) === maxCompared) break;
  const ids = known.map(({ id }) => id);
  const near = closest(word, ids);
  const hint =
    near === undefined ? `name ids, or numbers of rows: ${listSome(ids)}` : `did you mean: ${shellWord(near)}`;
  const range = listRange(word, known);
  return usageError(
    `${name} has no job ${JSON.stringify(word)}`,
    range.length > 0 ? `name each of them: ${listSome(range)}` : hint,
  );
}

function listSome(names: readonly string[]): string {
  return `${shellWord(names.slice(0, maxListed).join(','))}${names.length > maxListed ? ' …' : ''}`;
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
