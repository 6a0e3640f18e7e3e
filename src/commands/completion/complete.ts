import type { Command, Option } from 'commander';
import { commandRows, isList, orDefault, topics } from '../../cli/help/help.ts';

/** What can be typed at the cursor: values with their descriptions, and whether file names can be typed too. */
export interface Completion {
  values: (readonly [value: string, text: string])[];
  files: boolean;
}

/** Values that are known only at run time. */
export interface Sources {
  models: (line: readonly string[]) => Promise<string[]>;
  profiles: () => Promise<string[]>;
  sessions: () => Promise<string[]>;
  keys: readonly string[];
  /** Values of a key of the config. */
  valuesOf: (key: string) => readonly string[];
}

/** A place in the command tree. */
interface Cursor {
  command: Command;
  /** The flag whose value comes next. */
  flag: Option | undefined;
  /** Words that are not flags or commands. */
  words: string[];
  /** Long names of the flags before the cursor. */
  used: Set<string>;
  /** After `--` nothing is a flag. */
  flagsEnded: boolean;
}

/** What can replace the last word of a line, according to the program's own command tree. */
export async function complete(program: Command, line: readonly string[], sources: Sources): Promise<Completion> {
  const current = line.at(-1) ?? '';
  const isHelp = line[0] === 'help' && line.length > 1;
  const cursor = readLine(program, line.slice(isHelp ? 1 : 0, -1));
  const { values, files } = await completeWord(cursor, current, { line, sources });
  const names = new Set(values.map(([value]) => value));
  // A topic can have the name of a command.
  const more = isHelp && line.length === 2 ? topics.filter((topic) => !names.has(topic)) : [];
  return { values: [...values, ...listed(more).values].filter(([value]) => value.startsWith(current)), files };
}

function readLine(program: Command, before: readonly string[]): Cursor {
  const at: Cursor = { command: program, flag: undefined, words: [], used: new Set(), flagsEnded: false };
  for (const word of before) {
    if (at.flag) at.flag = undefined;
    else if (at.flagsEnded || !word.startsWith('-') || word === '-') readArgument(at, word);
    else if (word === '--') at.flagsEnded = true;
    else {
      const name = word.split('=')[0] ?? '';
      const option = optionNamed(at.command, name) ?? optionNamed((at.command = orDefault(at.command)), name);
      if (option) at.used.add(option.long ?? '');
      if (option?.required && !word.includes('=')) at.flag = option;
    }
  }
  return at;
}

function readArgument(at: Cursor, word: string): void {
  const inner = at.words.length === 0 ? at.command.commands.find((sub) => sub.name() === word) : undefined;
  at.command = inner ?? orDefault(at.command);
  if (inner === undefined) at.words.push(word);
}

function optionNamed(command: Command, name: string): Option | undefined {
  return command.options.find((option) => option.long === name || option.short === name);
}

interface LineContext {
  line: readonly string[];
  sources: Sources;
}

async function completeWord(at: Cursor, current: string, typing: LineContext): Promise<Completion> {
  const command = orDefault(at.command);
  if (at.flag) return valuesOfFlag(at.flag, typing);
  const [assigned] = at.flagsEnded ? [] : (/^--[^=]*=/.exec(current) ?? []);
  if (assigned !== undefined) {
    const flag = optionNamed(command, assigned.slice(0, -1));
    const { values, files } = flag?.required ? await valuesOfFlag(flag, typing) : listed([]);
    return { values: values.map(([value, text]) => [assigned + value, text]), files };
  }
  if (!at.flagsEnded && current.startsWith('-')) return { values: flagsOf(command, at.used), files: false };
  const { values, files } = await valuesOfArgument(command, at.words, typing);
  return { values: at.words.length > 0 ? values : [...commandRows(at.command), ...values], files };
}

/** The flags that are not in the line yet, and those that repeat. */
function flagsOf(command: Command, used: ReadonlySet<string>): Completion['values'] {
  const free = command.options.filter((option) => !option.hidden && (isList(option) || !used.has(option.long ?? '')));
  return [
    ...free.map((option) => [option.long ?? option.flags, option.description] as const),
    ['--help', 'print this help'],
  ];
}

async function valuesOfFlag(option: Option, { line, sources }: LineContext): Promise<Completion> {
  if (option.argChoices) return listed(option.argChoices);
  if (option.long === '--model') return listed(await sources.models(line));
  if (option.long === '--profile' || option.long === '--upstream') return listed(await sources.profiles());
  if (option.long === '--session') return listed(await sources.sessions(), true);
  return listed([], isPath(/<([^>]*)>/.exec(option.flags)?.[1] ?? ''));
}

async function valuesOfArgument(
  { registeredArguments: known }: Command,
  words: readonly string[],
  { sources }: LineContext,
): Promise<Completion> {
  const argument = known[words.length] ?? (known.at(-1)?.variadic ? known.at(-1) : undefined);
  if (argument === undefined) return listed([]);
  if (argument.argChoices) return listed(argument.argChoices);
  const name = argument.name();
  if (name === 'key') return listed(sources.keys);
  if (name === 'value|-') return listed(sources.valuesOf(words[0] ?? ''));
  if (name === 'profile') return listed(await sources.profiles());
  if (/^(name|session)s?\b/.test(name)) return listed(await sources.sessions(), true);
  return listed([], isPath(name));
}

/** Whether a placeholder such as `path|-` or `jobs` means a file or a folder. */
function isPath(placeholder: string): boolean {
  return /path|file|dir|folder|jobs/.test(placeholder);
}

function listed(values: readonly string[], files = false): Completion {
  return { values: values.map((value) => [value, '']), files };
}
