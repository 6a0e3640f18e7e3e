import { examplesOf, isAdvanced, notesOf } from '../flags/flag.ts';
import type { Command, Option } from 'commander';
import { bold } from '../../terminal/output.ts';
import { exampleText, twoColumns, wrapText } from './help-layout.ts';

/** The first example of a command, without its remark. */
export function firstExample(command: Command): string | undefined {
  return examplesOf(command)[0]?.replace(/ +# .*$/, '');
}

interface Shape {
  /** Includes advanced flags. */
  full: boolean;
  /** Columns of the terminal. */
  width: number;
  /** Prints headings in bold. */
  colored: boolean;
}

/** The help text: examples first, then the flags. */
export function formatHelp(command: Command, shape: Shape): string {
  const { width, colored } = shape;
  const title = (text: string) => bold(text, colored);
  const shown = orDefault(command);
  const sections = [
    wrapText(command.description(), width),
    titled(
      title('Examples:'),
      examplesOf(shown).flatMap((line) => exampleText(line, width)),
    ),
    usageLines(command, shape),
    titled(title('Commands:'), twoColumns(commandRows(command), width)),
    ...flagSections(shown, shape).map(({ heading, rows }) => titled(title(`${heading}:`), twoColumns(rows, width))),
    notesOf(shown).flatMap((note) => (typeof note === 'string' ? wrapText(note, width) : twoColumns(note, width))),
    wrapText(moreFlags(command, shape), width),
  ];
  return `${sections
    .filter((lines) => lines.length > 0 && lines[0] !== '')
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function titled(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

function usageLines(command: Command, { width, colored }: Shape): string[] {
  const head = 'Usage: ';
  const [first = '', ...rest] = wrapText(`${head}${usageOf(command)}`, width, ' '.repeat(head.length));
  return [bold(head.trimEnd(), colored) + first.slice(head.length - 1), ...rest];
}

/** `gateway-cli text [prompt…] [flags]` */
export function usageOf(command: Command): string {
  return `${fullName(command)} ${orDefault(command).usage()}`;
}

/** The default command of a group, else the command itself. Its name can be left out, so the group has its help. */
export function orDefault(command: Command): Command {
  const name: unknown = Reflect.get(command, '_defaultCommandName');
  return command.commands.find((sub) => sub.name() === name) ?? command;
}

/** `gateway-cli config set` */
export function fullName(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at; at = at.parent) names.unshift(at.name());
  return names.join(' ');
}

/** The commands of a group, with their summaries. */
export function commandRows(command: Command): (readonly [name: string, text: string])[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((sub) => sub.name() !== 'help')
    .map((sub) => [sub.name(), sub.summary() || sub.description()] as const);
}

/** Flags under one heading. */
export interface FlagSection {
  heading: string;
  rows: (readonly [flags: string, text: string])[];
}

/** The flags of a command, advanced ones last and only with `full`. */
export function flagSections(command: Command, { full }: Pick<Shape, 'full'>): FlagSection[] {
  const shown = visible(command);
  const ordered = [...shown.filter((option) => !isAdvanced(option)), ...(full ? shown.filter(isAdvanced) : [])];
  const sections = new Map<string, FlagSection['rows']>();
  for (const option of ordered) {
    const heading = option.helpGroupHeading ?? 'Flags';
    const rows = sections.get(heading) ?? [];
    rows.push([option.flags, option.description + (isList(option) ? ' (repeatable)' : '')]);
    sections.set(heading, rows);
  }
  if (full || !command.parent) sections.get('Everywhere')?.unshift(['-h, --help', 'print this help']);
  else sections.delete('Everywhere');
  const order = new Set(shown.map((option) => option.helpGroupHeading ?? 'Flags'));
  return [...order].map((heading) => ({ heading, rows: sections.get(heading) ?? [] }));
}

/** How to see the flags that are not shown. */
function moreFlags(command: Command, { full }: Shape): string {
  const hidden = ({ helpGroupHeading }: Option) => command.parent !== null && helpGroupHeading === 'Everywhere';
  const left = full ? [] : visible(orDefault(command)).filter((option) => isAdvanced(option) || hidden(option));
  const example = left.find(({ long }) => long === '--json') ?? left[0];
  if (example === undefined) return '';
  return `${left.length} more flags, such as ${example.long}: ${fullName(command)} --help --verbose`;
}

/** The flags that help can show. */
export function visible(command: Command): Option[] {
  return command.options.filter((option) => !option.hidden);
}

/** Whether a flag can be repeated: its parser takes the values before. */
export function isList(option: Option): boolean {
  return option.parseArg?.length === 2;
}
