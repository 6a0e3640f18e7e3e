import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, extname, join, relative, resolve, sep } from 'node:path';
import type { Command } from 'commander';
import { junitReport, markdownReport, type ReportFacts, type ReportWriter, tableReport } from './reports.ts';
import { countOf, warnUnread } from './summary.ts';
import { type BatchState, unanswered } from '../folder/state.ts';
import { locateResults, openResults, type ResultPlaces, rowsOfReport } from '../folder/results.ts';
import { batchFiles, type Job, type JobState } from '../types.ts';
import { usageError } from '../../errors.ts';
import { isObject } from '../../json.ts';
import { checkFile } from '../../images/publish.ts';
import { type Row, findColumns, rowOf, type RowState } from './row.ts';
import type { Action, Context } from '../../cli/context.ts';
import { jsonLine } from '../../terminal/escape.ts';
import { addFlags, type FlagValues, prefixUsageError, setExamples, setNotes } from '../../cli/flags/flag.ts';
import { exportFlags, type ExportFormat, exportFormats } from '../flags.ts';
import { writeNewFile } from '../../files/temp-file.ts';
import { isWorkbook } from '../jobs/data-rows.ts';
import { openRows } from '../jobs/row-jobs.ts';
import { openJobs } from '../jobs/source.ts';
import { isInShard } from '../jobs/digest.ts';
import { readBatchFolder } from '../folder/folder.ts';

type Flags = FlagValues<typeof exportFlags>;

/** `batch export <outdir>`: one row a job, as a table or a report for CI. */
export function batchExportCommand(command: Command): Action {
  command.argument('<outdir>', 'folder of a batch').usage('<outdir> [flags]');
  setExamples(command, [
    'gateway-cli batch export out -o results.csv',
    'gateway-cli batch export out -o results.csv --bom         # for Excel',
    'gateway-cli batch export out --format md >> "$GITHUB_STEP_SUMMARY"',
    'gateway-cli batch export out --format junit -o junit.xml',
  ]);
  setNotes(command, [
    'Columns are id, state, those of your rows, text (or answer.<key> of a schema), images, usage, cost and error; one that would be empty is left out. See gateway-cli help batch.',
  ]);
  addFlags(command, 'Flags', exportFlags);
  return (context, words, flags) => runExport(words[0] as string, flags as Flags, context);
}

async function runExport(outdir: string, flags: Flags, context: Context): Promise<void> {
  const { output = '-', force = false } = flags;
  if (output === '-' && context.root.json)
    throw usageError('the report and --json both write to stdout', 'name a file: -o results.csv');
  if (isWorkbook(output))
    throw usageError(
      `-o ${output}: a workbook cannot be written`,
      'write CSV, which spreadsheets open; --bom tells Excel that it is UTF-8: -o results.csv --bom',
    );
  const format = flags.format ?? formatOf(output);
  if (flags.bom && format !== 'csv' && format !== 'tsv')
    throw usageError(`--bom is for CSV and TSV, not ${format}`, 'leave it out, or name the format: --format csv');
  const { folder, state } = await readBatchFolder(outdir, context);
  if (output !== '-') await checkTarget(output, folder, { force, context });
  const progress = context.ui.progress('reading the results');
  context.atEnd(async () => progress.stop());
  const rows = await findRows(folder, state, await openJobsOf(state, flags, context));
  await warnUnread(rows, context);
  const named = flags.jobs ?? flags.data;
  const leftOut = named === undefined ? await countMissing(rows, state.run?.jobs ?? 0, context) : 0;
  const facts = { ...rows, name: basename(folder), durationMs: state.durationMs, beganAt: state.beganAt };
  const writer = openReport(format, facts);
  const head = flags.bom ? `\uFEFF${writer.head}` : writer.head;
  const text = reportText({ ...writer, head }, noteLongTexts(rows, format, context), context.signal);
  progress.stop();
  if (output === '-') {
    for await (const piece of text) await context.io.stdout.write(piece);
    return;
  }
  const fill = async (append: (piece: string) => Promise<void>): Promise<void> => {
    for await (const piece of text) await append(piece);
  };
  await writeNewFile(output, fill, { cwd: context.io.cwd, force });
  const sum = Object.values(rows.counts).reduce((all, count) => all + count, 0);
  context.report.own = { schema: 'gateway-cli/batch-export@1', path: output, format, rows: sum, leftOut };
  if (!context.root.json) await context.io.stdout.write(`${output}\n`);
}

/** Lines that cannot be read now were jobs when they were sent. */
function ignore(): void {}

/** The jobs of the folder's shard in the file that `--jobs` or `--data` names; none if none is named. */
async function openJobsOf({ run, index }: BatchState, flags: Flags, context: Context): Promise<Jobs> {
  const { jobs, data } = flags;
  if (jobs !== undefined && data !== undefined)
    throw usageError('the jobs are given twice: --jobs and --data', 'keep one of them');
  const source = jobs === undefined ? undefined : await openJobs([jobs], {}, context);
  const file = data === undefined ? undefined : await openRows(flags, context);
  return async function* () {
    for await (const job of source?.jobs(ignore) ?? []) if (isInShard(job.id, run?.shard)) yield rowOfJob(job);
    for await (const { id, columns: vars } of file?.rows(ignore) ?? [])
      for (const each of sentCopies(id, index))
        if (isInShard(each, run?.shard)) yield { id: each, state: 'pending', vars, images: [] };
  };
}

/** The ids of a row that was sent with a `count`, which its file does not know; else its own. */
function sentCopies(id: string, index: BatchState['index']): string[] {
  const copies = [];
  for (let n = 1; index.find(`${id}-${n}`) >= 0; n++) copies.push(`${id}-${n}`);
  return copies.length > 0 && index.find(id) < 0 ? copies : [id];
}

function rowOfJob({ id, name, command, values: { prompt, vars } }: Job): Row {
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
function formatOf(output: string): ExportFormat {
  const end = extname(output).slice(1).toLowerCase();
  return end === 'xml' ? 'junit' : (exportFormats.find((format) => format === end) ?? 'csv');
}

/** What the batch needs to go on is not replaced by a report. Throws GatewayError usage. */
async function checkTarget(
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
async function countMissing({ counts }: Rows, jobs: number, { ui }: Context): Promise<number> {
  const missing = Math.max(0, jobs - counts.done - counts.failed - counts.unknown - counts.pending);
  if (missing > 0)
    await ui.warn(
      `${countOf(missing, 'unsent job')} left out of the report; --jobs <file> or --data <file> adds ${missing === 1 ? 'it' : 'them'}`,
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

async function* noteLongTexts(rows: Rows, format: ExportFormat, { ui }: Context): AsyncGenerator<Row, void> {
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
  rows: AsyncIterable<Row>,
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
type Jobs = () => AsyncGenerator<Row, void>;

/** The rows of a folder, and what is known about all of them. */
type Rows = Awaited<ReturnType<typeof findRows>>;

/** Looks through a folder's results and journal, and the jobs of its file. */
async function findRows(folder: string, state: BatchState, jobs: Jobs) {
  const { index } = state;
  const found = findColumns();
  const places = await locateResults(folder, index, {
    see: (_, result) => found.see(rowOf(result.id, 'done', result.document)),
  });
  const counts: Record<RowState, number> = { done: 0, failed: 0, unknown: 0, pending: 0 };
  for (let row = 0; row < index.size; row++) counts[rowState(index.stateOf(row))]++;
  if (counts.unknown + counts.failed > 0) found.see(unansweredRow('', 'unknown', state.failures));
  for await (const pending of jobs()) {
    if (index.find(pending.id) >= 0) continue;
    counts.pending++;
    found.see(pending);
  }
  // They are read one by one: results may be long.
  const read = () => readRows(folder, state, { places, jobs });
  return { columns: found.columns(), counts, unread: places.unreadable, read };
}

/** In the order of the job file if it is known, with the jobs that were not sent; jobs that it does not name come last. */
async function* readRows(
  folder: string,
  { index, failures }: BatchState,
  { places, jobs }: { places: ResultPlaces; jobs: Jobs },
): AsyncGenerator<Row, void> {
  const reader = await openResults(folder, index, places);
  const isRead = new Uint8Array(index.size);
  const readRow = async (id: string, row: number): Promise<Row> => {
    const state = rowState(index.stateOf(row));
    const document = await reader.read(row);
    return document ? rowOf(id, state, document) : unansweredRow(id, state, failures);
  };
  try {
    for await (const pending of jobs()) {
      const at = index.find(pending.id);
      const row = at < 0 ? undefined : await readRow(pending.id, at);
      if (row) isRead[at] = 1;
      yield row?.command === undefined ? { ...pending, ...row } : row;
    }
    const ids = [...index.ids()];
    for (const row of rowsOfReport(index)) if (isRead[row] === 0) yield await readRow(ids[row] as string, row);
  } finally {
    await reader.close();
  }
}

function unansweredRow(id: string, state: RowState, failures: BatchState['failures']): Row {
  const error = failures.get(id) ?? (state === 'unknown' ? unanswered : undefined);
  return { id, state, images: [], error };
}

function rowState(state: JobState): RowState {
  if (state === 'new') return 'pending';
  return state === 'sent' ? 'unknown' : state;
}
