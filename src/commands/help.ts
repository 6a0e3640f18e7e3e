import type { Command, Option } from 'commander';

const width = 100;

/** Headings of flags that every request command shares: shown as names, explained by `--help --verbose`. */
const shared = new Set(['Request', 'Connection', 'Output', 'Everywhere']);

/** Examples of a command, shown first. */
const examples = new WeakMap<Command, readonly string[]>();

/** Lines for the end of a command's help. */
const notes = new WeakMap<Command, readonly string[]>();

/** Gives a command the examples that its help begins with. */
export function setExamples(command: Command, lines: readonly string[]): void {
  examples.set(command, lines);
}

/** The first of them, without its remark. */
export function firstExample(command: Command): string | undefined {
  return examples.get(command)?.[0]?.replace(/ +# .*$/, '');
}

/** Gives a command the lines that its help ends with. */
export function setNotes(command: Command, lines: readonly string[]): void {
  notes.set(command, lines);
}

/** The help text: examples first, the command's own flags, then the shared ones in short (design.md section 1). */
export function formatHelp(command: Command, { full }: { full: boolean }): string {
  const shown = orDefault(command);
  const sections = [
    [command.description()],
    exampleLines(shown),
    [`Usage: ${namesOf(command)} ${shown.usage()}`],
    commandLines(command),
    ...flagSections(shown, full),
    notes.get(shown) ?? [],
  ];
  return `${sections
    .filter((lines) => lines.length > 0 && lines[0] !== '')
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function exampleLines(command: Command): string[] {
  const lines = examples.get(command) ?? [];
  return lines.length === 0 ? [] : ['Examples:', ...lines.map((line) => `  ${line}`)];
}

/** The command that runs where a group's words name none: its words may be left out, so the group's help is its own. */
function orDefault(command: Command): Command {
  const name: unknown = Reflect.get(command, '_defaultCommandName');
  return command.commands.find((sub) => sub.name() === name) ?? command;
}

/** `gateway-cli config set` */
export function namesOf(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at; at = at.parent) names.unshift(at.name());
  return names.join(' ');
}

function commandLines(command: Command): string[] {
  const rows = command
    .createHelp()
    .visibleCommands(command)
    .filter((sub) => sub.name() !== 'help')
    .map((sub) => [sub.name(), sub.summary() || sub.description()] as const);
  return rows.length === 0 ? [] : ['Commands:', ...table(rows)];
}

function flagSections(command: Command, full: boolean): string[][] {
  const groups = groupByHeading(visible(command));
  const own: string[][] = [];
  const brief: string[] = [];
  for (const [heading, options] of groups) {
    if (shared.has(heading) && !full) brief.push(...nameLines(heading, options));
    else
      own.push([
        `${heading}:`,
        ...table(options.map((option) => [option.flags, option.description + (isList(option) ? ' (repeatable)' : '')])),
      ]);
  }
  if (brief.length > 0) brief.push('', 'Each flag explained: add --verbose to --help');
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

function isList(option: Option): boolean {
  return option.parseArg !== undefined && option.parseArg.length === 2;
}

function nameLines(heading: string, options: readonly Option[]): string[] {
  const names = options.map((option) => option.flags.replace(', ', ' '));
  if (heading === 'Everywhere') names.unshift('-h --help');
  const lines: string[] = [];
  let line = `${heading}: `.padEnd(12);
  for (const name of names) {
    if (line.length + name.length + 2 > width) {
      lines.push(line.trimEnd());
      line = ' '.repeat(12);
    }
    line += `${name}  `;
  }
  return [...lines, line.trimEnd()];
}

function table(rows: readonly (readonly [string, string])[]): string[] {
  const column = Math.min(34, Math.max(...rows.map(([name]) => name.length)) + 2);
  return rows.map(([name, text]) => `  ${name.padEnd(column)}${name.length >= column ? '  ' : ''}${text}`);
}
