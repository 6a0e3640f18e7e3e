import { relative, resolve } from 'node:path';
import { shellWord } from '../../shell-word.ts';

/** The command that was typed, with more flags. */
export function repeatCommand(argv: readonly string[], more: string): string {
  // Words after `--` are no flags.
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const typed = argv.map((word) => (/^--?[\w-]+$/.test(word) ? word : shellWord(word)));
  return ['gateway-cli', ...typed.slice(0, end), more, ...typed.slice(end)].join(' ');
}

/**
 * The one place that makes the command to type next in a folder, which is named as typed. Without a folder, jobs come one by one,
 * and only the same command goes on. `words`: the states that `retry` sends again, the ids of `redo`, or flags.
 */
export function nextCommand(outdir: string | undefined, name: 'again' | 'redo' | 'retry', words = ''): string {
  const more = words === '' ? '' : ` ${words}`;
  if (outdir !== undefined) return `gateway-cli batch ${name} ${shellWord(outdir)}${more}`;
  return name === 'retry' ? `the same command with --retry${more || ' failed'}` : 'the same command';
}

/** The command that copies a folder to a place beside it, so that its table stays there as it is. */
export function copyCommand(outdir: string, cwd: string): string {
  const folder = resolve(cwd, outdir);
  const short = relative(cwd, folder);
  const name = short === '' || short.startsWith('..') ? folder : short;
  return `cp -r ${shellWord(name)} ${shellWord(`${name}-before`)}`;
}
