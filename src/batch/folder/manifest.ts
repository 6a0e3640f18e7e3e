import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import {
  cannotWrite,
  GatewayError,
  isObject,
  type Line,
  openIfThere,
  parseObject,
  readAppendedLines,
  readLines,
  SyncedFile,
  version,
  writeAtomically,
} from '../../library/index.ts';
import { addManifestRow, newRowTable, type RowTable } from '../run/table.ts';
import { batchFiles, type Job, type KeptCommand, type Shard, type Vary } from '../types.ts';
import { Slots } from './slots.ts';
import type { BatchState } from './state.ts';

/** The first line of jobs.jsonl: the facts of the whole table. */
export interface ManifestHeader {
  manifest: 1;
  tool: string;
  rows: number;
  /** Rows of the shard. */
  jobs: number;
  /** Digests of the parts that rows share: they tell in which of these the rows were edited. */
  shared?: Readonly<Record<string, string>> | undefined;
  /** The values by which each row of the table varies. */
  vary?: Vary | undefined;
  shard?: Shard | undefined;
  command?: KeptCommand | undefined;
}

/** A row of the table, as jobs.jsonl has it. */
export interface ManifestRow {
  slot: string;
  id: string;
  /** The id of the row is its number in the file. */
  numbered?: true | undefined;
  /** The key of a row that uses others, without the answers that it uses. */
  key?: string | undefined;
  /** The places of the rows that it uses, from 0, separated by blanks. */
  parents?: string | undefined;
  /** In the manifest of one of several shards: the number of the other shard that the row belongs to. */
  other?: number | undefined;
  /** The row was edited after it had been answered, and the user has not said to pay for it. */
  edited?: true | undefined;
  /** The slot whose answer the row shows while nothing came for what it asks. */
  earlier?: string | undefined;
  /** Digest of the line and the settings of the row, if its key can be known without its request. */
  from?: string | undefined;
  /** The number of the row among the rows of the file, from 1. */
  row?: number | undefined;
  /** The id of the line that this row and others are made of. */
  of?: string | undefined;
  name?: string | undefined;
  command?: string | undefined;
  vars?: object | undefined;
  prompt?: string | undefined;
}

/** The table as the last run read it. */
export interface Manifest {
  header: ManifestHeader | undefined;
  rows: RowTable;
  /** The slots that rows have in place of those of the file, by the latter. */
  moved?: ReadonlyMap<number, number>;
  /** The slots whose answers rows show, by the slots of these rows, which have none. */
  earlier?: ReadonlyMap<number, number>;
  /** Digests of rows, in a table of the same kind as that of slots: a row whose digest is here has a known key, and is not built. */
  memo: Slots;
}

export function newManifest(rows = 0): Manifest {
  return { header: undefined, rows: newRowTable(rows), memo: new Slots() };
}

/** The members of a row that decide its slot: they are at the beginning of each line. */
export type ManifestHead = Pick<
  ManifestRow,
  'slot' | 'id' | 'numbered' | 'key' | 'parents' | 'other' | 'edited' | 'earlier' | 'from'
>;

/** The line of a row. The members that `readManifestHead` reads come first. */
export function manifestLine(row: ManifestRow): string {
  const { slot, id, numbered, key, parents, other, edited, earlier, from, ...others } = row;
  return JSON.stringify({ slot, id, numbered, key, parents, other, edited, earlier, from, ...others });
}

const slotAt = '{"slot":"'.length;

/** The slot of a line of jobs.jsonl or results.jsonl, read without parsing the line. */
export function readSlotName(text: string): string {
  return text.slice(slotAt, text.indexOf('"', slotAt));
}

const head =
  /^\{"slot":"([0-9a-f]{32}(?:-(?:[2-9]|[1-9]\d{1,8}))?)","id":("(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-f]{4}))*")(,"numbered":true)?(?:,"key":"([^"]*)")?(?:,"parents":"([\d ]+)")?(?:,"other":(\d+))?(,"edited":true)?(?:,"earlier":"([0-9a-f-]+)")?(?:,"from":"([0-9a-f]{32})")?/;

/** The beginning of a line of jobs.jsonl, whose variables can be long; undefined for a line that is no row. */
export function readManifestHead(text: string): ManifestHead | undefined {
  const [, slot, id, numbered, key, parents, other, edited, earlier, from] = head.exec(text) ?? [];
  if (slot === undefined || id === undefined) return undefined;
  return {
    slot,
    id: id.includes('\\') ? (JSON.parse(id) as string) : id.slice(1, -1),
    numbered: numbered === undefined ? undefined : true,
    key,
    parents,
    other: other === undefined ? undefined : Number(other),
    edited: edited === undefined ? undefined : true,
    earlier,
    from,
  };
}

/**
 * Reads the header of the table of a folder, before anything else is read; undefined if the folder has none.
 */
export async function readManifestHeader(folder: string): Promise<ManifestHeader | undefined> {
  const handle = await openIfThere(join(folder, batchFiles.manifest));
  if (handle === undefined) return undefined;
  try {
    for await (const lines of readLines(handle)) for (const { text } of lines) return readHeader(text);
    return undefined;
  } finally {
    await handle.close().catch(() => undefined);
  }
}

/** Reads the header of a table; undefined for a line that is none. */
function readHeader(text: string): ManifestHeader | undefined {
  const header = parseObject(text);
  return header['manifest'] === 1 ? (header as unknown as ManifestHeader) : undefined;
}

function brokenManifest(message: string): GatewayError {
  return new GatewayError('batch-locked', message, {
    hint: 'take that file away, and run the command again that made the folder: nothing is paid twice, but edits are not told',
    sent: 'no',
  });
}

/** Reads the table of the last run. Throws GatewayError batch-locked. */
export async function readManifest(folder: string, slots: Slots): Promise<Manifest> {
  let manifest = newManifest();
  for await (const lines of readAppendedLines(join(folder, batchFiles.manifest)))
    for (const line of lines) {
      const { text, number } = line;
      if (number === 1) {
        const header = readHeader(text);
        manifest = { ...newManifest(header?.rows), header };
        continue;
      }
      if (isTorn(line)) continue;
      const row = readManifestHead(text);
      if (row === undefined) throw brokenManifest(`${batchFiles.manifest}:${number}: no row that this version knows`);
      const place = addManifestRow(manifest.rows, row, slots);
      if (row.from !== undefined) noteKey(manifest, row.from, manifest.rows.firsts[place] as number);
    }
  return manifest;
}

/** Whether a line was torn by a power cut, among rows that came one by one. */
function isTorn({ text, whole }: Line): boolean {
  return !whole || text === '';
}

function noteKey({ memo }: Manifest, from: string, first: number): void {
  memo.setPlace(memo.add(from), { off: first, len: 1 });
}

/** The first slot of the key of a row that was built of the same; undefined if there was none. */
export function findFirst({ memo }: Manifest, from: string): number | undefined {
  const at = memo.find(from);
  return at < 0 ? undefined : memo.placeOf(at)?.off;
}

/** The number of a digest in the memo, from 1. A digest that is not there is added. */
export function numberFrom({ memo }: Manifest, from: string): number {
  return memo.add(from) + 1;
}

/** The digest of a row of the table; undefined if its key does not follow from its line and settings. */
export function findFrom({ memo }: Manifest, { froms }: Pick<RowTable, 'froms'>, place: number): string | undefined {
  const number = froms[place] as number;
  return number > 0 ? memo.keyOf(number - 1) : undefined;
}

/** The rows of a table with all their facts; the rows of one block come together. */
export async function* readManifestRows(folder: string): AsyncGenerator<ManifestRow[], void> {
  for await (const lines of readAppendedLines(join(folder, batchFiles.manifest))) {
    const rows: ManifestRow[] = [];
    for (const line of lines)
      if (line.number > 1 && !isTorn(line)) rows.push(parseObject(line.text) as unknown as ManifestRow);
    yield rows;
  }
}

/** Opens the table of a folder for jobs that come one by one: each is added once. To be closed. Throws GatewayError not-written. */
export async function openManifest(
  folder: string,
  { state: { manifest, slots }, command }: { state: BatchState; command: KeptCommand | undefined },
) {
  const path = join(folder, batchFiles.manifest);
  const { header = { manifest: 1, tool: `gateway-cli ${version}`, rows: 0, jobs: 0 } } = manifest;
  if (!isSameCommand(command, header.command)) await replaceHeader(path, { ...header, command });
  const file = await SyncedFile.open(path);
  const known = new Set(manifest.rows.slots.subarray(0, manifest.rows.size));
  return {
    enter({ id, line, name, command, values: { vars, prompt } }: Job, slot: number): void {
      if (known.has(slot)) return;
      known.add(slot);
      const own = isObject(vars) ? { vars } : { prompt: typeof prompt === 'string' ? prompt : undefined };
      file.append(manifestLine({ slot: slots.nameOf(slot), id, row: line, name, command, ...own }));
    },
    close: () => file.close(),
  };
}

/** Replaces the header of a table; its rows stay. */
async function replaceHeader(path: string, header: ManifestHeader): Promise<void> {
  const write = async (file: FileHandle): Promise<void> => {
    await file.appendFile(`${JSON.stringify(header)}\n`);
    for await (const lines of readAppendedLines(path)) {
      const rows = [...lines].filter((line) => line.number > 1 && !isTorn(line));
      await file.appendFile(rows.map(({ text }) => `${text}\n`).join(''));
    }
  };
  await writeAtomically(path, write, { mode: 0o666 }).catch((error: unknown) => {
    throw cannotWrite(path, error);
  });
}

/** Whether two commands are the same. */
export function isSameCommand(command: KeptCommand | undefined, before: KeptCommand | undefined): boolean {
  return JSON.stringify(command) === JSON.stringify(before);
}
