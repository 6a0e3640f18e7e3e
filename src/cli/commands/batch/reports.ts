import type { Column, Counts, ReportRow, RowBlocks } from '../../../batch/index.ts';
import { isoTime } from '../../../library/index.ts';
import { createLineWriter } from '../../output/csv.ts';
import { jsonLine } from '../../terminal/escape.ts';

/** A table: its columns, and its rows. */
export interface Table<Row> {
  columns: readonly Column<Row>[];
  rows: RowBlocks<Row>;
}

/** The facts of the whole batch in a report for CI. */
interface ReportFacts {
  /** The name of the batch's folder. */
  name: string;
  counts: Pick<Counts, 'failed' | 'unknown' | 'pending' | 'submitted'>;
  /** The number of rows of the report. */
  rows: number;
  durationMs: number;
  /** Wall clock of the first run, ms since 1970. */
  beganAt: number | undefined;
}

/** The table as CSV with its delimiter, or with tabs as TSV. */
export async function* tableReport<Row>(
  { columns, rows }: Table<Row>,
  { delimiter, bom = false }: { delimiter: string; bom?: boolean | undefined },
): AsyncGenerator<string, void> {
  const line = createLineWriter(delimiter, delimiter === '\t' ? '\n' : '\r\n');
  yield `${bom ? '\uFEFF' : ''}${line(columns.map(({ name }) => name))}`;
  const lineOf = (row: Row): string => line(columns.map(({ cell }) => cell(row)));
  for await (const block of rows) yield block.map(lineOf).join('');
}

/** The rows as JSON, one object a line. */
export async function* jsonReport(rows: RowBlocks<object>): AsyncGenerator<string, void> {
  for await (const block of rows) yield block.map(jsonLine).join('');
}

/** The most that GitHub takes as a step's summary, in bytes. */
const maxBytes = 1024 * 1024;
/** Room for the note on rows that do not fit, in bytes. */
const noteBytes = 256;

/** A heading and a table of GitHub's Markdown. Rows that `$GITHUB_STEP_SUMMARY` would not take are left out and counted. */
export async function* markdownReport<Row>(
  { columns, rows }: Table<Row>,
  { title }: { title: string },
  most = maxBytes,
): AsyncGenerator<string, void> {
  const titles = columns.map((column) => escapeCell(column.name));
  const head = `## ${escapeCell(title)}\n\n${markdownRow(titles)}${markdownRow(titles.map(() => '---'))}`;
  yield head;
  let bytes = Buffer.byteLength(head) + noteBytes;
  let left = 0;
  for await (const block of rows)
    for (const row of block) {
      const text = markdownRow(columns.map(({ cell }) => escapeCell(String(cell(row) ?? ''))));
      const more = Buffer.byteLength(text);
      if (bytes + more > most) {
        left++;
        continue;
      }
      bytes += more;
      yield text;
    }
  if (left > 0) yield `\n${left} more: a summary on GitHub can have ${most / 1024} KiB.\n`;
}

function markdownRow(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |\n`;
}

/** GitHub makes links and mentions of these in any text; a zero-width space takes them apart. */
const live = /(?<=[@#])(?=\w)|(?<=:)(?=\/\/)|(?<=www)(?=\.)/gi;

/** Text for a cell, in which nothing is Markdown, HTML, a link, a mention or the end of the cell. */
function escapeCell(text: string): string {
  return text
    .replaceAll(live, '\u200b')
    .replaceAll(/[\\`*_[\]<>&|~$]/g, String.raw`\$&`)
    .replaceAll(/\r\n|[\n\r\u2028\u2029]/g, '<br>')
    .replaceAll(/\p{Cc}/gu, ' ');
}

/** JUnit's XML, as the test views of GitHub and GitLab read it: failed jobs fail, unknown ones are errors, pending ones skipped. */
export async function* junitReport(
  blocks: RowBlocks,
  { name, counts, rows, durationMs, beganAt }: ReportFacts,
): AsyncGenerator<string, void> {
  const { failed, unknown, pending, submitted = 0 } = counts;
  const sums = attributes({
    tests: rows,
    failures: failed,
    errors: unknown + submitted,
    time: toSecondsText(durationMs),
  });
  const timestamp = beganAt === undefined ? undefined : isoTime(beganAt)?.slice(0, 19);
  yield '<?xml version="1.0" encoding="UTF-8"?>\n';
  yield `<testsuites${attributes({ name: 'gateway-cli batch' })}${sums}>\n`;
  yield `  <testsuite${attributes({ name })}${sums}${attributes({ skipped: pending, timestamp })}>\n`;
  for await (const block of blocks) yield block.map(testCase).join('');
  yield '  </testsuite>\n</testsuites>\n';
}

function testCase(row: ReportRow): string {
  const { id, command = 'job', durationMs = 0 } = row;
  const head = `    <testcase${attributes({ name: id, classname: command, time: toSecondsText(durationMs) })}`;
  const outcome = describeOutcome(row);
  return outcome === '' ? `${head}/>\n` : `${head}>\n      ${outcome}\n    </testcase>\n`;
}

function describeOutcome({
  state,
  complete,
  stopReason,
  error: { class: type, message } = { class: 'unknown', message: 'no error is known' },
}: ReportRow): string {
  if (state === 'done')
    return complete === false
      ? `<system-err>${escapeXml(`incomplete: ${stopReason ?? 'no reason'}`)}</system-err>`
      : '';
  if (state === 'pending') return '<skipped message="not sent yet"/>';
  const tag = state === 'failed' ? 'failure' : 'error';
  return `<${tag}${attributes({ type, message })}>${escapeXml(message)}</${tag}>`;
}

function toSecondsText(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function attributes(values: Readonly<Record<string, string | number | undefined>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}="${escapeXml(String(value))}"`)
    .join('');
}

/** Characters that XML 1.0 cannot hold in any form: most control characters, halves of surrogate pairs, U+FFFE and U+FFFF. */
const impossible = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/** Text for an attribute or an element. A line break or a tab would become a blank in an attribute. */
function escapeXml(text: string): string {
  return text.replaceAll(impossible, '').replaceAll(/[&<>"'\t\n\r]/g, (found) => `&#${found.charCodeAt(0)};`);
}
