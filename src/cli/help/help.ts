import { bold } from '../terminal/style.ts';
import type { CommandFacts, FlagFacts } from './types.ts';
import { maxOf } from '../../library/index.ts';

/** The topics of `help <topic>`; each is a file of `src/cli/help/topics/`. */
export const topicSummaries: Readonly<Record<string, string>> = {
  agents: 'tools over MCP, a skill, help as data',
  batch: 'jobs, resuming, shards, galleries',
  chat: 'conversations, sessions, tools',
  ci: 'GitHub Actions, GitLab CI',
  costs: 'prices, what requests cost, limits, budgets',
  'exit-codes': 'every exit code, finish reasons, retries',
  faults: 'models that fail on demand',
  fields: 'every field of the four formats and its flag',
  images: 'output files, input files, recovery',
  library: 'the client as a Node package',
  output: 'the JSON document, key by key',
  recipes: 'commit messages, editors, make, pre-commit',
  recording: 'recorded exchanges: replays, a cache',
  serve: 'the local gateway, offline models',
  services: 'every service, four formats, headers, profiles, models',
  settings: 'variables, config file, keys, proxies, certificates',
  templates: 'prompts with blanks, prompt files, rows of a table',
  testing: 'a gateway inside your tests',
  trust: 'how it is tested, what stays, what it reads and writes',
};

export const topics: readonly string[] = Object.keys(topicSummaries);

interface Shape {
  /** Advanced flags are shown too. */
  full: boolean;
  /** Columns of the terminal. */
  width: number;
  /** Headings are bold. */
  colored: boolean;
}

/** The help text: examples first, then the flags. */
export function formatHelp(command: CommandFacts, shape: Shape): string {
  const { width, colored } = shape;
  const shown = orDefault(command);
  const examples = shown.examples.flatMap((line) => exampleText(line, width));
  const titled = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [bold(`${title}:`, colored), ...lines];
  const sections = [
    wrapText(command.summary, width),
    titled('Examples', examples),
    usageLines(command, shape),
    ...commandSections(command).map(({ heading, rows }) => titled(heading, twoColumns(rows, width))),
    ...flagSections(shown, shape).map(({ heading, rows }) => titled(heading, twoColumns(rows, width))),
    shown.notes.flatMap((note) => (typeof note === 'string' ? wrapText(note, width) : twoColumns(note, width))),
    wrapText(moreFlags(command, shape), width),
  ];
  return `${sections
    .filter((lines) => lines.length > 0 && lines[0] !== '')
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function usageLines(command: CommandFacts, { width, colored }: Shape): string[] {
  const head = 'Usage: ';
  const [first = '', ...rest] = wrapText(`${head}${formatUsage(command)}`, width, ' '.repeat(head.length));
  return [bold(head.trimEnd(), colored) + first.slice(head.length - 1), ...rest];
}

/** `gateway-cli text [prompt…] [flags]` */
export function formatUsage(command: CommandFacts): string {
  return `${command.name} ${orDefault(command).usage}`;
}

/**
 * The default command of a group, otherwise the command itself. The name of a default command can be left out, so the group shows
 * its help.
 */
export function orDefault(command: CommandFacts): CommandFacts {
  return command.standard === undefined ? command : (findCommand(command, command.standard) ?? command);
}

/** The command of a group that has this name. */
export function findCommand({ commands, name }: CommandFacts, word: string): CommandFacts | undefined {
  return commands.find((sub) => sub.name === `${name} ${word}`);
}

/** The commands of a group, with their summaries. */
export function commandRows(command: CommandFacts): (readonly [name: string, text: string])[] {
  return commandSections(command).flatMap(({ rows }) => rows);
}

/** The commands of a group by their headings: only the program has several headings. */
function commandSections({ commands, name }: CommandFacts) {
  const sections: { heading: string; rows: (readonly [name: string, text: string])[] }[] = [];
  for (const sub of commands.filter(({ hidden }) => !hidden)) {
    const row = [sub.name.slice(name.length + 1), sub.summary] as const;
    const { heading = sections.length === 0 ? 'Commands' : undefined } = sub;
    if (heading !== undefined) sections.push({ heading, rows: [row] });
    else sections.at(-1)?.rows.push(row);
  }
  return sections;
}

function isProgram({ name }: CommandFacts): boolean {
  return !name.includes(' ');
}

/** The flags of a command by their headings, advanced ones last and only with `full`. */
export function flagSections(command: CommandFacts, { full }: Pick<Shape, 'full'>) {
  const shown = command.flags.filter(({ hidden }) => !hidden);
  const isBrief = (flag: FlagFacts) => !isLeftOut(flag, command);
  const ordered = [...shown.filter(isBrief), ...(full ? shown.filter((flag) => !isBrief(flag)) : [])];
  const sections = new Map<string, (readonly [flags: string, text: string])[]>();
  for (const { heading, flags, text, repeatable } of ordered) {
    const rows = sections.get(heading) ?? [];
    rows.push([flags, text + (repeatable ? ' (repeatable)' : '')]);
    sections.set(heading, rows);
  }
  if (full || isProgram(command)) sections.get('Everywhere')?.unshift(['-h, --help', 'print this help']);
  const order = new Set(shown.map(({ heading }) => heading));
  return [...order].map((heading) => ({ heading, rows: sections.get(heading) ?? [] }));
}

/** How to see the flags that are not shown. */
function moreFlags(command: CommandFacts, { full }: Shape): string {
  const left = full ? [] : orDefault(command).flags.filter((flag) => !flag.hidden && isLeftOut(flag, command));
  const [example] = left;
  if (example === undefined) return '';
  return `${left.length} more flags, such as ${longName(example)}: ${command.name} --help --verbose`;
}

/** Whether a flag is only in the full help: an advanced flag, and in the help of a command a flag of the whole program. */
function isLeftOut({ advanced, heading }: FlagFacts, command: CommandFacts): boolean {
  return advanced === true || (!isProgram(command) && heading === 'Everywhere');
}

/** `--model` */
export function longName({ flags }: FlagFacts): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? flags;
}

const indent = '  ';

/** Widest column of names, and its share of a narrow terminal. */
const maxNames = 34;
const share = 0.42;

/** Breaks text between words into lines of `width` columns; all lines after the first begin with `hanging`. */
export function wrapText(text: string, width: number, hanging = ''): string[] {
  const words = text.split(/ +/).filter((word) => word !== '');
  return wrapWords(words, width, { first: '', hanging });
}

/** Breaks words that can contain blanks. `first` begins the first line, `hanging` the others. */
function wrapWords(
  words: readonly string[],
  width: number,
  { first, hanging }: { first: string; hanging: string },
): string[] {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of words) {
    if (!isEmpty && line.length + 1 + word.length > width) {
      lines.push(line);
      line = hanging;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line.trimEnd()];
}

/** Names and their texts in two columns. A name wider than its column gets its own line. */
export function twoColumns(rows: readonly (readonly [string, string])[], width: number): string[] {
  const widest = maxOf([0, ...rows.map(([name]) => name.length)]) + 2;
  const column = indent.length + Math.min(widest, maxNames, Math.floor(width * share));
  return rows.flatMap(([name, text]) => {
    const words = text.split(' ');
    const hasRoom = words.every((word) => word.length <= width - column);
    const head = indent + name;
    const fits = hasRoom && head.length + 2 <= column;
    const hanging = ' '.repeat(hasRoom ? column : 2 * indent.length);
    const lines = wrapWords(words, width, { first: fits ? head.padEnd(column) : hanging, hanging });
    return fits ? lines : [head, ...lines];
  });
}

/**
 * An example that can be copied: a long command continues after a backslash, with its remark above. Text in quotes stays on one
 * line if it fits.
 */
function exampleText(example: string, width: number): string[] {
  if (indent.length + example.length <= width) return [indent + example];
  const [, command = example, remark] = /^(.*?) +(# .*)$/.exec(example) ?? [];
  const line = remark === undefined ? command : `${command}  ${remark}`;
  if (indent.length + line.length <= width) return [indent + line];
  const above = remark === undefined ? [] : wrapText(remark, width - indent.length, '# ').map((line) => indent + line);
  const words = command.match(/(?:"[^"]*"|'[^']*'|[^\s"']+)+/g) ?? [];
  const lines = wrapWords(words, width - 2, { first: indent, hanging: indent + indent });
  return [...above, ...lines.map((line, index) => (index < lines.length - 1 ? `${line} \\` : line))];
}
