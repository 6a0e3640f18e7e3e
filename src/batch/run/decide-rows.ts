import { decideSlot, isRetried } from './decide.ts';
import { getToldState, maxNamed } from '../counts.ts';
import { unmarkCut } from '../folder/fold.ts';
import type { AssignedRows, NamedRows } from './assign-rows.ts';
import type { ChangedRow } from './changed.ts';
import { listAwaited } from './links.ts';
import { hasSameOwn, indexRows, type RowTable } from './table.ts';
import type { Batch } from '../types.ts';

/** The rows that are sent, and those that are left. */
export interface DecidedRows {
  /** 1 for each row that is to be sent, by its place. */
  due: Uint8Array;
  /** The numbers of rows of this shard, and of those that this run sends. */
  jobs: number;
  toSend: number;
  /** The number of rows that an earlier run sent, and this one sends again; and of those among them that may be billed twice. */
  again: number;
  twice: number;
  /** The number of rows that this run sends for the first time, and that neither were edited nor use a newer answer. */
  fresh: number;
  /** The places of the first few of both. */
  first: { again: readonly number[]; fresh: readonly number[] };
  /** The number of rows without an answer that are left for another run, by a limit or as nobody named them. */
  left: number;
  /** The rows that wait: an answer that they use is neither there nor comes in this run. They take no place of the limit. */
  waiting: readonly number[];
}

/** The rows of a table that was compared with the last run. */
interface ComparedRows extends NamedRows, AssignedRows {
  changed: readonly ChangedRow[];
  /** Finds the slot by which `batch retry` names a row that asks something new. */
  findRetried(place: number): number | undefined;
}

/** Decides which rows are sent, in the order of the file, and counts them. A cut answer that the limit leaves stays as it is. */
export function decideRows(table: RowTable, rows: ComparedRows, options: DecideOptions): DecidedRows {
  const { changed, findRetried, isNamed, isOwn, madeAgain } = rows;
  const { state } = options;
  const isChanged = new Set(changed.map(({ place }) => place));
  const decide = openDecision(table, { ...rows, isChanged }, options);
  const { due, waiting } = cutToLimit(table, (place) => decide(place) === 'send', options);
  for (const [place, was] of madeAgain)
    if (due[place] === 0 && was === 'incomplete' && !isNamed(place)) unmarkCut(table.slots[place] as number, state);
  const counts = { jobs: 0, toSend: 0, again: 0, twice: 0, fresh: 0, left: 0 };
  const first: Record<'again' | 'fresh', number[]> = { again: [], fresh: [] };
  const countDue = (kind: 'again' | 'fresh', place: number): void => {
    if (counts[kind]++ < maxNamed) first[kind].push(place);
  };
  for (let place = 0; place < table.size; place++) {
    if (isOwn(place)) counts.jobs++;
    if (waiting.has(place) || decide(place) === 'leave') continue;
    const told = getToldState(findRetried(place) ?? (table.slots[place] as number), state);
    if (due[place] === 0) {
      if (told === 'pending') counts.left++;
      continue;
    }
    counts.toSend++;
    if (told !== 'pending') countDue('again', place);
    else if (!isChanged.has(place) && !table.earlier.has(place)) countDue('fresh', place);
    if (told === 'unknown' || madeAgain.get(place) === 'sent') counts.twice++;
  }
  return { ...counts, first, due, waiting: [...waiting].filter((place) => decide(place) === 'send') };
}

type DecideOptions = Pick<Batch, 'policy' | 'state'>;

/** Says what a run without a limit does with a row: what `decideSlot` says of its slot. */
function openDecision(
  table: RowTable,
  { findRetried, isChanged, isNamed, isOwn, kept }: ComparedRows & { isChanged: ReadonlySet<number> },
  { policy, state }: DecideOptions,
): (place: number) => ReturnType<typeof decideSlot> {
  const isMeant = (place: number, slot: number): boolean => {
    if (isNamed(place)) return true;
    if (isChanged.has(place)) return policy.acceptChanges === true;
    // An earlier run was allowed to make it of a newer answer.
    if (policy.acceptChanges && table.earlier.has(place)) return true;
    // An earlier run can have begun to make a cut answer again.
    return isRetried(slot, policy, state) || findRetried(place) !== undefined;
  };
  return (place) => {
    if (!isOwn(place) || kept.has(place)) return 'leave';
    const slot = table.slots[place] as number;
    return decideSlot(slot, { isMeant: isMeant(place, slot), policy }, state);
  };
}

/** Takes as many rows as the limit allows, of those whose answers to use come. */
function cutToLimit(
  table: RowTable,
  isToSend: (place: number) => boolean,
  { policy: { limit }, state }: DecideOptions,
): { due: Uint8Array; waiting: ReadonlySet<number> } {
  const due = new Uint8Array(table.size);
  const waiting = new Set<number>();
  let room = limit ?? Number.POSITIVE_INFINITY;
  const take = (place: number): void => {
    if (room === 0) return;
    if (listAwaited(place, { table, due }, state).length > 0) {
      waiting.add(place);
      return;
    }
    waiting.delete(place);
    due[place] = 1;
    room--;
  };
  for (let place = 0; place < table.size; place++) if (isToSend(place)) take(place);
  // The rows that a waiting row uses can come after it in the file, but not in the levels.
  for (const place of waiting.size > 0 ? table.levels.flat() : []) if (waiting.has(place)) take(place);
  return { due, waiting: room > 0 ? waiting : new Set() };
}

/**
 * Finds the slot by which `batch retry` names a row that asks something new: it, or what it uses, changed since. Who mends a row and
 * types `retry` means that row; but an answer to what the row itself asked before is given up by `--accept-changes` alone. To be asked
 * once the wanted slots are marked.
 */
export function openRetried(table: RowTable, { policy, state }: DecideOptions): (place: number) => number | undefined {
  if (policy.onlyNamed !== true || policy.retry === undefined) return () => undefined;
  const { slots } = state;
  const { rows: before } = state.manifest;
  const index = indexRows(before);
  const known = new Set(before.slots.subarray(0, before.size));
  return (place) => {
    if (known.has(table.slots[place] as number)) return undefined;
    const was = index.find(table.ids[place] as number);
    if (was === undefined) return undefined;
    const had = before.slots[was] as number;
    if (slots.has(had, 'wanted') || !isRetried(had, policy, state)) return undefined;
    return hasSameOwn(table, place, before, was) || slots.answersOf(had) === 0 ? had : undefined;
  };
}
