import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, extname, join, relative, resolve, sep } from 'node:path';
import { Readable } from 'node:stream';
import type { Command } from 'commander';
import {
  batchFiles,
  type Column,
  findColumns,
  findHolder,
  type ReportRow,
  type RowState,
  type Variation,
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
  chooseReportName,
  createReportRow,
  joinStates,
  listFolderVariations,
  listRows,
  openFolderResults,
  readFolders,
  splitId,
} from './folders.ts';
import { warnUnread } from './summary.ts';
import { usageError } from '../../errors.ts';
import { checkFile } from '../../images/publish.ts';
import type { Action, Context, CommandOutcome } from '../../cli/context.ts';
import { jsonLine, writeEscaped } from '../../terminal/escape.ts';
import { addFlags, type FlagValues, prefixUsageError, setExamples, setNotes } from '../../cli/flags/flag.ts';
import { exportFlags, type ExportFormat, exportFormats } from './flags.ts';
import { writeNewFile } from '../../files/temp-file.ts';
import { isWorkbook } from './jobs/data-rows.ts';
import { openRowTexts, type RowTexts } from './row-texts.ts';
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
  for (const one of folders) one.isRunning = (await findHolder(one.folder)) !== undefined;
  if (output !== '-') for (const { folder } of folders) await checkTarget(output, folder, { force, context });
  if (flags.format === undefined && format !== 'promptfoo' && otherFormat.test(output))
    throw usageError(
      `-o ${output}: a report cannot be written as ${extname(output)}`,
      'end it with .csv, .tsv, .jsonl, .md or .xml (JUnit), for example -o results.jsonl; or name its format: --format csv',
    );
  const progress = context.ui.progress('reading the results');
  context.atEnd(async () => progress.stop());
  const variations = listFolderVariations(folders);
  const isVaried = folders[0]?.state.manifest.header?.vary !== undefined;
  const keys = listSumKeys(flags.by, format, variations);
  const isJoined = isVaried && flags.by === undefined && format !== 'junit' && format !== 'promptfoo';
  const known = folders[0]?.state.manifest.header?.delimiter;
  const delimiter = format === 'tsv' ? '\t' : (flags.delimiter ?? known ?? ',');
  const openTextOf = output !== '-' && keys.length === 0 ? rowWriter(format, delimiter) : undefined;
  const texts = openTextOf && (await openRowTexts(dirname(resolve(context.io.cwd, output))));
  context.atEnd(async () => texts?.close());
  const reading = { all: flags.all, variations: isJoined ? variations : undefined };
  const found = await findRows(folders, reading, texts && { texts, openTextOf });
  const summed = keys.length === 0 ? undefined : await sumBy(keys, found.read(), variations);
  const rows = summed ? { ...found, columns: summed.columns, read: () => Readable.from(summed.rows) } : found;
  const unreadable = folders.reduce((sum, one) => sum + one.unreadable, 0);
  await warnUnread({ unreadable }, context);
  const facts = { ...rows, name: chooseReportName(folders), ...joinStates(folders.map(({ state }) => state)) };
  const writer = openReport(format, facts, { variations, delimiter, isSummed: summed !== undefined });
  const head = flags.bom ? `\uFEFF${writer.head}` : writer.head;
  const text = reportText({ ...writer, head }, summed ? rows.read() : found.readTexts(), { format, context });
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
  return { document: { schema: 'gateway-cli/batch-export@1', path: output, format, rows: sum } };
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
  const { images } = batchFiles;
  const own = Object.values(batchFiles).filter((name) => name !== images && name !== batchFiles.gallery);
  const [first = ''] = place.split(sep);
  let taken = [...own, images].find((name) => name === first);
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

interface RowReading {
  all: boolean | undefined;
  /** Those that are joined in one row of the report. */
  variations: readonly Variation[] | undefined;
}

/** Keeps the texts of rows while their columns are found. */
interface Keeping {
  texts: RowTexts;
  openTextOf: (columns: readonly Column[]) => ReportWriter['row'];
}

/** Looks through the rows of the table, and keeps their texts: most reports read each result once. */
async function findRows(folders: readonly BatchFolder[], reading: RowReading, keeping: Keeping | undefined) {
  const { variations } = reading;
  const found = findColumns();
  const counts: Record<RowState, number> = { done: 0, failed: 0, unknown: 0, pending: 0 };
  let textOf: ReportWriter['row'] | undefined;
  let [count, kept] = [0, 0];
  for await (const row of readRows(folders, reading)) {
    for (const one of row.variations ? Object.values(row.variations) : [row]) counts[one.state]++;
    const hasNew = found.see(row);
    if (keeping && (hasNew || textOf === undefined)) {
      textOf = keeping.openTextOf([...found.columns(), ...listVariationColumns(variations ?? [])]);
      keeping.texts.forgetAll();
      kept = count;
    }
    count++;
    if (textOf && keeping) keeping.texts.keep(textOf(row));
  }
  const columns = [...found.columns(), ...listVariationColumns(variations ?? [])];
  const read = (): AsyncGenerator<ReportRow, void> => readRows(folders, reading);
  return {
    columns,
    counts,
    read,
    /** The rows whose columns were not known yet, and the texts of the others. */
    async *readTexts(): AsyncGenerator<ReportRow | string, void> {
      const texts = keeping?.texts.isWhole() ? keeping.texts : undefined;
      let left = texts ? kept : count;
      if (left > 0)
        for await (const row of read()) {
          yield row;
          if (--left === 0) break;
        }
      if (texts) yield* texts.read();
    },
  };
}

/** The rows of a report in the order of the table; those that vary together in one. */
async function* readRows(
  folders: readonly BatchFolder[],
  { all, variations }: RowReading,
): AsyncGenerator<ReportRow, void> {
  const results = await openFolderResults(folders);
  let group: ReportRow[] = [];
  const baseOf = ({ id }: ReportRow): string => splitId(id, variations ?? []);
  try {
    for await (const rows of listRows(folders, { all }))
      for (const found of rows) {
        const reading = results.read(found);
        const row = createReportRow(found, reading instanceof Promise ? await reading : reading, folders);
        if (variations === undefined) {
          yield row;
          continue;
        }
        const [first] = group;
        if (first && (baseOf(first) !== baseOf(row) || first.version !== row.version))
          yield joinGroup(group.splice(0), variations);
        group.push(row);
      }
    if (variations && group.length > 0) yield joinGroup(group, variations);
  } finally {
    await results.close();
  }
  group = [];
}

/** One row for those of a row of the table that vary. */
function joinGroup(group: readonly ReportRow[], variations: readonly Variation[]): ReportRow {
  const base = splitId(group[0]?.id ?? '', variations);
  const labelOf = (row: ReportRow): string =>
    variations.find(({ suffix }) => `${base}${suffix}` === row.id)?.label ?? 'text';
  return joinVariations(base, Object.fromEntries(group.map((row) => [labelOf(row), omitVaried(row, variations)])));
}
