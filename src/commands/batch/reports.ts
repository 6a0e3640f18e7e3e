import {
  type Column,
  parseVariedId,
  type ReportRow,
  type RowState,
  rowStates,
  type Variation,
} from '../../batch/index.ts';
import { isoTime } from '../../clock.ts';
import { createLineWriter } from '../../csv.ts';
import { toPromptfooTest } from './compare.ts';

/** What a report says about the batch as a whole. */
export interface ReportFacts {
  /** The name of the batch's folder. */
  name: string;
  counts: Readonly<Record<RowState, number>>;
  columns: readonly Column[];
  durationMs: number;
  /** Wall clock of the first run, ms since 1970. */
  beganAt: number | undefined;
}

/** A report that is written while its rows are read. */
export interface ReportWriter {
  head: string;
  row(row: ReportRow): string;
  foot(): string;
}

/** The table as CSV with what parts its cells, or with tabs as TSV. */
export function tableReport({ columns }: Pick<ReportFacts, 'columns'>, delimiter: string): ReportWriter {
  const line = createLineWriter(delimiter, delimiter === '\t' ? '\n' : '\r\n');
  return {
    head: line(columns.map(({ name }) => name)),
    row: (row) => line(columns.map(({ cell }) => cell(row))),
    foot: () => '',
  };
}

/**
 * Where promptfoo would take a text, in JSON, as a template, a file, a package or a reference. It reads variables of the environment
 * and runs code so: `renderPrompt`, `renderEnvOnlyInObject` and `dereferenceConfig` of promptfoo 0.121.20 (2026). Not all of these
 * render a text, so none of its marks can be quoted; a zero-width space takes them apart.
 */
const promptfooMark = /(?<=\{)(?=[{%#])|(?<=(?<!\\)"(?:file|package))(?=:)|(?<=(?<!\\)"\$)(?=ref")/gi;

function toLiteral(value: object): string {
  return JSON.stringify(value).replaceAll(promptfooMark, '\u200b');
}

/** The file of promptfoo, a test for each job that is done. */
export function promptfooReport({ name }: ReportFacts, variations: readonly Variation[]): ReportWriter {
  const providers = variations.map(({ label, suffix }) => ({ id: 'echo', label: suffix === '' ? name : label }));
  const head = toLiteral({ description: `gateway-cli batch: ${name}`, providers });
  let separator = '\n';
  return {
    head: `${head.slice(0, -1)},"prompts":["{{prompt}}"],"tests":[`,
    row(row) {
      if (row.state !== 'done') return '';
      const label = parseVariedId(row.id, variations)?.variation.label ?? name;
      const text = `${separator}${toLiteral(toPromptfooTest(row, label))}`;
      separator = ',\n';
      return text;
    },
    foot: () => '\n]}\n',
  };
}

/** GitHub takes so much of a step's summary, in bytes. */
const maxBytes = 1024 * 1024;
/** Room for the note on rows that do not fit. */
const noteBytes = 256;

/** A heading with counts and a table of GitHub's Markdown. Rows that `$GITHUB_STEP_SUMMARY` would not take are left out and counted. */
export function markdownReport({ name, counts, columns }: ReportFacts, most = maxBytes): ReportWriter {
  const stateCounts = rowStates.filter((state) => counts[state] > 0).map((state) => `${counts[state]} ${state}`);
  const titles = columns.map((column) => escapeCell(column.name));
  const head = `## ${escapeCell(name)}: ${stateCounts.join(', ') || 'no jobs'}\n\n${markdownRow(titles)}${markdownRow(titles.map(() => '---'))}`;
  let bytes = Buffer.byteLength(head) + noteBytes;
  let left = 0;
  return {
    head,
    row(row) {
      const text = markdownRow(columns.map(({ cell }) => escapeCell(String(cell(row) ?? ''))));
      const more = Buffer.byteLength(text);
      if (bytes + more > most) {
        left++;
        return '';
      }
      bytes += more;
      return text;
    },
    foot: () => (left === 0 ? '' : `\n${left} more: a summary on GitHub can have ${most / 1024} KiB.\n`),
  };
}

function markdownRow(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |\n`;
}

/** GitHub makes links and mentions of these in any text; a zero-width space takes them apart. */
const live = /(?<=[@#])(?=\w)|(?<=:)(?=\/\/)|(?<=www)(?=\.)/gi;

/** Text as it is: nothing in it is Markdown, HTML, a link, a mention or the end of a cell. */
function escapeCell(text: string): string {
  return text
    .replaceAll(live, '\u200b')
    .replaceAll(/[\\`*_[\]<>&|~$]/g, String.raw`\$&`)
    .replaceAll(/\r\n|[\n\r\u2028\u2029]/g, '<br>')
    .replaceAll(/\p{Cc}/gu, ' ');
}

/** JUnit's XML, as the test views of GitHub and GitLab read it: failed jobs fail, unknown ones are errors, pending ones skipped. */
export function junitReport({ name, counts, durationMs, beganAt }: ReportFacts): ReportWriter {
  const { done, failed, unknown, pending } = counts;
  const sums = attributes({
    tests: done + failed + unknown + pending,
    failures: failed,
    errors: unknown,
    time: toSecondsText(durationMs),
  });
  const timestamp = beganAt === undefined ? undefined : isoTime(beganAt)?.slice(0, 19);
  return {
    head: [
      '<?xml version="1.0" encoding="UTF-8"?>',
      `<testsuites${attributes({ name: 'gateway-cli batch' })}${sums}>`,
      `  <testsuite${attributes({ name })}${sums}${attributes({ skipped: pending, timestamp })}>`,
      '',
    ].join('\n'),
    row: testCase,
    foot: () => '  </testsuite>\n</testsuites>\n',
  };
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

/** What XML 1.0 cannot hold in any form: most control characters, halves of surrogate pairs, U+FFFE and U+FFFF. */
const impossible = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/** A line break or a tab would become a blank in an attribute. */
function escapeXml(text: string): string {
  return text.replaceAll(impossible, '').replaceAll(/[&<>"'\t\n\r]/g, (found) => `&#${found.charCodeAt(0)};`);
}
