import { type ChangedRow, findChanged } from './changed.ts';
import { assignSlots } from './assign.ts';
import { assignRows, type AssignedRows, listShown } from './assign-rows.ts';
import { isRetried, isToCome } from './decide.ts';
import { type DecidedRows, decideRows, openRetried } from './decide-rows.ts';
import { editedError, hasOtherFlags, isEditedByFlags } from './edited-error.ts';
import type { ReadRows } from './read-rows.ts';
import { partRows, type Sharding } from './shards.ts';
import { describeNamed, markWanted, nameUses, newRowTable, type RowTable } from './table.ts';
import { applyRecord } from '../folder/fold.ts';
import type { LinkRecord, RedoRecord, SlotRecord } from '../folder/records.ts';
import type { BatchState } from '../folder/state.ts';
import type { Batch } from '../types.ts';

/** The plan of a run, made before anything is sent. */
export interface BatchPlan extends ReadRows, Sharding, DecidedRows {
  /** The slots of rows that stay as they are though rows that they use are made again, by their places. */
  kept: AssignedRows['kept'];
  /** The rows that changed and that `--retry` does not name, whether this run sends them or not. */
  changed: readonly ChangedRow[];
  /** What the journal is told before anything is sent: the rows that are made again, and what the slots ask of rows that use others. */
  records: readonly SlotRecord[];
}

/** The part of a plan that the end of a run needs; all that a stream has, whose rows are not known before. */
export type EndedPlan = Pick<BatchPlan, 'table' | 'isOwn' | 'due' | 'jobs' | 'toSend' | 'left' | 'waiting'>;

/** Rows that this run leaves, because an earlier one sent them. */
export function sentBefore({ jobs, toSend, left, waiting }: EndedPlan): number {
  return jobs - toSend - left - waiting.length;
}

/** The plan of a stream: it grows with each row that comes. */
export function newStreamPlan(): EndedPlan {
  return {
    table: newRowTable(),
    isOwn: () => true,
    due: new Uint8Array(0),
    jobs: 0,
    toSend: 0,
    left: 0,
    waiting: [],
  };
}

/**
 * Gives each row that was read its slot, and decides which rows are sent. `named`: the places of the rows that `--redo` names. Throws
 * GatewayError batch-edited.
 */
export async function planBatch(
  read: ReadRows,
  named: ReadonlySet<number> | undefined,
  batch: Pick<Batch, 'host' | 'jobs' | 'state' | 'shard' | 'policy'>,
): Promise<BatchPlan> {
  const { table } = read;
  const { policy, state } = batch;
  const { slots } = state;
  const sharding = partRows(table, batch.shard, slots);
  const names = named && [...named].map((place) => describeNamed(table, place, slots)).toSorted();
  const isNamed = (place: number): boolean => named?.has(place) === true;
  const goesOn = names !== undefined && state.redo?.join() === names.join();
  const comes = (slot: number): boolean => isToCome(slot, policy, state);
  const rows = { isOwn: sharding.isOwn, isNamed, goesOn, comes };
  const assigned = assignRows(table, rows, batch);

  const findRetried = openRetried(table, batch);
  const isAccepted = ({ place }: ChangedRow): boolean => policy.acceptChanges === true || isNamed(place);
  const isRefused = (row: ChangedRow): boolean => !isAccepted(row) && findRetried(row.place) === undefined;
  const found = compareRows(table, sharding, batch);
  const leavesChanged = policy.onlyNamed && !isEditedByFlags({ ...batch, ...read });
  if (!leavesChanged && found.some(isRefused)) {
    // The user is asked for all that the flag pays for, also for the rows that use what was edited.
    assignSlots(table, state.manifest.rows, slots, { comes });
    throw await editedError(compareRows(table, sharding, batch).filter(isRefused), { ...batch, ...read });
  }

  const changed = found.filter(({ place }) => findRetried(place) === undefined);
  table.earlier = listShown(table, state);
  const decided = decideRows(table, { ...rows, ...assigned, changed, findRetried }, batch);
  // What was not named, or is left by a limit, is left for a run that asks for it.
  for (const row of found) if (!isAccepted(row) && decided.due[row.place] !== 1) table.edited.add(row.place);
  const redo = describeRedo(goesOn ? undefined : names, { table, ...assigned }, state);
  const records = [...redo, ...describeLinks(table, decided.due, state)];
  for (const record of records) applyRecord(record, state);
  return { ...read, ...sharding, ...decided, kept: assigned.kept, changed, records };
}

/** Marks the slots of the rows as wanted, and finds the rows that changed since the last run. */
function compareRows(
  table: RowTable,
  { isOwn }: Sharding,
  batch: Pick<Batch, 'state' | 'shard' | 'policy'>,
): ChangedRow[] {
  const { policy, shard, state } = batch;
  markWanted(table, state.slots);
  return findChanged(table, state.manifest.rows, state.slots, {
    hasOtherFlags: hasOtherFlags(batch),
    isOwn,
    isSharded: shard !== undefined,
    isRetried: (slot) => isRetried(slot, policy, state),
  });
}

/** The record of the rows that are made again, without those that a limit leaves. `rows`: the rows that `--redo` names. */
function describeRedo(
  rows: RedoRecord['rows'],
  { table, madeAgain }: Pick<AssignedRows, 'madeAgain'> & { table: RowTable },
  { slots }: BatchState,
): RedoRecord[] {
  const marked = [...madeAgain.keys()].map((place) => table.slots[place] as number);
  const names = marked.filter((slot) => slots.has(slot, 'again')).map((slot) => slots.nameOf(slot));
  return rows !== undefined || names.length > 0 ? [{ t: 'redo', rows, slots: names }] : [];
}

/** What the slots ask that are sent for the first time, of rows that use others. */
function describeLinks(table: RowTable, due: Uint8Array, { links, slots }: BatchState): LinkRecord[] {
  return [...table.links].flatMap(([place, { asks, uses }]) => {
    const slot = table.slots[place] as number;
    if (due[place] === 0 || links.has(slot)) return [];
    return { t: 'link', slot: slots.nameOf(slot), asks, uses: nameUses(uses, slots) };
  });
}
