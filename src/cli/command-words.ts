import type { Command } from 'commander';
import { type Tree, tree } from './command-tree.ts';
import { topics } from './help/help.ts';

/** `config set`; empty for the program. */
export function getCommandName(command: Command): string {
  const { parent } = command;
  return parent === null ? '' : `${getCommandName(parent)} ${command.name()}`.trimStart();
}

/** The words of argv that can name commands: not flags, and not the value of `--profile`. */
export function findCommandWords(argv: readonly string[]): string[] {
  return wordPlaces(argv).map((at) => argv[at] as string);
}

/** The command that argv names: `image gen`. */
export function findTypedCommand(argv: readonly string[]): string {
  return commandPath(findCommandWords(argv), tree).join(' ');
}

function commandPath([word = '', ...rest]: readonly string[], entries: Tree): string[] {
  const found = findEntry(entries, word);
  if (found?.commands) return [word, ...commandPath(rest, found.commands)];
  if (found) return [word];
  const standard = Object.keys(entries).find((name) => entries[name]?.isDefault);
  return standard === undefined ? [] : [standard];
}

/** The names at the beginning of the words, without defaults: `['batch']` of `batch jobs.jsonl`. */
export function typedNames([word = '', ...rest]: readonly string[], entries: Tree = tree): string[] {
  const found = findEntry(entries, word);
  return found ? [word, ...typedNames(rest, found.commands ?? {})] : [];
}

/**
 * Turns `help image gen` into `image gen --help`, and no words into `--help`. A topic stays a word of `help`. After an unknown
 * command, the flag is removed, so that the command is reported.
 */
export function helpAsFlag(argv: readonly string[]): string[] {
  if (argv.length === 0) return ['--help'];
  const [first = -1, second = -1, third] = wordPlaces(argv);
  const [word = '', next = ''] = [argv[first], argv[second]];
  if (word !== 'help') {
    const others = argv.filter((flag) => flag !== '--help' && flag !== '-h');
    return others.length < argv.length && namesUnknown(argv) ? others : [...argv];
  }
  const isTopic = topics.includes(next) && (third === undefined || argv.includes('--recipe'));
  if (isTopic || (second >= 0 && findEntry(tree, next) === undefined)) return [...argv];
  return [...argv.slice(0, first), ...argv.slice(first + 1), '--help'];
}

/** Whether a word is in the place of a command's name, and is no command. */
function namesUnknown(argv: readonly string[]): boolean {
  const words = findCommandWords(argv).filter((word) => word !== 'help');
  const group = typedNames(words);
  const inside = Object.values(group.reduce((entries, word) => findEntry(entries, word)?.commands ?? {}, tree));
  return words.length > group.length && inside.length > 0 && !inside.some(({ isDefault }) => isDefault);
}

function wordPlaces(argv: readonly string[]): number[] {
  const places: number[] = [];
  for (let i = 0; i < argv.length && argv[i] !== '--'; i++) {
    const word = argv[i] as string;
    if (word === '--profile') i++;
    else if (!word.startsWith('-')) places.push(i);
  }
  return places;
}

function findEntry(entries: Tree, word: string): Tree[string] | undefined {
  return Object.hasOwn(entries, word) ? entries[word] : undefined;
}
