import { decideSlot, isRetried } from './decide.ts';
import { getToldState, maxNamed } from '../counts.ts';
import type { EditedRow } from './edited.ts';
import { listMissing } from './links.ts';
import { hasSameOwn, indexRows, type RowTable } from './table.ts';
import type { BatchState } from '../folder/state.ts';
import type { BatchPolicy } from '../types.ts';

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
  /** The number of rows that this run sends for the first time, and that were not edited. */
  fresh: number;
  /** The places of the first few of both. */
  first: { again: readonly number[]; fresh: readonly number[] };
  /** The number of rows without an answer that are left for another run, by a limit or as nobody named them. */
  left: number;
  /** The rows that wait: an answer that they use is neither there nor comes in this run. They take no place of the limit. */
  held: readonly number[];
}

/** The rows of a table that was compared with the last run. */
interface ComparedRows {
  /** Whether a row belongs to this shard. */
  isOwn(place: number): boolean;
  /** The slots of rows that stay as they are, by their places. */
  stays: ReadonlyMap<number, number>;
  /** Slots that this run makes again though they may have been billed. */
  unsure: ReadonlySet<number>;
  edited: readonly EditedRow[];
  /** The places of the rows that `--redo` names. */
  named: ReadonlySet<number> | undefined;
}

export interface Deciding {
  policy: BatchPolicy;
  state: BatchState;
}

/** Decides which rows are sent, in the order of the file, and counts them. */
export function decideRows(table: RowTable, deciding: ComparedRows, options: Deciding): DecidedRows {
  const { edited, isOwn, unsure } = deciding;
  const findRetried = openRetried(table, options);
  const open = findOpen(table, { ...deciding, findRetried }, options);
  const { due, held } = cutToLimit(open, table, options);
  const isEdited = new Set(edited.map(({ place }) => place));
  const isHeld = new Set(held);
  const counts = { jobs: 0, toSend: 0, again: 0, twice: 0, fresh: 0, left: 0 };
  const first: Record<'again' | 'fresh', number[]> = { again: [], fresh: [] };
  const countDue = (kind: 'again' | 'fresh', place: number): void => {
    if (counts[kind]++ < maxNamed) first[kind].push(place);
  };
  for (let place = 0; place < table.size; place++) {
    if (isOwn(place)) counts.jobs++;
    if (open[place] === 0 || isHeld.has(place)) continue;
    const slot = table.slots[place] as number;
    const had = findRetried(place) ?? slot;
    const told = getToldState(had, options.state);
    if (due[place] === 0) {
      if (told === 'pending') counts.left++;
      continue;
    }
    counts.toSend++;
    if (told !== 'pending') countDue('again', place);
    else if (!isEdited.has(place)) countDue('fresh', place);
    if (told === 'unknown' || unsure.has(slot)) counts.twice++;
  }
  return { ...counts, first, due, held };
}

/** The rows of this shard that lack an answer, by their places. */
const openRow = { no: 0, toSend: 1, later: 2 } as const;

/** Finds the rows that a run without a limit sends, and those that are left for a later one as nobody named them. */
function findOpen(
  table: RowTable,
  { edited, findRetried, isOwn, named, stays }: ComparedRows & { findRetried: ReturnType<typeof openRetried> },
  options: Deciding,
): Uint8Array {
  const { policy, state } = options;
  const { slots, atService } = state;
  const isEdited = new Set(edited.map(({ place }) => place));
  const isNamed = (place: number, slot: number): boolean => {
    if (named?.has(place)) return true;
    if (isEdited.has(place)) return policy.acceptChanges === true;
    // An earlier run can have begun to make a cut answer again.
    return isRetried(slot, policy, state) || findRetried(place) !== undefined;
  };
  const open = new Uint8Array(table.size);
  for (let place = 0; place < table.size; place++) {
    if (!isOwn(place) || stays.has(place)) continue;
    const slot = table.slots[place] as number;
    const asked = { isAtService: atService.has(slot), isNamed: isNamed(place, slot), policy };
    const decision = decideSlot(slots.stateOf(slot), asked);
    if (decision === 'send') open[place] = openRow.toSend;
    if (decision === 'later') open[place] = openRow.later;
  }
  return open;
}

/** Takes as many rows as the limit allows, of those whose answers to use come. */
function cutToLimit(
  open: Uint8Array,
  table: RowTable,
  { policy: { limit }, state }: Deciding,
): Pick<DecidedRows, 'due' | 'held'> {
  const due = new Uint8Array(table.size);
  const held = new Set<number>();
  let room = limit ?? Number.POSITIVE_INFINITY;
  const takeOrHold = (place: number): void => {
    if (room === 0) return;
    if (listMissing(place, { table, due }, state).length > 0) {
      held.add(place);
      return;
    }
    held.delete(place);
    due[place] = 1;
    room--;
  };
  for (let place = 0; place < table.size; place++) if (open[place] === openRow.toSend) takeOrHold(place);
  // The rows that a held row uses can come after it in the file, but not in the levels.
  for (const place of held.size > 0 ? table.levels.flat() : []) if (held.has(place)) takeOrHold(place);
  return { due, held: room > 0 ? [...held] : [] };
}

/**
 * Finds the slot by which `batch retry` names a row that asks something new: it, or what it uses, changed since. Who mends a row and
 * types `retry` means that row; but an answer to what the row itself asked before is given up by `--accept-changes` alone. To be asked
 * once the wanted slots are marked.
 */
export function openRetried(table: RowTable, { policy, state }: Deciding): (place: number) => number | undefined {
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
