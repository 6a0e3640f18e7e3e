import { lstat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { shellWord } from '../../../library/index.ts';

/** The command that was typed, with more flags. */
export function repeatCommand(argv: readonly string[], more: string): string {
  // Words after `--` are no flags.
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const typed = argv.map((word) => (/^--?[\w-]+$/.test(word) ? word : shellWord(word)));
  return ['gateway-cli', ...typed.slice(0, end), more, ...typed.slice(end)].join(' ');
}

/** The folder of a batch in commands to type: its name, and the words that give its table again if that came on stdin. */
export interface TypedFolder {
  outdir: string;
  table?: string | undefined;
  /** Its jobs come on stdin one by one: what needs all of them takes a file. */
  isStream?: boolean;
}

/** The parts of a command beside the folder. */
export interface NextWords {
  /** The rows of `redo`, or the states that `retry` sends again, as one word. */
  operand?: string | undefined;
  /** Flags, as they are typed. */
  flags?: string | undefined;
}

/**
 * The one place that makes the command to type next in a folder. Without a folder, jobs come one by one, and only the same command
 * goes on.
 */
export function nextCommand(
  folder: TypedFolder | undefined,
  name: 'again' | 'redo' | 'retry',
  { operand = name === 'retry' ? 'failed' : '', flags = '' }: NextWords = {},
): string {
  if (folder === undefined)
    return joinWords([name === 'retry' ? `the same command with --retry ${operand}` : 'the same command', flags]);
  const { outdir, isStream } = folder;
  const table = isStream && name === 'redo' ? '<file>' : (folder.table ?? '');
  const piped = isStream && name !== 'redo' ? '< <file>' : '';
  // Without a file after it, the word is what `retry` means by itself.
  const isImplied = operand === '' || (name === 'retry' && operand === 'failed' && table === '');
  const word = isImplied ? '' : toOperands([operand]);
  // After `--`, flags would be words.
  const rest = word.startsWith('--') ? orderOperands(word, table, flags) : [word, table, piped, flags];
  return joinWords(['gateway-cli batch', name, shellWord(outdir), ...rest]);
}

/**
 * The command that collects what the service holds, whatever the lane of the folder is by now. `asks`: some rows were edited, and
 * `again` would ask for them; `retry` sends failed rows again.
 */
export function collectCommand(folder: TypedFolder | undefined, asks = false): string {
  return nextCommand(folder, asks ? 'retry' : 'again', { flags: '--lane batch' });
}

function orderOperands(word: string, table: string, flags: string): string[] {
  return table.startsWith('-') ? [table, flags, word] : [flags, word, table];
}

/** At most this many rows are named in one command. */
const maxJoined = 50;

/**
 * Rows as the one word that `redo` takes, and how many of them it names: the first few. An id with a comma would be read as several
 * ones, so it is named alone, once there are no others.
 */
export function joinIds(ids: readonly string[]): { word: string; count: number } {
  const plain = ids.filter((id) => !id.includes(','));
  const named = plain.length > 0 ? plain.slice(0, maxJoined) : ids.slice(0, 1);
  return { word: named.join(','), count: named.length };
}

function joinWords(words: readonly string[]): string {
  return words.filter((word) => word !== '').join(' ');
}

/** The command that has answers of rows count: `3=1`; of the first few rows, if there are many. */
export function chooseCommand(outdir: string, choices: readonly string[]): string {
  return `gateway-cli batch choose ${shellWord(outdir)} ${toOperands(choices.slice(0, maxJoined))}`;
}

/** The command that lists the rows of folders, as typed. */
export function exportCommand(outdirs: readonly string[]): string {
  return `gateway-cli batch export ${outdirs.map(shellWord).join(' ')}`;
}

/** Words of the shell that are no flags: ids can begin with a dash. They come last. */
export function toOperands(words: readonly string[]): string {
  const typed = words.map(shellWord).join(' ');
  return words.some((word) => word.startsWith('-')) ? `-- ${typed}` : typed;
}

/** The name of a folder in commands to type: its path from here if it is below, which is no flag. */
export function nameFolder(path: string, cwd: string): string {
  const short = relative(cwd, path) || '.';
  if (short.startsWith('..')) return path;
  return short.startsWith('-') ? `./${short}` : short;
}

/** The command that copies a folder to a free place beside it, so that its table stays there as it is. */
export async function copyCommand(outdir: string, cwd: string): Promise<string> {
  const folder = resolve(cwd, outdir);
  const name = folder === resolve(cwd) ? folder : nameFolder(folder, cwd);
  let copy = `${name}-before`;
  // Into a folder that is there, `cp` would copy this one as a part of that.
  for (let count = 2; await isTaken(resolve(cwd, copy)); count++) copy = `${name}-before-${count}`;
  return `cp -r ${shellWord(name)} ${shellWord(copy)}`;
}

async function isTaken(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
