import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, extname, join, relative, resolve, sep } from 'node:path';
import { Readable } from 'node:stream';
import type { Command } from 'commander';
import {
  batchFiles,
  type Column,
  formatCount,
  findColumns,
  findHolder,
  isInShard,
  type Job,
  type JobState,
  listVariations,
  locateResults,
  openResults,
  parseVariedId,
  type ResultPlaces,
  type ResultReader,
  type ReportRow,
  toReportRow,
  type RowState,
  unanswered,
  type Variation,
  idsWithoutResult,
} from '../../batch/index.ts';
import { joinVariations, listVariationColumns, omitVaried, requireVaried, sumBy } from './compare.ts';
import {
  junitReport,
  markdownReport,
  promptfooReport,
  type ReportFacts,
  type ReportWriter,
  tableReport,
} from './reports.ts';
import {
  type BatchFolder,
  findJob,
  joinStates,
  pathInFolder,
  readFolders,
  showEarlierAnswers,
  listFolderRows,
  listFolderVariations,
  chooseReportName,
} from './folders.ts';
import { countEdited, editedStep, missingResultStep, warnUnread } from './summary.ts';
import { usageError } from '../../errors.ts';
import { isObject, type JsonObject } from '../../json.ts';
import { checkFile } from '../../images/publish.ts';
import type { Action, Context, CommandOutcome } from '../../cli/context.ts';
import { jsonLine, writeEscaped } from '../../terminal/escape.ts';
import { addFlags, type FlagValues, prefixUsageError, setExamples, setNotes } from '../../cli/flags/flag.ts';
import { exportFlags, type ExportFormat, exportFormats } from './flags.ts';
import { type Range, writeNewFile } from '../../files/temp-file.ts';
import { isWorkbook } from './jobs/data-rows.ts';
import { openRows } from './jobs/row-jobs.ts';
import { openRowTexts, type RowTexts } from './row-texts.ts';
import { openJobs, requireJobs } from './jobs/source.ts';
import { shellWord } from '../../shell-word.ts';

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
    'gateway-cli batch export out --by model                   # of a batch with --vary model=a,b',
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
  if (flags.delimiter !== undefined && format !== 'csv')
    throw usageError(`--delimiter is for CSV, not ${format}`, 'leave it out, or name the format: --format csv');
  const folders = await readFolders(outdirs, context);
  showEarlierAnswers(folders);
  for (const one of folders) one.isRunning = (await findHolder(one.folder)) !== undefined;
  if (output !== '-') for (const { folder } of folders) await checkTarget(output, folder, { force, context });
  if (flags.format === undefined && format !== 'promptfoo' && otherFormat.test(output))
    throw usageError(
      `-o ${output}: a report cannot be written as ${extname(output)}`,
      'end it with .csv, .tsv, .jsonl, .md or .xml (JUnit), for example -o results.jsonl; or name its format: --format csv',
    );
  const progress = context.ui.progress('reading the results');
  context.atEnd(async () => progress.stop());
  const vary = folders[0]?.state.run?.vary;
  const variations = listFolderVariations(folders, flags);
  const keys = listSumKeys(flags.by, format, variations);
  const isJoined = vary !== undefined && flags.by === undefined && format !== 'junit' && format !== 'promptfoo';
  const jobs = await openNamedJobs(folders, flags, { context, variations: listVariations(vary), isJoined });
  const named = flags.jobs ?? flags.data;
  const canKeep = output !== '-' && named === undefined && !isJoined && keys.length === 0;
  const sizes = folders.map(({ state }) => state.index.size);
  const delimiter = format === 'tsv' ? '\t' : (flags.delimiter ?? folders[0]?.state.run?.delimiter ?? ',');
  const openTextOf = canKeep ? rowWriter(format, delimiter) : undefined;
  const texts = openTextOf && (await openRowTexts(dirname(resolve(context.io.cwd, output)), sizes));
  context.atEnd(async () => texts?.close());
  const joining = { all: flags.all, variations: isJoined ? variations : undefined };
  const found = await findRows(folders, jobs, { ...joining, keeping: texts && { texts, openTextOf } });
  const summed = keys.length === 0 ? undefined : await sumBy(keys, found.read(), variations);
  const rows = summed ? { ...found, columns: summed.columns, read: () => Readable.from(summed.rows) } : found;
  await noteFound(rows, folders, { flags, context });
  const leftOut = named === undefined ? await countMissingJobs(rows, folders, context) : 0;
  const facts = { ...rows, name: chooseReportName(folders), ...joinStates(folders.map(({ state }) => state)) };
  const writer = openReport(format, facts, { variations, delimiter, isSummed: summed !== undefined });
  const head = flags.bom ? `\uFEFF${writer.head}` : writer.head;
  const text = reportText({ ...writer, head }, texts ? found.readKept(texts) : rows.read(), { format, context });
  progress.stop();
  if (output === '-') {
    for await (const piece of text) await writeEscaped(context.io.stdout, piece);
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

/** What is wrong with the results, or with how rows of a table are known; and what answers earlier versions of jobs. */
async function noteFound(
  rows: ExportRows,
  folders: readonly BatchFolder[],
  { flags, context }: { flags: ExportFlags; context: Context },
): Promise<void> {
  const states = folders.map(({ state }) => state);
  await warnUnread(rows, context);
  const hasNumbers = flags.data !== undefined && flags.idColumn === undefined;
  if (rows.isOfOthers && hasNumbers && states.some(({ index }) => index.size > 0)) {
    const names = folders.map(({ name }) => name).join(', ');
    await context.ui.warn(
      `no row of ${flags.data} is known in ${names} by its number; if a column has the ids: --id-column <name>`,
    );
  }
  const edited = editedStep(countEdited(states));
  if (edited !== undefined) await context.ui.note(edited);
  const lost = missingResultStep(rows.lost, states);
  if (lost !== undefined) await context.ui.warn(lost);
}

/** Lines that cannot be read now were jobs when they were sent. */
function ignoreLineError(): void {}

/** The jobs of the folders' shards in the file that `--jobs` or `--data` names; none if none is named. */
async function openNamedJobs(
  folders: readonly BatchFolder[],
  flags: ExportFlags,
  { context, variations, isJoined }: { context: Context; variations: readonly Variation[]; isJoined: boolean },
): Promise<Jobs> {
  const { jobs, data, delimiter: _, ...reading } = flags;
  if (jobs !== undefined && data !== undefined)
    throw usageError('the jobs are given twice: --jobs and --data', 'keep one of them');
  const source = jobs === undefined ? undefined : await openJobs(requireJobs([jobs], {}), {}, context);
  const file = data === undefined ? undefined : await openRows({ ...reading, data }, context);
  const isWanted = (id: string): boolean =>
    folders.some(({ state: { run } }) => run?.linked === true || isInShard(id, run?.shard));
  // The file does not say what its jobs were varied by.
  const listWanted = (id: string): string[] => {
    const wanted = listJobIds(id, variations).filter(isWanted);
    return isJoined && wanted.length > 0 ? [id] : wanted;
  };
  return async function* () {
    const idOf = createNumbering(folders, variations);
    for await (const job of source?.jobs(ignoreLineError) ?? [])
      for (const id of listWanted(job.isNumbered ? idOf(job) : job.id)) yield toUnsentRow({ ...job, id });
    for await (const { columns: vars, ...row } of file?.rows(ignoreLineError) ?? [])
      for (const copy of sentCopies(flags.idColumn === undefined ? idOf(row) : row.id, folders))
        for (const id of listWanted(copy)) yield { id, state: 'pending', vars, images: [] };
  };
}

/** What a job is known by whose id is its number in the file: once jobs have moved, that is no number any more. */
function createNumbering(
  folders: readonly BatchFolder[],
  variations: readonly Variation[],
): (job: Pick<Job, 'id' | 'line'>) => string {
  if (!folders.some(({ state }) => state.numbers.size > 0)) return ({ id }) => id;
  const ids = new Map<number, string[]>();
  for (const { state } of folders)
    for (const [row, varied] of [...state.index.ids()].entries()) {
      const [id, line] = [splitId(varied, variations), state.index.placeOf(row)];
      const known = ids.get(line) ?? [];
      if (!state.index.has(row, 'removed') && !known.includes(id)) ids.set(line, [...known, id]);
    }
  const isTaken = (id: string): boolean => listJobIds(id, variations).some((each) => findJob(each, folders));
  return ({ id, line }) => ids.get(line)?.shift() ?? (isTaken(id) ? `${id} (new)` : id);
}

/** The ids of a row that was sent with a `count`, which its file does not know; else its own. */
function sentCopies(id: string, folders: readonly BatchFolder[]): string[] {
  const copies = [];
  for (let n = 1; findJob(`${id}-${n}`, folders); n++) copies.push(`${id}-${n}`);
  return copies.length > 0 && !findJob(id, folders) ? copies : [id];
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

/** Names that promise what no report is. */
const otherFormat = /\.(?:json|ndjson|ya?ml|html?|markdown|pdf|docx?|parquet|sql|sqlite|db)$/i;

/** By the end of the file's name, else CSV. */
function chooseExportFormat(output: string): ExportFormat {
  const end = extname(output).slice(1).toLowerCase();
  if (/(?:^|[/\\])promptfooconfig\.json$/.test(output)) return 'promptfoo';
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

/** The keys of `--by` that have sums; none for `--by job`. Throws GatewayError usage. */
function listSumKeys(by: ExportFlags['by'], format: ExportFormat, variations: readonly Variation[]): string[] {
  const keys = [...new Set(by)].filter((key) => key !== 'job');
  for (const key of keys) requireVaried(key, variations);
  const [first] = keys;
  if (first === undefined) return [];
  if (by?.includes('job'))
    throw usageError('--by job has a line for each job, and no sums', `leave it out: --by ${shellWord(first)}`);
  if (format === 'promptfoo' || format === 'junit')
    throw usageError(`--by ${first}: ${format} has no place for sums`, 'leave out --by, or name another format');
  return keys;
}

/** The folder does not know the ids of jobs that were never sent. */
async function countMissingJobs(
  { counts, bare }: ExportRows,
  folders: readonly BatchFolder[],
  { ui }: Context,
): Promise<number> {
  const jobs = folders.reduce((sum, { state }) => sum + (state.run?.jobs ?? 0), 0);
  const missing = Math.max(0, jobs - counts.done - counts.failed - counts.unknown - counts.pending);
  if (missing > 0)
    await ui.warn(
      `${formatCount(missing, 'unsent job')} left out of the report; --jobs <file> or --data <file> adds ${missing === 1 ? 'it' : 'them'}`,
    );
  if (bare > 0)
    await ui.note(
      `${formatCount(bare, 'job')} without an answer ${bare === 1 ? 'has' : 'have'} no values in the report; --jobs <file> or --data <file> adds them`,
    );
  return missing;
}

function openReport(
  format: ExportFormat,
  facts: ReportFacts,
  { variations, delimiter, isSummed }: { variations: readonly Variation[]; delimiter: string; isSummed: boolean },
): ReportWriter {
  if (format === 'jsonl') {
    const toObject = (row: ReportRow): object =>
      isSummed ? Object.fromEntries(facts.columns.map(({ name, cell }) => [name, cell(row)])) : row;
    return { head: '', row: (row) => jsonLine(toObject(row)), foot: () => '' };
  }
  if (format === 'promptfoo') return promptfooReport(facts, variations);
  if (format === 'md') return markdownReport(facts);
  return format === 'junit' ? junitReport(facts) : tableReport(facts, delimiter);
}

/** Excel takes at most this many characters in a cell. */
const longestCell = 32_767;

/** Pieces that are worth a write, in characters. */
const pieceLength = 64 * 1024;

/** The formats in which the text of a row depends on its columns alone, and not on the rows before it. */
function rowWriter(
  format: ExportFormat,
  delimiter: string,
): ((columns: readonly Column[]) => ReportWriter['row']) | undefined {
  if (format === 'jsonl') return () => jsonLine;
  const isTable = format === 'csv' || format === 'tsv';
  return isTable ? (columns) => tableReport({ columns }, delimiter).row : undefined;
}

async function* reportText(
  { head, row: textOf, foot }: ReportWriter,
  rows: AsyncIterable<ReportRow | string>,
  { format, context: { signal, ui } }: { format: ExportFormat; context: Context },
): AsyncGenerator<string, void> {
  const isTable = format === 'csv' || format === 'tsv';
  let gathered = head;
  for await (const row of rows) {
    signal.throwIfAborted();
    if (typeof row === 'string') gathered += row;
    else {
      const { length } = row.text ?? '';
      if (isTable && length > longestCell)
        await ui.detail(`${row.id}: its text has ${length} characters; Excel takes ${longestCell} of a cell`);
      gathered += textOf(row);
    }
    if (gathered.length < pieceLength) continue;
    yield gathered;
    gathered = '';
  }
  yield gathered + foot();
}

/** The jobs of a folder's job file, as rows of jobs that were not sent; none if it is not known. */
type Jobs = () => AsyncGenerator<ReportRow, void>;

/** The rows of a folder, and what is known about all of them. */
type ExportRows = Omit<Awaited<ReturnType<typeof findRows>>, 'read' | 'readKept'> & {
  read(): AsyncIterable<ReportRow>;
};

interface Joining {
  all: boolean | undefined;
  /** Those that are joined in one row of the report. */
  variations: readonly Variation[] | undefined;
}

/** Keeps the texts of rows while their columns are found. */
interface Keeping {
  texts: RowTexts;
  openTextOf: (columns: readonly Column[]) => ReportWriter['row'];
}

/** Looks through the results and journals of folders, and the jobs of their file. */
async function findRows(
  folders: readonly BatchFolder[],
  jobs: Jobs,
  { all, variations, keeping }: Joining & { keeping: Keeping | undefined },
) {
  const found = findColumns();
  const counts: Record<RowState, number> = { done: 0, failed: 0, unknown: 0, pending: 0 };
  const places: ResultPlaces[] = [];
  let bare = 0;
  // Absent where a column came since.
  let textOf: ReportWriter['row'] | undefined;
  const see = (row: ReportRow): void => {
    if (found.see(row)) textOf = undefined;
  };
  for (const [at, one] of folders.entries()) {
    const { folder, state } = one;
    const { index } = state;
    const isLeftOut = (row: number): boolean => !all && index.has(row, 'removed');
    for (let row = 0; row < index.size; row++) if (!isLeftOut(row)) counts[rowState(index.stateOf(row))]++;
    if (!variations && counts.unknown + counts.failed > 0) see(unansweredRow('', 'unknown', one));
    const forget = (row: number): void => keeping?.texts.forget(at, row);
    const seeResult = (row: number, { id, document }: { id: string; document: JsonObject }): void => {
      if (isLeftOut(row)) return;
      const seen = toFolderRow({ id, row, document }, at, folders);
      see(variations ? joinVariations(splitId(id, variations), { one: omitVaried(seen, variations) }) : seen);
      if (keeping === undefined) return;
      if (textOf === undefined) {
        textOf = keeping.openTextOf(found.columns());
        keeping.texts.forgetAll();
      }
      if (index.isRenamed(row)) seen.id = index.idOf(row);
      // A text that is too long is told when its turn comes.
      if ((seen.text ?? '').length > longestCell) forget(row);
      else keeping.texts.keep(at, row, textOf(seen));
    };
    const located = await locateResults(folder, index, { see: seeResult, seeOther: forget });
    places.push(located);
    for (let row = 0; row < index.size; row++)
      if (!isLeftOut(row) && index.stateOf(row) === 'sent' && (located.offsets[row] ?? -1) < 0) bare++;
  }
  if (textOf === undefined) keeping?.texts.forgetAll();
  let [named, known] = [0, 0];
  for await (const pending of jobs()) {
    named++;
    if (listJobIds(pending.id, variations).some((id) => findJob(id, folders))) {
      known++;
      continue;
    }
    counts.pending++;
    found.see(pending);
  }
  const unread = places.reduce((sum, { unreadable }) => sum + unreadable, 0);
  const lost = folders.flatMap(({ state }, at) => idsWithoutResult(state.index, places[at] as ResultPlaces));
  // They are read one by one: results may be long.
  const columns = [...found.columns(), ...listVariationColumns(variations ?? [])];
  const reading = { places, jobs, all, variations };
  return {
    columns,
    counts,
    /** How many jobs were sent, of which nothing else is known. */
    bare,
    unread,
    lost,
    /** Jobs are named, and none of them is in the folders. */
    isOfOthers: named > 0 && known === 0,
    read: () => readRows(folders, reading),
    readKept: (texts: RowTexts) => readRows(folders, { ...reading, texts }),
  };
}

interface RowReading extends Joining {
  places: readonly ResultPlaces[];
  jobs: Jobs;
}

const splitId = (id: string, variations: readonly Variation[]): string => parseVariedId(id, variations)?.id ?? id;

/** The ids of the jobs of a row. */
function listJobIds(id: string, variations: readonly Variation[] | undefined): string[] {
  return (variations ?? [{ suffix: '' }]).map(({ suffix }) => id + suffix);
}

/** In the order of the job file if it is known, with the jobs that were not sent; jobs that it does not name come last. */
function readRows(folders: readonly BatchFolder[], reading: RowReading): AsyncGenerator<ReportRow, void>;
function readRows(
  folders: readonly BatchFolder[],
  reading: RowReading & { texts: RowTexts },
): AsyncGenerator<ReportRow | string, void>;
async function* readRows(
  folders: readonly BatchFolder[],
  { places, jobs, all = false, variations, texts }: RowReading & { texts?: RowTexts },
): AsyncGenerator<ReportRow | string, void> {
  const readers: ResultReader[] = [];
  const isRead = folders.map(({ state }) => new Uint8Array(state.index.size));
  const readResultRow = async (id: string, { at, row }: { at: number; row: number }): Promise<ReportRow> => {
    (isRead[at] as Uint8Array)[row] = 1;
    const one = folders[at] as BatchFolder;
    const { index } = one.state;
    const document = await readers[at]?.read(row);
    if (!document) return unansweredRow(id, rowState(index.stateOf(row)), one);
    return toFolderRow({ id, row, document }, at, folders);
  };
  async function readReportRow(id: string): Promise<ReportRow | undefined> {
    const found: [string, ReportRow][] = [];
    for (const [at, each] of listJobIds(id, variations).entries()) {
      const place = findJob(each, folders, { all });
      // It may have another id now, and be there by that.
      const isShown = variations && place && isRead[place.at]?.[place.row] === 1;
      if (place && !isShown) found.push([variations?.[at]?.label ?? '', await readResultRow(each, place)]);
    }
    if (found.length === 0) return undefined;
    return variations ? joinVariations(id, Object.fromEntries(found)) : found[0]?.[1];
  }
  try {
    for (const [at, { folder, state }] of folders.entries())
      readers.push(await openResults(folder, state.index, places[at] as ResultPlaces));
    for await (const pending of jobs()) {
      const row = await readReportRow(pending.id);
      yield row?.command === undefined ? { ...pending, ...row } : row;
    }
    // Texts that follow each other in their file are read together.
    let kept: Range = { offset: 0, bytes: 0 };
    for (const { at, row } of listFolderRows(folders, { all })) {
      if (isRead[at]?.[row] !== 0) continue;
      const range = texts?.find(at, row);
      if (range && kept.bytes > 0 && kept.bytes < pieceLength && range.offset === kept.offset + kept.bytes) {
        kept.bytes += range.bytes;
        continue;
      }
      if (texts && kept.bytes > 0) yield await texts.read(kept);
      kept = range ?? { offset: 0, bytes: 0 };
      if (range) continue;
      const id = (folders[at] as BatchFolder).state.index.idOf(row);
      const joined = variations && (await readReportRow(splitId(id, variations)));
      yield joined ?? (await readResultRow(id, { at, row }));
    }
    if (texts && kept.bytes > 0) yield await texts.read(kept);
  } finally {
    for (const reader of readers) await reader.close();
  }
}

/** The row of a result of a folder. */
function toFolderRow(
  { id, row, document }: { id: string; row: number; document: JsonObject },
  at: number,
  folders: readonly BatchFolder[],
): ReportRow {
  const one = folders[at] as BatchFolder;
  const found = toReportRow(id, rowState(one.state.index.stateOf(row)), document);
  found.images = found.images.map((path) => pathInFolder(path, one, folders));
  return found;
}

const inFlight = { class: 'no-reply', message: 'no answer yet: a run works in this folder, and it may be in flight' };

function unansweredRow(
  id: string,
  state: RowState,
  { state: { failures }, isRunning }: Pick<BatchFolder, 'state' | 'isRunning'>,
): ReportRow {
  const error = failures.get(id) ?? (state === 'unknown' ? unanswered : undefined);
  return { id, state, images: [], error: isRunning && error === unanswered ? inFlight : error };
}

function rowState(state: JobState): RowState {
  if (state === 'new') return 'pending';
  return state === 'sent' ? 'unknown' : state;
}
