import {
  type BatchState,
  getToldState,
  type JobError,
  type ManifestRow,
  openResults,
  readManifestRows,
  type ReportRow,
  type ResultReader,
  type RowState,
  toReportRow,
  unanswered,
} from '../../../batch/index.ts';
import { join } from 'node:path';
import { append, isObject, type JsonObject } from '../../../library/index.ts';
import { type BatchFolder, findSlot, type FoundSlot, listFound } from './folders.ts';

/**
 * The slots with answers that no row of the report has: a folder can have an answer of a row that another folder, or none, has by now. A
 * copy of a folder has the same answers: they are told once.
 */
function* listAside(folders: readonly BatchFolder[]): Generator<FoundSlot, void> {
  const isShown = openShown(folders);
  for (const [at, folder] of folders.entries()) {
    const { slots } = folder.state;
    const isTold = (slot: number): boolean =>
      folders.some((other, index) => {
        const same = other === folder ? slot : findCopy(slot, folder, other);
        return same >= 0 && (isShown(index, same) || index < at);
      });
    for (let slot = 0; slot < slots.size; slot++) if (slots.answersOf(slot) > 0 && !isTold(slot)) yield { at, slot };
  }
}

/** Whether a row of the report has a slot, by the folder and the slot. */
function openShown(folders: readonly BatchFolder[]): (at: number, slot: number) => boolean {
  const [first, ...others] = folders as [BatchFolder, ...BatchFolder[]];
  if (others.length === 0) {
    const { manifest, slots } = first.state;
    const earlier = new Set(manifest.earlier?.values());
    return (_, slot) => slots.has(slot, 'wanted') || earlier.has(slot);
  }
  const shown = folders.map(({ state }) => new Uint8Array(state.slots.size));
  for (const found of listFound(folders))
    for (const slot of [found.slot, findEarlier(found, folders) ?? -1])
      if (slot >= 0) (shown[found.at] as Uint8Array)[slot] = 1;
  return (at, slot) => shown[at]?.[slot] === 1;
}

/** The slot whose answer a row shows that has none yet. */
function findEarlier({ at, slot }: FoundSlot, folders: readonly BatchFolder[]): number | undefined {
  return folders[at]?.state.manifest.earlier?.get(slot);
}

/** The slot of another folder that has the same answers as one of this folder; -1 if there is none. */
function findCopy(slot: number, { state: { sentAt, slots } }: BatchFolder, { state: other }: BatchFolder): number {
  const same = other.slots.findNamed(slots.nameOf(slot));
  const [one, two] = [slots.placeOf(slot), same < 0 ? undefined : other.slots.placeOf(same)];
  const isSame = one?.off === two?.off && one?.len === two?.len && sentAt.get(slot) === other.sentAt.get(same);
  return isSame ? same : -1;
}

/** The number of answers that no row of the report has (`aside`), and of answers of its rows beside those that count (`earlier`). */
export function countOthers(folders: readonly BatchFolder[]): { aside: number; earlier: number } {
  const isShown = openShown(folders);
  const counts = { aside: 0, earlier: 0 };
  for (const { at, slot } of listAside(folders)) counts.aside += folders[at]?.state.slots.answersOf(slot) ?? 0;
  for (const [at, { state }] of folders.entries())
    for (let slot = 0; slot < state.slots.size; slot++) {
      const others = state.slots.answersOf(slot) - 1;
      if (others > 0 && isShown(at, slot)) counts.earlier += others;
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
        const name = (row: ReportRow): ReportRow => (folders.length > 1 ? placeImages(row, folder) : row);
        const earlier = findEarlier(found, folders);
        const shown = earlier === undefined ? found : { ...found, slot: earlier };
        const reading = results.read(shown);
        if (reading instanceof Promise) {
          yield block;
          block = [];
        }
        block.push(name(createReportRow(found, reading instanceof Promise ? await reading : reading, folder)));
        if (!takes || !folder.state.takes.has(shown.slot)) continue;
        append(block, (await readTakes(shown, folder, results)).map(name));
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
    choose: row.version === 'earlier' || !state.slots.has(slot, 'wanted') ? undefined : `${name}=${number}`,
  }));
}

/** Puts the folder in front of the paths of a row's pictures, as the user typed it, for a report on several folders. */
function placeImages(row: ReportRow, { name }: BatchFolder): ReportRow {
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

const atService = { class: 'no-reply', message: 'no answer yet: it is at the service' };
const inFlight = { class: 'no-reply', message: 'no answer yet: a run works in this folder, and it may be in flight' };

/** The row of a report by its row of the table and its result. */
function createReportRow(
  { row, slot }: ReportedRow,
  document: JsonObject | undefined,
  { state: batch, holder, notes }: BatchFolder,
): ReportRow {
  const { id, version, name, command, prompt } = row;
  const state = getToldState(slot, batch);
  const isEarlier = batch.manifest.earlier?.has(slot) === true;
  const hasAnswer = document !== undefined && batch.slots.answersOf(slot) > 0;
  const isOutdated =
    (isEarlier && document !== undefined) || (hasAnswer && version !== 'earlier' && notes.outdated.has(slot));
  const told = { id, version: isOutdated ? ('outdated' as const) : version, name, state };
  const vars = isObject(row.vars) ? (row.vars as JsonObject) : undefined;
  if (document !== undefined && !isEarlier) return toReportRow({ ...told, vars, prompt }, document);
  const missing = describeMissing(state, slot, batch);
  const error = holder && missing === unanswered ? inFlight : missing;
  if (document !== undefined) return { ...toReportRow({ ...told, vars, prompt }, document), error };
  return { ...told, command, vars, prompt, images: [], error };
}

function describeMissing(rowState: RowState, slot: number, { failures }: BatchState): JobError | undefined {
  if (rowState === 'pending') return undefined;
  if (rowState === 'submitted') return atService;
  if (rowState === 'done') return { class: 'not-written', message: 'its line is not in results.jsonl any more' };
  return failures.get(slot) ?? (rowState === 'unknown' ? unanswered : undefined);
}
