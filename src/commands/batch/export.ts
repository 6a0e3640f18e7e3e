import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, extname, join, relative, resolve, sep } from 'node:path';
import type { Command } from 'commander';
import {
  batchFiles,
  type BatchState,
  formatCount,
  findColumns,
  isInShard,
  type Job,
  type JobState,
  locateResults,
  openResults,
  type ResultPlaces,
  type ResultReader,
  type ReportRow,
  toReportRow,
  type RowState,
  unanswered,
} from '../../batch/index.ts';
import { junitReport, markdownReport, type ReportFacts, type ReportWriter, tableReport } from './reports.ts';
import {
  type BatchFolder,
  joinStates,
  pathInFolder,
  readFolders,
  listFolderRows,
  chooseReportName,
} from './folders.ts';
import { warnUnread } from './summary.ts';
import { usageError } from '../../errors.ts';
import { isObject, type JsonObject } from '../../json.ts';
import { checkFile } from '../../images/publish.ts';
import type { Action, Context, CommandOutcome } from '../../cli/context.ts';
import { jsonLine } from '../../terminal/escape.ts';
import { addFlags, type FlagValues, prefixUsageError, setExamples, setNotes } from '../../cli/flags/flag.ts';
import { exportFlags, type ExportFormat, exportFormats } from './flags.ts';
import { writeNewFile } from '../../files/temp-file.ts';
import { isWorkbook } from './jobs/data-rows.ts';
import { openRows } from './jobs/row-jobs.ts';
import { openJobs } from './jobs/source.ts';

type ExportFlags = FlagValues<typeof exportFlags>;

/** `batch export <outdir…>`: one row a job, as a table or a report for CI. */
export function batchExportCommand(command: Command): Action {
  command.argument('<outdir...>', 'folder of a batch, or the folders of its shards').usage('<outdir…> [flags]');
  setExamples(command, [
    'gateway-cli batch export out -o results.csv',
    'gateway-cli batch export out -o results.csv --bom         # for Excel',
    'gateway-cli batch export out-1 out-2 out-3 -o all.csv     # the shards together',
    'gateway-cli batch export out --format md >> "$GITHUB_STEP_SUMMARY"',
    'gateway-cli batch export out --format junit -o junit.xml',
  ]);
  setNotes(command, [
    'Columns are id, state, those of your rows, text (or answer.<key> of a schema), images, usage, cost and error; one that would be empty is left out. See gateway-cli help batch.',
  ]);
  addFlags(command, 'Flags', exportFlags);
  return (context, words, flags) => runExport(words, flags as ExportFlags, context);
}

async function runExport(
  outdirs: readonly string[],
  flags: ExportFlags,
  context: Context,
): Promise<CommandOutcome | undefined> {
  const { output = '-', force = false } = flags;
  if (output === '-' && context.root.json)
    throw usageError('the report and --json both write to stdout', 'name a file: -o results.csv');
  if (isWorkbook(output))
    throw usageError(
      `-o ${output}: a workbook cannot be written`,
      'write CSV, which spreadsheets open; --bom tells Excel that it is UTF-8: -o results.csv --bom',
    );
  const format = flags.format ?? chooseExportFormat(output);
  if (flags.bom && format !== 'csv' && format !== 'tsv')
    throw usageError(`--bom is for CSV and TSV, not ${format}`, 'leave it out, or name the format: --format csv');
  const folders = await readFolders(outdirs, context);
  if (output !== '-') for (const { folder } of folders) await checkTarget(output, folder, { force, context });
  const progress = context.ui.progress('reading the results');
  context.atEnd(async () => progress.stop());
  const rows = await findRows(folders, await openNamedJobs(folders, flags, context), flags);
  await warnUnread(rows, context);
  const named = flags.jobs ?? flags.data;
  const leftOut = named === undefined ? await countMissingJobs(rows, folders, context) : 0;
  const facts = { ...rows, name: chooseReportName(folders), ...joinStates(folders.map(({ state }) => state)) };
  const writer = openReport(format, facts);
  const head = flags.bom ? `\uFEFF${writer.head}` : writer.head;
  const text = reportText({ ...writer, head }, noteLongTexts(rows, format, context), context.signal);
  progress.stop();
  if (output === '-') {
    for await (const piece of text) await context.io.stdout.write(piece);
    return undefined;
  }
  const writeReport = async (append: (piece: string) => Promise<void>): Promise<void> => {
    for await (const piece of text) await append(piece);
  };
  await writeNewFile(output, writeReport, { cwd: context.io.cwd, force });
  const sum = Object.values(rows.counts).reduce((all, count) => all + count, 0);
  if (!context.root.json) await context.io.stdout.write(`${output}\n`);
  return { document: { schema: 'gateway-cli/batch-export@1', path: output, format, rows: sum, leftOut } };
}

/** Lines that cannot be read now were jobs when they were sent. */
function ignoreLineError(): void {}

/** The jobs of the folders' shards in the file that `--jobs` or `--data` names; none if none is named. */
async function openNamedJobs(folders: readonly BatchFolder[], flags: ExportFlags, context: Context): Promise<Jobs> {
  const { jobs, data } = flags;
  if (jobs !== undefined && data !== undefined)
    throw usageError('the jobs are given twice: --jobs and --data', 'keep one of them');
  const source = jobs === undefined ? undefined : await openJobs([jobs], {}, context);
  const file = data === undefined ? undefined : await openRows(flags, context);
  const isWanted = (id: string): boolean => folders.some(({ state: { run } }) => isInShard(id, run?.shard));
  return async function* () {
    const idOf = createNumbering(folders);
    for await (const job of source?.jobs(ignoreLineError) ?? []) {
      const id = job.isNumbered ? idOf(job) : job.id;
      if (isWanted(id)) yield toUnsentRow({ ...job, id });
    }
    for await (const { columns: vars, ...row } of file?.rows(ignoreLineError) ?? [])
      for (const each of sentCopies(flags.idColumn === undefined ? idOf(row) : row.id, folders))
        if (isWanted(each)) yield { id: each, state: 'pending', vars, images: [] };
  };
}

/** What a job is known by whose id is its number in the file: once jobs have moved, that is no number any more. */
function createNumbering(folders: readonly BatchFolder[]): (job: Pick<Job, 'id' | 'line'>) => string {
  if (!folders.some(({ state }) => state.hasMoved)) return ({ id }) => id;
  const ids = new Map<number, string[]>();
  for (const { state } of folders)
    for (const [row, id] of [...state.index.ids()].entries()) {
      const line = state.index.placeOf(row);
      if (!state.index.has(row, 'removed')) ids.set(line, [...(ids.get(line) ?? []), id]);
    }
  return ({ id, line }) => ids.get(line)?.shift() ?? (findJob(id, folders) ? `${id} (new)` : id);
}

/** The ids of a row that was sent with a `count`, which its file does not know; else its own. */
function sentCopies(id: string, folders: readonly BatchFolder[]): string[] {
  const copies = [];
  for (let n = 1; findJob(`${id}-${n}`, folders); n++) copies.push(`${id}-${n}`);
  return copies.length > 0 && !findJob(id, folders) ? copies : [id];
}

/** The folder that knows a job, and its row there. */
function findJob(id: string, folders: readonly BatchFolder[]): { at: number; row: number } | undefined {
  for (const [at, { state }] of folders.entries()) {
    const row = state.index.find(id);
    if (row >= 0) return { at, row };
  }
  return undefined;
}

function toUnsentRow({ id, name, command, values: { prompt, vars } }: Job): ReportRow {
  return {
    id,
    name,
    command,
    state: 'pending',
    vars: isObject(vars) ? vars : undefined,
    prompt: typeof prompt === 'string' ? prompt : undefined,
    images: [],
  };
}

/** By the end of the file's name, else CSV. */
function chooseExportFormat(output: string): ExportFormat {
  const end = extname(output).slice(1).toLowerCase();
  return end === 'xml' ? 'junit' : (exportFormats.find((format) => format === end) ?? 'csv');
}

/** What the batch needs to go on is not replaced by a report. Throws GatewayError usage. */
export async function checkTarget(
  output: string,
  folder: string,
  { force, context }: { force: boolean; context: Context },
): Promise<void> {
  const { cwd } = context.io;
  await checkFile(output, { cwd, force }).catch(prefixUsageError('-o: '));
  const path = resolve(cwd, output);
  const place = relative(await realpath(folder), join(await realpath(dirname(path)), basename(path)));
  const own = [batchFiles.journal, batchFiles.results, batchFiles.summary, batchFiles.lock];
  const [first = ''] = place.split(sep);
  let taken = [...own, batchFiles.images].find((name) => name === first);
  const target = await stat(path).catch(() => undefined);
  for (const name of own) {
    const stats = target && (await stat(join(folder, name)).catch(() => undefined));
    if (stats && stats.ino === target?.ino && stats.dev === target.dev) taken = name;
  }
  if (taken !== undefined)
    throw usageError(`-o ${output}: the batch keeps its own ${taken} there`, 'name another file');
}

/** The folder does not know the ids of jobs that were never sent. */
async function countMissingJobs(
  { counts }: ExportRows,
  folders: readonly BatchFolder[],
  { ui }: Context,
): Promise<number> {
  const jobs = folders.reduce((sum, { state }) => sum + (state.run?.jobs ?? 0), 0);
  const missing = Math.max(0, jobs - counts.done - counts.failed - counts.unknown - counts.pending);
  if (missing > 0)
    await ui.warn(
      `${formatCount(missing, 'unsent job')} left out of the report; --jobs <file> or --data <file> adds ${missing === 1 ? 'it' : 'them'}`,
    );
  return missing;
}

function openReport(format: ExportFormat, facts: ReportFacts): ReportWriter {
  if (format === 'jsonl') return { head: '', row: jsonLine, foot: () => '' };
  if (format === 'md') return markdownReport(facts);
  return format === 'junit' ? junitReport(facts) : tableReport(facts, format === 'csv' ? ',' : '\t');
}

/** Excel takes at most this many characters in a cell. */
const longestCell = 32_767;

async function* noteLongTexts(
  rows: ExportRows,
  format: ExportFormat,
  { ui }: Context,
): AsyncGenerator<ReportRow, void> {
  for await (const row of rows.read()) {
    const { length } = row.text ?? '';
    if (length > longestCell && (format === 'csv' || format === 'tsv'))
      await ui.detail(`${row.id}: its text has ${length} characters; Excel takes ${longestCell} of a cell`);
    yield row;
  }
}

/** Pieces that are worth a write, in characters. */
const pieceLength = 64 * 1024;

async function* reportText(
  { head, row: textOf, foot }: ReportWriter,
  rows: AsyncIterable<ReportRow>,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  let gathered = head;
  for await (const row of rows) {
    signal.throwIfAborted();
    gathered += textOf(row);
    if (gathered.length < pieceLength) continue;
    yield gathered;
    gathered = '';
  }
  yield gathered + foot();
}

/** The jobs of a folder's job file, as rows of jobs that were not sent; none if it is not known. */
type Jobs = () => AsyncGenerator<ReportRow, void>;

/** The rows of a folder, and what is known about all of them. */
type ExportRows = Awaited<ReturnType<typeof findRows>>;

/** Looks through the results and journals of folders, and the jobs of their file. */
async function findRows(folders: readonly BatchFolder[], jobs: Jobs, { all }: Pick<ExportFlags, 'all'>) {
  const found = findColumns();
  const counts: Record<RowState, number> = { done: 0, failed: 0, unknown: 0, pending: 0 };
  const places: ResultPlaces[] = [];
  for (const { folder, state } of folders) {
    const { index } = state;
    const isLeftOut = (row: number): boolean => !all && index.has(row, 'removed');
    const seeResult = (row: number, result: { id: string; document: JsonObject }): void => {
      if (!isLeftOut(row)) found.see(toReportRow(result.id, 'done', result.document));
    };
    places.push(await locateResults(folder, index, { see: seeResult }));
    for (let row = 0; row < index.size; row++) if (!isLeftOut(row)) counts[rowState(index.stateOf(row))]++;
    if (counts.unknown + counts.failed > 0) found.see(unansweredRow('', 'unknown', state.failures));
  }
  for await (const pending of jobs()) {
    if (findJob(pending.id, folders)) continue;
    counts.pending++;
    found.see(pending);
  }
  const unread = places.reduce((sum, { unreadable }) => sum + unreadable, 0);
  // They are read one by one: results may be long.
  return { columns: found.columns(), counts, unread, read: () => readRows(folders, { places, jobs, all }) };
}

/** In the order of the job file if it is known, with the jobs that were not sent; jobs that it does not name come last. */
async function* readRows(
  folders: readonly BatchFolder[],
  { places, jobs, all = false }: { places: readonly ResultPlaces[]; jobs: Jobs; all: boolean | undefined },
): AsyncGenerator<ReportRow, void> {
  const readers: ResultReader[] = [];
  const isRead = folders.map(({ state }) => new Uint8Array(state.index.size));
  const readResultRow = async (id: string, { at, row }: { at: number; row: number }): Promise<ReportRow> => {
    const one = folders[at] as BatchFolder;
    const { index, failures } = one.state;
    const state = rowState(index.stateOf(row));
    const document = await readers[at]?.read(row);
    if (!document) return unansweredRow(id, state, failures);
    const found = toReportRow(id, state, document);
    return { ...found, images: found.images.map((path) => pathInFolder(path, one, folders)) };
  };
  try {
    for (const [at, { folder, state }] of folders.entries())
      readers.push(await openResults(folder, state.index, places[at] as ResultPlaces));
    for await (const pending of jobs()) {
      const place = findJob(pending.id, folders);
      const row = place && (await readResultRow(pending.id, place));
      if (place) (isRead[place.at] as Uint8Array)[place.row] = 1;
      yield row?.command === undefined ? { ...pending, ...row } : row;
    }
    const ids = folders.map(({ state }) => [...state.index.ids()]);
    for (const place of listFolderRows(folders, { all }))
      if (isRead[place.at]?.[place.row] === 0) yield await readResultRow(ids[place.at]?.[place.row] as string, place);
  } finally {
    for (const reader of readers) await reader.close();
  }
}

function unansweredRow(id: string, state: RowState, failures: BatchState['failures']): ReportRow {
  const error = failures.get(id) ?? (state === 'unknown' ? unanswered : undefined);
  return { id, state, images: [], error };
}

function rowState(state: JobState): RowState {
  if (state === 'new') return 'pending';
  return state === 'sent' ? 'unknown' : state;
}
