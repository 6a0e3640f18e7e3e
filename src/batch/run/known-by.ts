import type { BatchState, JobIndex } from '../folder/state.ts';
import type { Job } from '../types.ts';

/** A job of the file that the folder does not know by its id, or knows with another request. */
export interface Stray {
  /** Which of the jobs of the file it is, from 1, and its line. */
  place: number;
  line: number;
  id: string;
  digest: string;
  isNumbered: boolean;
  /** The job before it in the file. */
  previous: Pick<Job, 'id' | 'line'> | undefined;
}

/** What strays are known by in their folder. */
export interface KnownBy {
  /** The ids of the folder by the places of the jobs in the file, where they have another id there. */
  ids: Map<number, string>;
  /** Jobs of the folder that have another id of their own in the file. */
  renames: { place: number; id: string; to: string; line: number }[];
}

/** An id that is a number: that of a row, of a line, or of one of several jobs of them. */
const numberedId = /^((?:row-)?(\d+))(?:-\d+)?(?:\+.*)?$/;

/** The number that an id is; undefined if it is none. */
export function findIdNumber(id: string): number | undefined {
  const digits = numberedId.exec(id)?.[2];
  return digits === undefined ? undefined : Number(digits);
}

/** What `--vary` added to an id. */
const variedBy = (id: string): string => /\+.*$/.exec(id)?.[0] ?? '';
export const withoutVariation = (id: string): string => id.slice(0, id.length - variedBy(id).length);

type State = Pick<BatchState, 'index' | 'numbers' | 'run'>;
type Before = ReturnType<JobIndex['remember']>;

/**
 * Finds out which jobs of the folder the strays are. A number says nothing once jobs before it come or go: such a job is the one
 * with the same request, wherever that was; else, if no other job is that, the one that had its number last, or the number after the
 * job before it, and edited; else a new one. A job with an id of its own that the folder does not know is the one with the same
 * request, first the job of its row from before the rows varied; else the one that the folder knows by its number and that had its
 * line, if both have the same variation.
 * `before`: the folder before the file was read; `isInFile` says of each of its jobs whether the file has its id.
 */
export function findKnown(
  strays: readonly Stray[],
  { state, before, isInFile }: { state: State; before: Before; isInFile: Uint8Array },
): KnownBy {
  const { index, numbers, run } = state;
  const ids = [...index.ids()].slice(0, before.size);
  const find = (id: string): number => (index.find(id) < before.size ? index.find(id) : -1);
  const isFree = isInFile.map((is) => 1 - is);
  const unknown = strays.filter(({ id, isNumbered }) => isNumbered || find(id) < 0);
  for (const { id } of unknown) if (find(id) >= 0) isFree[find(id)] = 1;
  const rowOf = new Map<Stray, number>();
  function take(stray: Stray, rows: number[] = []): void {
    while (rows.length > 0 && isFree[rows.at(-1) as number] === 0) rows.pop();
    const row = rows.at(-1);
    if (row === undefined) return;
    isFree[row] = 0;
    rowOf.set(stray, row);
  }

  const sameDigest = groupRows(before.size, before.digestOf);
  for (const stray of unknown) {
    const row = stray.isNumbered ? -1 : find(withoutVariation(stray.id));
    if (row >= 0 && before.digestOf(row) === stray.digest) take(stray, [row]);
  }
  for (const stray of unknown) if (!rowOf.has(stray)) take(stray, sameDigest.get(stray.digest));
  // What had left the file before is not edited now, but for rows that varied by other values alone.
  const removed = new Set(run?.removed);
  const rowIds = new Set(ids.filter((id) => !removed.has(id)).map(withoutVariation));
  for (const id of removed) if (!rowIds.has(withoutVariation(id))) isFree[index.find(id)] = 0;
  // The number that a row had last: it moved since it got its id.
  const rowByNumber = new Map<string, number>();
  for (const [row, number] of numbers) {
    const id = ids[row] ?? '';
    if (numberedId.test(id) && !removed.has(id)) rowByNumber.set(renumberId(id, number), row);
  }
  const findByNumber = (id: string): number => rowByNumber.get(id) ?? (numbers.has(find(id)) ? -1 : find(id));
  const sameLine = groupRows(before.size, before.placeOf);
  // A row with an id of its own that varies by another value is not edited: what its other values got stays.
  const isNumberOf = (id: string) => (row: number) =>
    numberedId.test(ids[row] as string) && variedBy(ids[row] as string) === variedBy(id);
  const strayById = new Map(unknown.map((stray) => [stray.id, stray]));
  const toKnownId = (id: string): string | undefined => {
    const stray = strayById.get(id);
    return stray === undefined ? id : ids[rowOf.get(stray) ?? -1];
  };
  for (const stray of unknown) {
    if (rowOf.has(stray)) continue;
    const { id, line, isNumbered, previous } = stray;
    if (!isNumbered) take(stray, sameLine.get(line)?.filter(isNumberOf(id)));
    else if (findByNumber(id) >= 0) take(stray, [findByNumber(id)]);
    if (!isNumbered || rowOf.has(stray) || previous === undefined) continue;
    const above = toKnownId(previous.id) ?? '';
    const number = numbers.get(find(above)) ?? findIdNumber(above);
    const row = number === undefined ? -1 : findByNumber(renumberId(id, number + (previous.line === line ? 0 : 1)));
    if (row >= 0) take(stray, [row]);
  }

  const known = new Map([...rowOf].map(([stray, row]) => [stray, ids[row] as string]));
  return chooseIds(unknown, { ids, known, isThere: (id) => find(id) >= 0 });
}

/**
 * The ids of strays: of a known one that in its folder, but for what it varies by now. All jobs of a row have the number of one that
 * is known, and no id that another job has or gets.
 */
function chooseIds(
  strays: readonly Stray[],
  {
    ids,
    known,
    isThere,
  }: { ids: readonly string[]; known: ReadonlyMap<Stray, string>; isThere: (id: string) => boolean },
): KnownBy {
  const found: KnownBy = { ids: new Map(), renames: [] };
  const given = new Set<string>();
  const isTaken = (id: string): boolean => isThere(id) || given.has(id);
  const give = (stray: Stray, id: string): void => {
    const { place, line } = stray;
    const before = known.get(stray);
    given.add(id);
    if (id !== stray.id) found.ids.set(place, id);
    if (before !== undefined && before !== id) found.renames.push({ place, id: before, to: id, line });
  };
  const byRow = new Map<string, Stray[]>();
  for (const stray of strays) {
    const row = stray.isNumbered ? (numberedId.exec(stray.id)?.[1] ?? stray.id) : stray.id;
    byRow.set(row, [...(byRow.get(row) ?? []), stray]);
  }
  const numbers = [...ids, ...byRow.keys()].map((id) => findIdNumber(id) ?? 0);
  let last = numbers.reduce((most, number) => Math.max(most, number), 0);
  const rows = [...byRow.values()].map((row) => ({ row, first: row.find((stray) => known.has(stray)) }));
  // Rows that are known keep their numbers: the others have to give way.
  for (const { row, first } of rows.toSorted((a, b) => Number(b.first !== undefined) - Number(a.first !== undefined))) {
    const number = first && findIdNumber(known.get(first) as string);
    let other: number | undefined;
    const mustGiveWay = first === undefined && row.some(({ id, isNumbered }) => isNumbered && isTaken(id));
    for (const stray of row) {
      const { id, isNumbered } = stray;
      const before = known.get(stray);
      const kept = before === undefined ? undefined : `${withoutVariation(before)}${variedBy(id)}`;
      const likeRow = number === undefined ? id : renumberId(id, number);
      const wanted = kept ?? (mustGiveWay ? undefined : likeRow);
      if (!isNumbered) give(stray, id);
      else if (wanted !== undefined && (wanted === before || !isTaken(wanted))) give(stray, wanted);
      else if (!mustGiveWay && !isTaken(id)) give(stray, id);
      else give(stray, renumberId(id, (other ??= ++last)));
    }
  }
  return found;
}

/** The jobs of a file with the ids by which their folder knows them. */
export async function* withKnownIds(
  jobs: AsyncGenerator<Job, void>,
  knownIds: ReadonlyMap<number, string>,
): AsyncGenerator<Job, void> {
  let place = 0;
  for await (const job of jobs) {
    const id = knownIds.get(++place);
    yield id === undefined
      ? job
      : { ...job, id, fileId: job.id, ...(job.lineId && { lineId: numberedId.exec(id)?.[1] ?? job.lineId }) };
  }
}

/** The rows of a folder by what they have in common, the first one last. */
function groupRows<Key>(size: number, keyOf: (row: number) => Key): Map<Key, number[]> {
  const groups = new Map<Key, number[]>();
  for (let row = size - 1; row >= 0; row--) {
    const key = keyOf(row);
    const rows = groups.get(key);
    if (rows) rows.push(row);
    else groups.set(key, [row]);
  }
  return groups;
}

/** `row-000007` with the number 51 is `row-000051`. */
function renumberId(id: string, number: number): string {
  return id.replace(/\d+/, (digits) => String(number).padStart(digits.length, '0'));
}
