import {
  addUsage,
  type BatchState,
  type CountedRow,
  countRows,
  countStates,
  type Counts,
  findHolder,
  findOutdated,
  formatCount,
  getToldState,
  type JobError,
  type KnownBatch,
  listVariations,
  type ManifestRow,
  openResults,
  readManifestRows,
  type ReportRow,
  type ResultReader,
  type RowState,
  toReportRow,
  unanswered,
  type Variation,
} from '../../../batch/index.ts';
import { toTypedFolder } from './kept-command.ts';
import type { TypedFolder } from './next-command.ts';
import { readBatchFolder } from './outdir.ts';
import { basename, join } from 'node:path';
import type { Context } from '../../context.ts';
import { append, isObject, joinSpendings, type JsonObject, maxOf, minOf } from '../../../library/index.ts';
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
  /** Slots whose answers were made of an earlier answer. */
  outdated: ReadonlySet<number>;
}

/** Reads the folder of a batch, or those of its shards. Tells of a shard that is not among them, and of a folder with another table. */
export async function readFolders(names: readonly string[], context: Context): Promise<BatchFolder[]> {
  const folders: BatchFolder[] = [];
  for (const name of names) {
    const found = await readBatchFolder(name, context);
    const typed = toTypedFolder(name, found.state.manifest.header?.command?.flags);
    const holder = await findHolder(found.folder);
    const outdated = findOutdated(found.state.manifest.rows, found.state);
    const read = { name, typed, ...found, holder, outdated, isSameTable: true };
    folders.push({ ...read, isSameTable: hasTableOf(read, folders[0] ?? read) });
  }
  if (folders.length > 1) await noteShards(folders, context);
  return folders;
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
  const editedSlots = folders.map(({ state: { manifest } }) => {
    const { edited, slots } = manifest.rows;
    return new Set(Array.from(edited, (place) => slots[place]));
  });
  function* listCounted(): Generator<CountedRow> {
    for (const { at, slot } of listFound(folders)) {
      const { outdated, state } = folders[at] as BatchFolder;
      yield { slot, state, isEdited: editedSlots[at]?.has(slot) === true, isOutdated: outdated.has(slot) };
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

/** The key of the row at a place, without the generations of the answers that it uses. */
function keyOfRow({ state: { manifest, slots } }: BatchFolder, place: number): string {
  const { rows } = manifest;
  return rows.own.get(place) ?? slots.keyOf(rows.slots[place] as number);
}

/** The slot of a row in one of several folders, which has its state. Slot -1: no folder has it. */
interface FoundSlot {
  at: number;
  slot: number;
}

/**
 * Finds the folder with the newest state of a row, and its slot there. Only the folder of its shard knows which of equal rows has
 * which answer; if that folder has another table, its places tell nothing, and the slot is looked up by its name.
 */
function findSlot(name: string, place: number, folders: readonly BatchFolder[]): FoundSlot {
  let best = { at: 0, slot: folders[0]?.state.slots.findNamed(name) ?? -1 };
  if (folders.length === 1) return best;
  for (const [at, { isSameTable, state }] of folders.entries()) {
    const isOwner = isSameTable && state.manifest.rows.others[place] === 0;
    const slot = isOwner ? (state.manifest.rows.slots[place] as number) : state.slots.findNamed(name);
    if (getToldState(slot, state) !== 'pending') best = { at, slot };
  }
  return best;
}

/** The rows of the table in the order of the file. */
function* listFound(folders: readonly BatchFolder[]): Generator<FoundSlot, void> {
  const [first] = folders;
  if (first === undefined) return;
  const { slots, manifest } = first.state;
  for (let place = 0; place < manifest.rows.size; place++) {
    const slot = manifest.rows.slots[place] as number;
    yield folders.length === 1 ? { at: 0, slot } : findSlot(slots.nameOf(slot), place, folders);
  }
}

/** Finds out which slots the rows of the report have. A folder can have an answer of a row that another folder, or none, has by now. */
function openShown(folders: readonly BatchFolder[]): (at: number, slot: number) => boolean {
  const [first, ...others] = folders;
  if (others.length === 0) return (_, slot) => first?.state.slots.has(slot, 'wanted') === true;
  const shown = folders.map(({ state }) => new Uint8Array(state.slots.size));
  for (const { at, slot } of listFound(folders)) if (slot >= 0) (shown[at] as Uint8Array)[slot] = 1;
  return (at, slot) => shown[at]?.[slot] === 1;
}

/** The slots with an answer that no row of the report has. */
function* listAside(folders: readonly BatchFolder[]): Generator<FoundSlot, void> {
  const isShown = openShown(folders);
  for (const [at, { state }] of folders.entries())
    for (let slot = 0; slot < state.slots.size; slot++)
      if (state.slots.answersOf(slot) > 0 && !isShown(at, slot)) yield { at, slot };
}

/** The number of answers that no row of the report has (`aside`), and of answers of its rows beside those that count (`earlier`). */
export function countOthers(folders: readonly BatchFolder[]): { aside: number; earlier: number } {
  const isShown = openShown(folders);
  const counts = { aside: 0, earlier: 0 };
  for (const [at, { state }] of folders.entries())
    for (let slot = 0; slot < state.slots.size; slot++) {
      const answers = state.slots.answersOf(slot);
      if (!isShown(at, slot)) counts.aside += answers;
      else counts.earlier += Math.max(0, answers - 1);
    }
  return counts;
}

/** A row of a report, and its slot. */
interface ReportedRow extends FoundSlot {
  row: Omit<ManifestRow, 'slot'> & Pick<ReportRow, 'version'>;
}

/** The rows of a report: those of the table; also the other answers of these (`takes`), or all answers of the folders. */
interface RowChoice {
  all?: boolean | undefined;
  takes?: boolean | undefined;
}

/** The rows of a report in the order of the file, then the other answers. The rows of one block come together. */
async function* listRows(
  folders: readonly BatchFolder[],
  { all = false }: RowChoice,
): AsyncGenerator<ReportedRow[], void> {
  const [first] = folders;
  if (first === undefined) return;
  let place = 0;
  // The slot is found by name, as a run can have written another table since the state was read.
  for await (const rows of readManifestRows(first.folder))
    yield rows.map((row) => ({ row: all ? { ...row, version: 'now' } : row, ...findSlot(row.slot, place++, folders) }));
  if (all) yield Array.from(listAside(folders), (found) => ({ row: { id: '', version: 'earlier' }, ...found }));
}

/** The state of a slot in a report. Of what the service holds, nothing is known yet. */
function getRowState(state: BatchState, slot: number): RowState {
  const told = getToldState(slot, state);
  return told === 'submitted' ? 'unknown' : told;
}

/** The number of rows of a report in each state. */
export function countReported(folders: readonly BatchFolder[], { all = false }: RowChoice): Record<RowState, number> {
  const counts = { done: 0, failed: 0, unknown: 0, pending: 0 };
  for (const { at, slot } of listFound(folders)) counts[getRowState((folders[at] as BatchFolder).state, slot)]++;
  const { aside, earlier } = all ? countOthers(folders) : { aside: 0, earlier: 0 };
  return { ...counts, done: counts.done + aside + earlier };
}

/**
 * Reads the rows of a report with their results, in the order of the table; other answers of a row come after it. Rows whose results
 * were read together come together; if results are large, these are few.
 */
export async function* readReportRows(
  folders: readonly BatchFolder[],
  { all, takes = all }: RowChoice,
): AsyncGenerator<readonly ReportRow[], void> {
  const results = await openFolderResults(folders);
  try {
    for await (const rows of listRows(folders, { all })) {
      let block: ReportRow[] = [];
      for (const found of rows) {
        const folder = folders[found.at] as BatchFolder;
        const name = (row: ReportRow): ReportRow => (folders.length > 1 ? nameFolder(row, folder) : row);
        const reading = results.read(found);
        if (reading instanceof Promise) {
          yield block;
          block = [];
        }
        block.push(name(createReportRow(found, reading instanceof Promise ? await reading : reading, folder)));
        if (!takes || !folder.state.takes.has(found.slot)) continue;
        append(block, (await readTakes(found, folder, results)).map(name));
      }
      yield block;
    }
  } finally {
    await results.close();
  }
}

/** Reads the answers of a row that do not count. */
async function readTakes(
  found: ReportedRow,
  { state, typed }: BatchFolder,
  results: FolderResults,
): Promise<ReportRow[]> {
  const { row, slot } = found;
  // Lines of a stream can have the same id.
  const name = typed.isStream ? state.slots.nameOf(slot) : row.id;
  return (await results.readTakes(found)).map(([number, document]) => ({
    ...toReportRow({ id: row.id, version: 'earlier', state: 'done' }, document),
    // An answer that no row wants belongs to no row, so it cannot be chosen.
    choose: row.version === 'earlier' ? undefined : `${name}=${number}`,
  }));
}

/** Puts the folder in front of the paths of a row's pictures, as the user typed it, for a report on several folders. */
function nameFolder(row: ReportRow, { name }: BatchFolder): ReportRow {
  return { ...row, images: row.images.map((path) => join(name, path)) };
}

type FolderResults = Awaited<ReturnType<typeof openFolderResults>>;

/** Opens the results of folders. To be closed. */
async function openFolderResults(folders: readonly BatchFolder[]) {
  const readers: ResultReader[] = [];
  for (const { folder, state } of folders) readers.push(await openResults(folder, state.slots));
  return {
    read: ({ at, slot }: FoundSlot) => (slot < 0 ? undefined : readers[at]?.read(slot)),
    /** The answers of a slot that do not count, by their numbers. */
    async readTakes({ at, slot }: FoundSlot): Promise<[number, JsonObject][]> {
      const { slots, takes } = (folders[at] as BatchFolder).state;
      const found: [number, JsonObject][] = [];
      for (const [index, place] of (takes.get(slot) ?? []).entries()) {
        const document = index + 1 === slots.countingOf(slot) ? undefined : await readers[at]?.readTake(slot, place);
        if (document) found.push([index + 1, document]);
      }
      return found;
    },
    async close(): Promise<void> {
      for (const reader of readers) await reader.close();
    },
  };
}

const inFlight = { class: 'no-reply', message: 'no answer yet: a run works in this folder, and it may be in flight' };

/** The row of a report by its row of the table and its result. */
function createReportRow(
  { row, slot }: ReportedRow,
  document: JsonObject | undefined,
  { state: batch, holder, outdated }: BatchFolder,
): ReportRow {
  const { id, version, name, command, prompt } = row;
  const state = getRowState(batch, slot);
  const isNow = document === undefined || version === 'earlier' || !outdated.has(slot);
  const told = { id, version: isNow ? version : ('outdated' as const), name, state };
  const vars = isObject(row.vars) ? (row.vars as JsonObject) : undefined;
  if (document !== undefined) return toReportRow({ ...told, vars, prompt }, document);
  const missing = describeMissing(state, slot, batch);
  const error = holder && missing === unanswered ? inFlight : missing;
  return { ...told, command, vars, prompt, images: [], error };
}

function describeMissing(rowState: RowState, slot: number, { failures }: BatchState): JobError | undefined {
  if (rowState === 'pending') return undefined;
  if (rowState === 'done') return { class: 'not-written', message: 'its line is not in results.jsonl any more' };
  return failures.get(slot) ?? (rowState === 'unknown' ? unanswered : undefined);
}

/** The variations of the rows; the last one is for rows without a variation. */
export function listFolderVariations(folders: readonly BatchFolder[]): Variation[] {
  return listVariations(folders[0]?.state.manifest.header?.vary);
}
