import type { Command, Option } from 'commander';
import { exampleText, twoColumns, wrapText, wrapWords } from './help-layout.ts';

/** Headings of flags that every request command shares: shown as names, explained by `--help --verbose`. */
const shared = new Set(['Request', 'Connection', 'Output', 'Everywhere']);

/** Examples of a command, shown first. */
const examples = new WeakMap<Command, readonly string[]>();

/** A paragraph, or rows of names and their texts. */
type Note = string | readonly (readonly [string, string])[];

/** What stands at the end of a command's help. */
const notes = new WeakMap<Command, readonly Note[]>();

/** Gives a command the examples that its help begins with. */
export function setExamples(command: Command, lines: readonly string[]): void {
  examples.set(command, lines);
}

/** The first of them, without its remark. */
export function firstExample(command: Command): string | undefined {
  return examples.get(command)?.[0]?.replace(/ +# .*$/, '');
}

/** Gives a command what its help ends with. */
export function setNotes(command: Command, list: readonly Note[]): void {
  notes.set(command, list);
}

interface Shape {
  /** Explains the shared flags too. */
  full: boolean;
  /** Columns of the terminal. */
  width: number;
}

/** The help text: examples first, the command's own flags, then the shared ones in short. */
export function formatHelp(command: Command, shape: Shape): string {
  const { width } = shape;
  const shown = orDefault(command);
  const sections = [
    wrapText(command.description(), width),
    exampleLines(shown, width),
    wrapText(`Usage: ${namesOf(command)} ${shown.usage()}`, width, ' '.repeat('Usage: '.length)),
    commandLines(command, width),
    ...flagSections(shown, shape),
    (notes.get(shown) ?? []).flatMap((note) =>
      typeof note === 'string' ? wrapText(note, width) : twoColumns(note, width),
    ),
  ];
  return `${sections
    .filter((lines) => lines.length > 0 && lines[0] !== '')
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function exampleLines(command: Command, width: number): string[] {
  const lines = examples.get(command) ?? [];
  return lines.length === 0 ? [] : ['Examples:', ...lines.flatMap((line) => exampleText(line, width))];
}

/** The command that runs where a group's words name none: its words may be left out, so the group's help is its own. */
export function orDefault(command: Command): Command {
  const name: unknown = Reflect.get(command, '_defaultCommandName');
  return command.commands.find((sub) => sub.name() === name) ?? command;
}

/** `gateway-cli config set` */
export function namesOf(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at; at = at.parent) names.unshift(at.name());
  return names.join(' ');
}

/** The names of a group's commands and what each does. */
export function commandRows(command: Command): (readonly [name: string, text: string])[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((sub) => sub.name() !== 'help')
    .map((sub) => [sub.name(), sub.summary() || sub.description()] as const);
}

function commandLines(command: Command, width: number): string[] {
  const rows = commandRows(command);
  return rows.length === 0 ? [] : ['Commands:', ...twoColumns(rows, width)];
}

function flagSections(command: Command, { full, width }: Shape): string[][] {
  const groups = groupByHeading(visible(command));
  const own: string[][] = [];
  const brief: string[] = [];
  for (const [heading, options] of groups) {
    if (shared.has(heading) && !full) brief.push(...nameLines(heading, options, width));
    else
      own.push([
        `${heading}:`,
        ...twoColumns(
          options.map((option) => [option.flags, option.description + (isList(option) ? ' (repeatable)' : '')]),
          width,
        ),
      ]);
  }
  if (brief.length > 0) brief.push('', ...wrapText('Each flag explained: add --verbose to --help', width));
  return [...own, brief];
}

function groupByHeading(options: readonly Option[]): Map<string, Option[]> {
  const groups = new Map<string, Option[]>();
  for (const option of options) groups.set(headingOf(option), [...(groups.get(headingOf(option)) ?? []), option]);
  return groups;
}

function visible(command: Command): Option[] {
  return command.options.filter((option) => !option.hidden);
}

function headingOf(option: Option): string {
  return option.helpGroupHeading ?? 'Flags';
}

/** Whether a flag may be given several times: its parser takes what came before. */
export function isList(option: Option): boolean {
  return option.parseArg?.length === 2;
}

function nameLines(heading: string, options: readonly Option[], width: number): string[] {
  const names = options.map(({ short, long }) => [short, long].filter((name) => name !== undefined).join(' '));
  if (heading === 'Everywhere') names.unshift('-h --help');
  return wrapWords(names, width, { first: `${heading}: `.padEnd(12), hanging: ' '.repeat(12), gap: '  ' });
}
