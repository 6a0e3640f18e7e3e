import { relative, resolve } from 'node:path';
import { shellWord } from '../../shell-word.ts';

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

/**
 * The one place that makes the command to type next in a folder. Without a folder, jobs come one by one, and only the same command
 * goes on. `words`: the states that `retry` sends again, the ids of `redo`, or flags.
 */
export function nextCommand(
  folder: TypedFolder | undefined,
  name: 'again' | 'redo' | 'retry',
  words: string = name === 'retry' ? 'failed' : '',
): string {
  if (folder === undefined) return name === 'retry' ? `the same command with --retry ${words}` : 'the same command';
  const { outdir, isStream } = folder;
  const table = isStream && name === 'redo' ? '<file>' : folder.table;
  // Without a file after it, the word is what `retry` means by itself.
  const typed = name === 'retry' && words === 'failed' && table === undefined ? '' : words;
  const piped = isStream && name !== 'redo' && '< <file>';
  return ['gateway-cli batch', name, shellWord(outdir), typed, table, piped].filter(Boolean).join(' ');
}

/** The command that copies a folder to a place beside it, so that its table stays there as it is. */
export function copyCommand(outdir: string, cwd: string): string {
  const folder = resolve(cwd, outdir);
  const short = relative(cwd, folder);
  const name = short === '' || short.startsWith('..') ? folder : short;
  return `cp -r ${shellWord(name)} ${shellWord(`${name}-before`)}`;
}
