import { topics } from '../help/topics.ts';

/** Names of commands; a group has commands of its own. */
interface CommandNames {
  readonly commands?: Readonly<Record<string, CommandNames>>;
  /** Runs where the group's words name no other. */
  readonly isDefault?: true;
}

/** The commands of a program, or of a group. */
export type Names = Readonly<Record<string, CommandNames>>;

/** The words of argv that can name commands: flags and the value of the one root flag that has one are passed over. */
export function wordsOf(argv: readonly string[]): string[] {
  return wordPlaces(argv).map((at) => argv[at] as string);
}

/** `image gen` of argv, as far as its words name commands that there are. */
export function commandOf(argv: readonly string[], names: Names): string {
  return namesOf(wordsOf(argv), names).join(' ');
}

function namesOf([word = '', ...rest]: readonly string[], names: Names): string[] {
  const found = own(names, word);
  if (found?.commands) return [word, ...namesOf(rest, found.commands)];
  if (found) return [word];
  const standard = Object.keys(names).find((name) => names[name]?.isDefault);
  return standard === undefined ? [] : [standard];
}

/** The names that words begin with, without those of defaults: `['batch']` of `batch jobs.jsonl`. */
export function typedNames([word = '', ...rest]: readonly string[], names: Names): string[] {
  const found = own(names, word);
  return found ? [word, ...typedNames(rest, found.commands ?? {})] : [];
}

/** The commands of a group, by the words that lead to it. */
export function namesInside(group: readonly string[], names: Names): Names {
  return group.reduce((inside, word) => own(inside, word)?.commands ?? {}, names);
}

/**
 * `help image gen` and `image help gen` as the flag that they mean: `image gen --help`. A topic stays a word of `help`. A name
 * that is none loses the flag: it is told as such.
 */
export function helpAsFlag(argv: readonly string[], names: Names): string[] {
  const [first = -1, second = -1, third] = wordPlaces(argv);
  const isTopic = argv[first] === 'help' && topics.includes(argv[second] ?? '');
  if (isTopic && (third === undefined || argv.includes('--recipe'))) return [...argv];
  const group = own(names, argv[first] ?? '')?.commands !== undefined;
  const at = argv[first] === 'help' ? first : group && argv[second] === 'help' ? second : -1;
  const rest = at < 0 ? [...argv] : [...argv.slice(0, at), ...argv.slice(at + 1)];
  const unknown = wordsOf(rest).length > 0 && commandOf(rest, names) === '';
  if (unknown) return rest.filter((word) => word !== '--help' && word !== '-h');
  return at < 0 ? rest : [...rest, '--help'];
}

/** The command that stands behind a flag that only it knows: `--offline text hi`. */
export function commandBehind(flag: string, argv: readonly string[], names: Names): string | undefined {
  const at = argv.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
  const before = argv.slice(0, at).findLast((word) => own(names, word)?.commands);
  const inside = before === undefined ? names : (own(names, before)?.commands ?? names);
  const rest = argv.slice(at + 1);
  const next = rest.findIndex((word) => own(inside, word) !== undefined);
  if (at < 0 || next < 0) return undefined;
  return [...(before === undefined ? [] : [before]), ...namesOf(wordsOf(rest.slice(next)), inside)].join(' ');
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

function own(names: Names, word: string): CommandNames | undefined {
  return Object.hasOwn(names, word) ? names[word] : undefined;
}
