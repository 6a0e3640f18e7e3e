import { commandRows, findCommand, longName, orDefault, topics } from '../../help/help.ts';
import type { CommandFacts, FlagFacts } from '../../help/types.ts';
import { splitShellLine } from '../../../library/index.ts';

/** A line at which TAB was pressed; the last word is the one being typed: empty after a blank. */
interface TypedLine {
  shell: string;
  words: readonly string[];
}

/** Reads the words after `__complete`: a shell, and its line as one word or several. */
export function readTypedLine([shell = '', ...rest]: readonly string[]): TypedLine {
  if (shell !== 'bash' && shell !== 'powershell') return { shell, words: rest };
  const { words, isComplete } = splitShellLine(rest[0] ?? '');
  return { shell, words: [...words, ...(isComplete ? [''] : [])].slice(1) };
}

/** Values that only a run knows, which reads the config file or a folder. */
type ListedValues = 'models' | 'profiles' | 'prompts' | 'sessions' | 'keys' | 'values';

/** The words that can be typed at the cursor, with their descriptions, and whether file names can be typed too. */
export interface Completion {
  values: readonly (readonly [value: string, text: string])[];
  files: boolean;
  /** Further values: `before` begins each, and `argument` is the first word of the command that is no flag. */
  listed?: { kind: ListedValues; before: string; argument?: string | undefined };
}

/** bash replaces only the text after the last `=` or `:` of a word, zsh the text after `--flag=`. */
const keptByShell: Readonly<Record<string, RegExp>> = { bash: /^.*[=:]/, zsh: /^--[^=]*=/ };

/** The lines that the script of the shell reads. */
export function formatCompletion({ values, files }: Completion, { shell, words }: TypedLine): string {
  const current = words.at(-1) ?? '';
  const kept = keptByShell[shell]?.exec(current)?.[0].length ?? 0;
  const rows = values
    .filter(([value]) => value.startsWith(current))
    .map(([value, text]) => (text === '' ? value.slice(kept) : `${value.slice(kept)}\t${text}`));
  return [...rows, files ? ':files' : ':none'].map((row) => `${row.replaceAll(/[\r\n]/g, ' ')}\n`).join('');
}

/** The words that can replace the last word of a line and begin with it. */
export function completeLine(program: CommandFacts, words: readonly string[]): Completion {
  const isHelp = words[0] === 'help' && words.length > 1;
  const current = words.at(-1) ?? '';
  // The flags of the command do nothing here.
  const before = isHelp && current.startsWith('-') ? [] : words.slice(isHelp ? 1 : 0, -1);
  const found = completeWord(readLine(program, before), current);
  if (!isHelp || words.length > 2) return found;
  // A topic can have the name of a command.
  const names = new Set(found.values.map(([value]) => value));
  return { ...found, values: [...found.values, ...withoutTexts(topics.filter((topic) => !names.has(topic)))] };
}

/** A place in the command tree. */
interface Cursor {
  command: CommandFacts;
  /** The flag whose value comes next. */
  flag: FlagFacts | undefined;
  /** Words that are not flags or commands. */
  words: string[];
  /** Long names of the flags before the cursor. */
  used: Set<string>;
  /** The line has a `--`, after which no word is a flag. */
  flagsEnded: boolean;
}

function readLine(program: CommandFacts, before: readonly string[]): Cursor {
  const at: Cursor = { command: program, flag: undefined, words: [], used: new Set(), flagsEnded: false };
  for (const word of before) {
    if (at.flag) at.flag = undefined;
    else if (at.flagsEnded || !word.startsWith('-') || word === '-') readArgument(at, word);
    else if (word === '--') at.flagsEnded = true;
    else {
      const name = word.split('=')[0] ?? '';
      const flag = findFlag(at.command, name) ?? findFlag((at.command = orDefault(at.command)), name);
      if (flag) at.used.add(longName(flag));
      if (flag && takesValue(flag) && !word.includes('=')) at.flag = flag;
    }
  }
  return at;
}

function readArgument(at: Cursor, word: string): void {
  const inner = at.words.length === 0 ? findCommand(at.command, word) : undefined;
  at.command = inner ?? orDefault(at.command);
  if (inner === undefined) at.words.push(word);
}

/** The flag with a long or a short name. */
function findFlag({ flags }: CommandFacts, name: string): FlagFacts | undefined {
  return flags.find((flag) => flag.flags.split(/[ ,]+/).includes(name));
}

function takesValue({ flags }: FlagFacts): boolean {
  return flags.includes('<');
}

function completeWord(at: Cursor, current: string): Completion {
  const command = orDefault(at.command);
  if (at.flag) return completeFlagValue(at.flag);
  const [assigned] = at.flagsEnded ? [] : (/^--[^=]*=/.exec(current) ?? []);
  if (assigned !== undefined) {
    const flag = findFlag(command, assigned.slice(0, -1));
    return flag && takesValue(flag) ? completeFlagValue(flag, assigned) : { values: [], files: false };
  }
  if (!at.flagsEnded && current.startsWith('-')) return { values: completeFlags(command, at.used), files: false };
  const found = completeArgument(command, at.words);
  return at.words.length > 0 ? found : { ...found, values: [...commandRows(at.command), ...found.values] };
}

/** The flags that are not in the line yet, and flags that repeat. */
function completeFlags({ flags }: CommandFacts, used: ReadonlySet<string>): Completion['values'] {
  const free = flags.filter((flag) => !flag.hidden && (flag.repeatable || !used.has(longName(flag))));
  return [...free.map((flag) => [longName(flag), flag.text] as const), ['--help', 'print this help']];
}

const valuesOfFlags: Readonly<Record<string, ListedValues>> = {
  '--model': 'models',
  '--profile': 'profiles',
  '--upstream': 'profiles',
  '--template': 'prompts',
  '--session': 'sessions',
};

/** `before` is the text before the value in its word: `--model=`. */
function completeFlagValue(flag: FlagFacts, before = ''): Completion {
  if (flag.values) return { values: withoutTexts(flag.values.map((value) => before + value)), files: false };
  const kind = valuesOfFlags[longName(flag)];
  if (kind === undefined) return { values: [], files: isPath(/<([^>]*)>/.exec(flag.flags)?.[1] ?? '') };
  return { values: [], files: kind === 'prompts' || kind === 'sessions', listed: { kind, before } };
}

const valuesOfArguments: Readonly<Record<string, ListedValues>> = {
  key: 'keys',
  'value|-': 'values',
  profile: 'profiles',
};

function completeArgument({ arguments: known }: CommandFacts, words: readonly string[]): Completion {
  const argument = known[words.length] ?? (known.at(-1)?.repeatable ? known.at(-1) : undefined);
  if (argument === undefined) return { values: [], files: false };
  const { name, values } = argument;
  if (values) return { values: withoutTexts(values), files: false };
  const kind = valuesOfArguments[name] ?? (/^(name|session)s?\b/.test(name) ? 'sessions' : undefined);
  if (kind === undefined) return { values: [], files: isPath(name) };
  return { values: [], files: kind === 'sessions', listed: { kind, before: '', argument: words[0] } };
}

/** Whether a placeholder such as `path|-` or `jobs` means a file or a folder. */
function isPath(placeholder: string): boolean {
  return /path|file|dir|folder|jobs/.test(placeholder);
}

export function withoutTexts(values: readonly string[]): [value: string, text: string][] {
  return values.map((value) => [value, '']);
}
