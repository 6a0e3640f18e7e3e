import type { ReportFacts, ReportWriter } from './report-types.ts';
import { rowStates } from './row.ts';

/** GitHub takes so much of a step's summary, in bytes. */
const mostBytes = 1024 * 1024;
/** Room for the note on rows that do not fit. */
const noteBytes = 256;

/** A heading with counts and a table of GitHub's Markdown. Rows that `$GITHUB_STEP_SUMMARY` would not take are left out and counted. */
export function markdownReport({ name, counts, columns }: ReportFacts, most = mostBytes): ReportWriter {
  const told = rowStates.filter((state) => counts[state] > 0).map((state) => `${counts[state]} ${state}`);
  const titles = columns.map((column) => escapeCell(column.name));
  const head = `## ${escapeCell(name)}: ${told.join(', ') || 'no jobs'}\n\n${line(titles)}${line(titles.map(() => '---'))}`;
  let bytes = Buffer.byteLength(head) + noteBytes;
  let left = 0;
  return {
    head,
    row(row) {
      const text = line(columns.map(({ cell }) => escapeCell(String(cell(row) ?? ''))));
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

function line(cells: readonly string[]): string {
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
