import type { Argument, Command, Option } from 'commander';
import { commandRows, isList, orDefault } from '../../cli/help/help.ts';
import { topics } from '../../cli/help/topics.ts';

/** One thing that can stand where the cursor is. */
interface Candidate {
  value: string;
  text: string;
}

/** What can be typed, and whether names of files can too. */
export interface Completion {
  candidates: Candidate[];
  rest: 'files' | 'none';
}

/** What is known only at run time, each asked for when it is needed. */
export interface Sources {
  models(words: readonly string[]): Promise<string[]>;
  profiles(): Promise<string[]>;
  sessions(): Promise<string[]>;
  keys(): readonly string[];
  /** Values of a key of the config. */
  valuesOf(key: string): readonly string[];
}

/** Where the cursor stands in the command tree. */
interface Cursor {
  command: Command;
  /** The flag whose value is being typed. */
  flag: Option | undefined;
  /** Words that are no flags and no commands. */
  words: string[];
  /** Long names of the flags that stand in the line. */
  used: Set<string>;
  /** Behind `--` nothing is a flag. */
  plain: boolean;
}

/** What can stand in the place of the last word, by the program's own command tree. */
export async function complete(program: Command, line: readonly string[], sources: Sources): Promise<Completion> {
  const current = line.at(-1) ?? '';
  const isHelp = line[0] === 'help' && line.length > 1;
  const at = walk(program, line.slice(isHelp ? 1 : 0, -1));
  const typed = await offer(at, { current, line, sources });
  const words = isHelp && line.length === 2 ? plain(topics).candidates : [];
  // A topic can have the name of a command.
  const commands = new Set(typed.candidates.map(({ value }) => value));
  const candidates = [...typed.candidates, ...words.filter(({ value }) => !commands.has(value))];
  return { ...typed, candidates: candidates.filter(({ value }) => value.startsWith(current)) };
}

interface Typing {
  current: string;
  line: readonly string[];
  sources: Sources;
}

async function offer(at: Cursor, typing: Typing): Promise<Completion> {
  const { current } = typing;
  if (at.flag) return valuesOf(at.flag, typing);
  if (!at.plain && current.startsWith('--') && current.includes('=')) {
    const name = current.slice(0, current.indexOf('='));
    const flag = optionNamed(orDefault(at.command), name);
    if (!flag?.required) return nothing;
    const { candidates, rest } = await valuesOf(flag, typing);
    return { candidates: candidates.map(({ value, text }) => ({ value: `${name}=${value}`, text })), rest };
  }
  if (!at.plain && current.startsWith('-'))
    return { candidates: flagsOf({ ...at, command: orDefault(at.command) }), rest: 'none' };
  const rows = at.words.length > 0 ? [] : commandRows(at.command);
  const commands = rows.map(([value, text]) => ({ value, text }));
  const inner = await argumentValues({ ...at, command: orDefault(at.command) }, typing);
  return { candidates: [...commands, ...inner.candidates], rest: inner.rest };
}

const nothing: Completion = { candidates: [], rest: 'none' };
const files: Completion = { candidates: [], rest: 'files' };

function walk(program: Command, before: readonly string[]): Cursor {
  const at: Cursor = { command: program, flag: undefined, words: [], used: new Set(), plain: false };
  for (const word of before) {
    if (at.flag) at.flag = undefined;
    else if (at.plain || !word.startsWith('-') || word === '-') stepInto(at, word);
    else if (word === '--') at.plain = true;
    else {
      const name = word.split('=')[0] ?? '';
      const option = optionNamed(at.command, name) ?? optionNamed((at.command = orDefault(at.command)), name);
      if (option) at.used.add(option.long ?? '');
      if (option?.required && !word.includes('=')) at.flag = option;
    }
  }
  return at;
}

function stepInto(at: Cursor, word: string): void {
  const inner = at.words.length === 0 ? at.command.commands.find((sub) => sub.name() === word) : undefined;
  if (inner) at.command = inner;
  else {
    at.command = orDefault(at.command);
    at.words.push(word);
  }
}

function optionNamed(command: Command, name: string): Option | undefined {
  return command.options.find((option) => option.long === name || option.short === name);
}

/** Flags that can still be given: those that repeat, and those that are not there yet. */
function flagsOf({ command, used }: Cursor): Candidate[] {
  const free = command.options.filter((option) => !option.hidden && (isList(option) || !used.has(option.long ?? '')));
  return [
    ...free.map((option) => ({ value: option.long ?? option.flags, text: option.description })),
    { value: '--help', text: 'print this help' },
  ];
}

async function valuesOf(option: Option, { line, sources }: Typing): Promise<Completion> {
  if (option.argChoices) return plain(option.argChoices);
  if (option.long === '--model') return plain(await sources.models(line));
  if (option.long === '--profile' || option.long === '--upstream') return plain(await sources.profiles());
  if (option.long === '--session') return { ...plain(await sources.sessions()), rest: 'files' };
  return isPath(/<([^>]*)>/.exec(option.flags)?.[1] ?? '') ? files : nothing;
}

async function argumentValues({ command, words }: Cursor, { sources }: Typing): Promise<Completion> {
  const known: readonly Argument[] = command.registeredArguments;
  const argument = known[words.length] ?? (known.at(-1)?.variadic ? known.at(-1) : undefined);
  if (argument === undefined) return nothing;
  if (argument.argChoices) return plain(argument.argChoices);
  const name = argument.name();
  if (name === 'key') return plain(sources.keys());
  if (name === 'value|-') return plain(sources.valuesOf(words[0] ?? ''));
  if (name === 'profile') return plain(await sources.profiles());
  if (/^(name|session)s?\b/.test(name)) return { ...plain(await sources.sessions()), rest: 'files' };
  return isPath(name) ? files : nothing;
}

/** Whether a placeholder such as `path|-` or `jobs` stands for a file or folder. */
function isPath(placeholder: string): boolean {
  return /path|file|dir|folder|jobs/.test(placeholder);
}

function plain(values: readonly string[]): Completion {
  return { candidates: values.map((value) => ({ value, text: '' })), rest: 'none' };
}
