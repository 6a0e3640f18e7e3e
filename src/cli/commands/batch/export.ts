import { extname } from 'node:path';
import type { Command } from 'commander';
import { type Counts, findColumns, type RowBlocks, type Variation } from '../../../batch/index.ts';
import { joinVariations, listVariationColumns, requireVaried, sumBy } from './compare.ts';
import { promptfooReport } from './promptfoo.ts';
import { jsonReport, junitReport, markdownReport, type Table, tableReport } from './reports.ts';
import { requireFreeTarget, writeReport } from './report-file.ts';
import {
  type BatchFolder,
  chooseReportName,
  countFolders,
  joinStates,
  listFolderVariations,
  readFolders,
  warnUnreadable,
} from './folders.ts';
import { countOthers, readReportRows } from './report-rows.ts';
import { describeStates, listStates } from './states.ts';
import { shellWord, usageError } from '../../../library/index.ts';
import type { Action, Context, CommandEnd } from '../../context.ts';
import { writeEscaped } from '../../terminal/escape.ts';
import { addFlags, type FlagValues, setExamples, setNotes } from '../../flags/flag.ts';
import { exportFlags, type ExportFormat, exportFormats } from './flags.ts';

type ExportFlags = FlagValues<typeof exportFlags>;

/** `batch export <outdir…>`: makes a table with a row for each job, or a report for CI. */
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
): Promise<CommandEnd | undefined> {
  const { output = '-', force = false, all } = flags;
  if (output === '-' && context.root.json)
    throw usageError('the report and --json both write to stdout', 'name a file: -o results.csv');
  const format = chooseFormat(flags);
  const folders = await readFolders(outdirs, context);
  if (output !== '-') await requireFreeTarget(output, folders, { force, context });
  await warnUnreadable(folders, context);
  const progress = context.ui.progress('reading the results');
  context.atEnd(async () => progress.stop());
  const counts = countFolders(folders);
  const { aside, earlier } = all ? countOthers(folders) : { aside: 0, earlier: 0 };
  const rows = counts.jobs + aside + earlier;
  const report = await openReport(format, { folders, counts, rows, flags });
  progress.stop();
  if (output === '-') {
    for await (const text of report) {
      context.signal.throwIfAborted();
      await writeEscaped(context.io.stdout, text);
    }
    return undefined;
  }
  await writeReport(output, report, { force, context });
  if (!context.root.json) await context.io.stdout.write(`${output}\n`);
  return { document: { schema: 'gateway-cli/batch-export@1', path: output, format, rows } };
}

/** Ends of file names that promise a format which no report has. */
const otherFormat = /\.(?:xlsx?|ods|numbers|json|ndjson|ya?ml|html?|markdown|pdf|docx?|parquet|sql|sqlite|db)$/i;

/**
 * The format by the flag, otherwise by the end of the file's name, otherwise CSV. Throws GatewayError usage if the format fits
 * neither the name nor the other flags.
 */
function chooseFormat({ output = '-', format: given, bom, delimiter }: ExportFlags): ExportFormat {
  const end = extname(output).slice(1).toLowerCase();
  const byName = end === 'xml' ? 'junit' : exportFormats.find((format) => format === end);
  const isPromptfoo = /(?:^|[/\\])promptfooconfig\.json$/.test(output);
  if (given === undefined && !isPromptfoo && otherFormat.test(output))
    throw usageError(
      `-o ${output}: a report cannot be written as .${end}`,
      'end it with .csv (for Excel with --bom), .tsv, .jsonl, .md or .xml (JUnit), for example -o results.jsonl; or name its format: --format csv',
    );
  const format = given ?? (isPromptfoo ? 'promptfoo' : (byName ?? 'csv'));
  const hint = 'leave it out, or name the format: --format csv';
  if (bom && format !== 'csv' && format !== 'tsv') throw usageError(`--bom is for CSV and TSV, not ${format}`, hint);
  if (delimiter !== undefined && format !== 'csv') throw usageError(`--delimiter is for CSV, not ${format}`, hint);
  return format;
}

interface ReportInput {
  folders: readonly BatchFolder[];
  counts: Counts;
  rows: number;
  flags: ExportFlags;
}

/** The text of a report. Its rows are read once; the rows of a table twice, as any row can bring a column. Throws GatewayError usage. */
async function openReport(
  format: ExportFormat,
  { folders, counts, rows, flags }: ReportInput,
): Promise<AsyncIterable<string>> {
  const { by, all } = flags;
  const header = folders[0]?.state.manifest.header;
  const variations = listFolderVariations(folders);
  const keys = listSumKeys(by, format, variations);
  const name = chooseReportName(folders);
  const jobs = (): RowBlocks => readReportRows(folders, { all });
  if (format === 'promptfoo') return promptfooReport(jobs(), { name, variations });
  if (format === 'junit') {
    const { durationMs, beganAt } = joinStates(folders.map(({ state }) => state));
    return junitReport(jobs(), { name, counts, rows, durationMs, beganAt });
  }
  const encode = <Row extends object>(table: Table<Row>): AsyncIterable<string> => {
    if (format === 'jsonl') return jsonReport(table.rows);
    if (format === 'md') return markdownReport(table, { title: `${name}: ${describeStates(listStates(counts))}` });
    return tableReport(table, { delimiter: format === 'tsv' ? '\t' : (flags.delimiter ?? ','), bom: flags.bom });
  };
  if (keys.length > 0) return encode(await sumBy(keys, jobs(), variations));
  if (format === 'jsonl') return encode({ columns: [], rows: jobs() });
  if (header?.vary === undefined || by !== undefined)
    return encode({ columns: await findColumns(jobs()), rows: jobs() });
  const columns = await findColumns(joinVariations(jobs(), variations));
  return encode({
    columns: [...columns, ...listVariationColumns(variations)],
    rows: joinVariations(jobs(), variations),
  });
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
