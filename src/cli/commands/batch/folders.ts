import {
  addUsage,
  type BatchState,
  type CountedRow,
  countRows,
  countStates,
  type Counts,
  findHolder,
  findNotes,
  findRowSlot,
  formatCount,
  getToldState,
  type KnownBatch,
  listVariations,
  ownOf,
  type RowNotes,
  type Variation,
} from '../../../batch/index.ts';
import { toTypedFolder } from './kept-command.ts';
import { nameFolder, type TypedFolder } from './next-command.ts';
import { readBatchFolder } from './outdir.ts';
import { basename } from 'node:path';
import type { Context } from '../../context.ts';
import { joinSpendings, maxOf, minOf } from '../../../library/index.ts';
import { warnUnread } from './summary.ts';

/** The folder of a batch, or of one of its shards, as it was read. */
export interface BatchFolder extends KnownBatch {
  /** The name of the folder, as the user typed it. */
  name: string;
  typed: TypedFolder;
  folder: string;
  /** The run that holds the folder, if there is one. */
  holder: Awaited<ReturnType<typeof findHolder>>;
  /** The rows of the folder are those of the first folder of the report. */
  isSameTable: boolean;
  notes: RowNotes;
}

/** Reads the folder of a batch, or those of its shards. Tells of a shard that is not among them, and of a folder with another table. */
export async function readFolders(names: readonly string[], context: Context): Promise<BatchFolder[]> {
  const folders: BatchFolder[] = [];
  for (const name of names) {
    const one = await readOneFolder(name, context);
    folders.push({ ...one, isSameTable: hasTableOf(one, folders[0] ?? one) });
  }
  if (folders.length > 1) await noteShards(folders, context);
  return folders;
}

export async function readOneFolder(name: string, context: Context): Promise<BatchFolder> {
  const found = await readBatchFolder(name, context);
  const { rows, header } = found.state.manifest;
  const typed = toTypedFolder(nameFolder(found.folder, context.io.cwd), header?.command?.flags);
  const notes = findNotes(rows, found.state);
  return { name, typed, ...found, holder: await findHolder(found.folder), notes, isSameTable: true };
}

/** Warns of lines of results.jsonl that are no results: no report has them. */
export function warnUnreadable(folders: readonly BatchFolder[], context: Context): Promise<void> {
  return warnUnread({ unreadable: folders.reduce((sum, { unreadable }) => sum + unreadable, 0) }, context);
}

async function noteShards(folders: readonly BatchFolder[], { ui }: Context): Promise<void> {
  const [first] = folders as [BatchFolder, ...BatchFolder[]];
  for (const { name, isSameTable } of folders)
    if (!isSameTable)
      await ui.warn(`${name} has another table than ${first.name}, whose rows are reported: batch again reads it anew`);
  const shards = folders.flatMap(({ state }) => state.manifest.header?.shard ?? []);
  const total = shards[0]?.total ?? 0;
  const missing = Array.from({ length: total }, (_, at) => at + 1).filter(
    (index) => !shards.some((one) => one.index === index && one.total === total),
  );
  if (missing.length === 0 || shards.length < folders.length) return;
  const shown = missing.slice(0, 10).map((index) => `${index}/${total}`);
  await ui.warn(`not among the folders: shard ${shown.join(', ')}${missing.length > 10 ? ' …' : ''}`);
}

/** Whether the tables of two folders have the same rows with the same questions. */
function hasTableOf(one: BatchFolder, other: BatchFolder): boolean {
  const [rows, those] = [one.state.manifest.rows, other.state.manifest.rows];
  if (one === other || rows.size !== those.size) return one === other;
  for (let place = 0; place < rows.size; place++)
    if (rows.ids[place] !== those.ids[place] || keyOfRow(one, place) !== keyOfRow(other, place)) return false;
  return true;
}

/** The name of a report: that of the folder, or of the first folder and the number of others. */
export function chooseReportName(folders: readonly BatchFolder[]): string {
  const first = basename(folders[0]?.folder ?? '');
  return folders.length < 2 ? first : `${first} and ${formatCount(folders.length - 1, 'other folder')}`;
}

/** Counts the rows of a folder by their state, without the rows of other shards. */
export function countFolder({ state }: Pick<BatchFolder, 'state'>): Counts {
  const { rows } = state.manifest;
  return countRows(rows, state, (place) => rows.others[place] === 0);
}

/** Counts the rows of the table by their state in any of the folders. */
export function countFolders(folders: readonly BatchFolder[]): Counts {
  const [first, ...others] = folders as [BatchFolder, ...BatchFolder[]];
  if (others.length === 0) return countFolder(first);
  function* listCounted(): Generator<CountedRow> {
    for (const { at, slot } of listFound(folders)) {
      const { notes, state } = folders[at] as BatchFolder;
      yield { slot, state, notes };
    }
  }
  return countStates(listCounted());
}

/** The facts of several journals together. */
export function joinStates(
  states: readonly BatchState[],
): Pick<BatchState, 'usage' | 'spending' | 'durationMs' | 'beganAt'> {
  const began = states.flatMap(({ beganAt }) => beganAt ?? []);
  return {
    usage: states.reduce((sum, { usage }) => addUsage(sum, usage), {}),
    spending: joinSpendings(states.map(({ spending }) => spending)),
    // Shards run at the same time.
    durationMs: maxOf(states.map(({ durationMs }) => durationMs)),
    beganAt: began.length > 0 ? minOf(began) : undefined,
  };
}

/** What the row at a place asks, apart from the answers that it uses. */
function keyOfRow({ state: { manifest, slots } }: BatchFolder, place: number): string {
  const { rows } = manifest;
  return ownOf(rows, place) ?? slots.keyOf(rows.slots[place] as number);
}

/** The slot of a row in one of several folders, which has its state. Slot -1: no folder has it. */
export interface FoundSlot {
  at: number;
  slot: number;
}

/**
 * Finds the folder that has the state of a row, and its slot there: the folder of its shard, or, if that is not among them, one that has sent
 * it. Only the former knows which of equal rows has which answer; if it has another table, its places tell nothing, and the slot is looked up
 * by its name.
 */
export function findSlot(name: string, place: number, folders: readonly BatchFolder[]): FoundSlot {
  const { state } = folders[0] as BatchFolder;
  const table = state.manifest;
  if (folders.length === 1) return { at: 0, slot: findRowSlot(name, state) };
  const shard = table.rows.others[place] || table.header?.shard?.index;
  let best = { at: 0, slot: -1, rank: -1 };
  for (const [at, { isSameTable, state }] of folders.entries()) {
    const { manifest } = state;
    const isOwner = isSameTable ? manifest.rows.others[place] === 0 : manifest.header?.shard?.index === shard;
    const slot = isSameTable && isOwner ? (manifest.rows.slots[place] as number) : findRowSlot(name, state);
    const rank = (isOwner ? 2 : 0) + (getToldState(slot, state) === 'pending' ? 0 : 1);
    if (rank > best.rank) best = { at, slot, rank };
  }
  return best;
}

/** The rows of the table in the order of the file. */
export function* listFound(folders: readonly BatchFolder[]): Generator<FoundSlot, void> {
  const [first] = folders;
  if (first === undefined) return;
  const { slots, manifest } = first.state;
  for (let place = 0; place < manifest.rows.size; place++) {
    const slot = manifest.rows.slots[place] as number;
    yield folders.length === 1 ? { at: 0, slot } : findSlot(slots.nameOf(slot), place, folders);
  }
}

/** The variations of the rows; the last one is for rows without a variation. */
export function listFolderVariations(folders: readonly BatchFolder[]): Variation[] {
  return listVariations(folders[0]?.state.manifest.header?.vary);
}
