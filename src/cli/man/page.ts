import { openSilent } from '../cli.ts';
import { toCommandFacts } from '../help/facts.ts';
import { commandRows, flagSections, formatUsage, topicSummaries } from '../help/help.ts';
import { readShipped } from '../shipped.ts';
import { renderMarkdown } from '../terminal/markdown.ts';
import { version } from '../../library/index.ts';

/** Columns of a topic in a terminal of 80, inside the margins of the page. */
const topicWidth = 72;

/** The man page of the program: its commands, its flags, and the topics that readers of man pages expect. */
export async function manPage(): Promise<string> {
  const program = toCommandFacts(await openSilent([]));
  const lines = [
    // Shell words are not hyphenated, and the spaces between them are not stretched.
    '.nr HY 0',
    // The page has no date: the same source makes the same page.
    `.TH GATEWAY\\-CLI 1 "" "gateway\\-cli ${version}" "gateway\\-cli"`,
    '.ad l',
    ...section('Name', [`gateway\\-cli \\- ${roffText(program.summary.replace(/\.$/, ''))}`]),
    ...section('Synopsis', [boldText(program.name) + roffText(formatUsage(program).slice(program.name.length))]),
    ...section('Commands', commandRows(program).flatMap(term)),
    '.PP',
    roffText('gateway-cli help <command> explains a command and its flags.'),
    ...section(
      'Options',
      flagSections(program, { full: true }).flatMap(({ rows }) => rows.flatMap(term)),
    ),
    ...section('Topics', Object.entries(topicSummaries).flatMap(term)),
    '.PP',
    roffText('gateway-cli help <topic> prints one. These two stand here, too:'),
    ...section('Exit status', await topicLines('exit-codes')),
    ...section('Environment and files', await topicLines('settings')),
  ];
  return `${lines.join('\n')}\n`;
}

/** The lines of a topic as a terminal shows it, without its title. */
async function topicLines(name: string): Promise<string[]> {
  const text = await readShipped(`src/cli/help/topics/${name}.md`);
  const shown = renderMarkdown(text.replace(/^# .*\n+/, ''), { width: topicWidth, colored: true });
  return [
    '.EX',
    ...shown
      .trimEnd()
      .split('\n')
      .map((line) => escapeRoffLine(line.split(style).map(toRoff).join(''))),
    '.EE',
  ];
}

/** A sequence that begins or ends a style on a terminal. */
const style = new RegExp(String.raw`(\x1b\[\d+m)`);

/** The fonts of a page: bold for headings and code, italic for emphasis. It has no colours. */
const fonts: Readonly<Record<string, string>> = {
  '\u001b[1m': '\\fB',
  '\u001b[36m': '\\fB',
  '\u001b[3m': '\\fI',
  '\u001b[22m': '\\fR',
  '\u001b[39m': '\\fR',
  '\u001b[23m': '\\fR',
};

/** The parts of a text: every second part is a style between two texts. */
function toRoff(piece: string, at: number): string {
  return at % 2 === 0 ? roffText(piece) : (fonts[piece] ?? '');
}

function section(title: string, lines: readonly string[]): string[] {
  return [`.SH ${title.toUpperCase()}`, ...lines];
}

function term([name, meaning]: readonly [string, string]): string[] {
  return ['.TP', escapeRoffLine(boldText(name)), escapeRoffLine(roffText(meaning))];
}

/** Characters that roff reads as requests, or prints as other characters. */
const escapes: Readonly<Record<string, string>> = {
  '\\': '\\(rs',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
  '"': '\\(dq',
};

/** Text without markup. */
function roffText(text: string): string {
  return text.replaceAll(/[\\'`^~"-]|[^\n\x20-\x7e]/gu, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return escapes[character] ?? `\\[u${hex}]`;
  });
}

function boldText(text: string): string {
  return `\\fB${roffText(text)}\\fR`;
}

/** A line of marked text. A dot at its beginning would be a request. */
function escapeRoffLine(marked: string): string {
  return marked.replace(/^\./, '\\&.');
}
