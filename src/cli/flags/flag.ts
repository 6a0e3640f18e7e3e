import { type Command, Option } from 'commander';
import { usageError } from '../../errors.ts';

/** One flag of the program. It is defined once; commands name the flags that they take. */
interface Flag {
  /** As commander writes it: `-m, --model <id>`. None takes an optional or variadic value. */
  readonly flags: string;
  readonly text: string;
  /** From the word that was typed, and the flag's own name for messages, to its value. Throws GatewayError usage. */
  readonly parse?: (word: string, name: string) => unknown;
  /** Whether the flag may stand several times; its values become a list. */
  readonly repeat?: true;
  /** Values that completion offers; others may be allowed too. */
  readonly values?: readonly string[];
  readonly hidden?: true;
  /** Few need it: help shows it with `--verbose` alone. */
  readonly rare?: true;
}

/** Flags by their camel-case names. */
export type FlagTable = Readonly<Record<string, Flag>>;

/** The values of flags as commander gives them, by the table that defines the flags `as const`. */
export type FlagValues<T extends FlagTable> = {
  -readonly [K in keyof T]?: T[K] extends { repeat: true } ? ValueOf<T[K]>[] : ValueOf<T[K]>;
};

type ValueOf<F extends Flag> = F extends { parse: (word: string, name: string) => infer T }
  ? T
  : F['flags'] extends `${string}<${string}`
    ? string
    : F['flags'] extends `${string}[${string}`
      ? string | true
      : true;

/** Flags that few need. */
const rare = new WeakSet<Option>();

/** Whether the help shows a flag with `--verbose` alone. */
export function isRare(option: Option): boolean {
  return rare.has(option);
}

/** The same flags, for a command that seldom needs them. */
export function seldom<T extends FlagTable>(flags: T): T {
  return Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, { ...flag, rare: true }])) as T;
}

/** Adds the flags to a command, under one heading of its help. */
export function addFlags(command: Command, heading: string, flags: FlagTable): void {
  for (const flag of Object.values(flags)) command.addOption(toOption(flag).helpGroup(heading));
}

function toOption(flag: Flag): Option {
  const option = new Option(flag.flags, flag.text);
  if (flag.hidden) option.hideHelp();
  if (flag.rare) rare.add(option);
  if (flag.values) option.argChoices = [...flag.values];
  const parse = parserOf(flag) ?? ((word: string) => word);
  if (flag.repeat) {
    option.argParser((word: string, before: unknown[] | undefined) => [...(before ?? []), parse(word)]);
  } else if (option.required) {
    option.argParser(parse);
  }
  return option;
}

/** How a flag reads its word, where it does not take it as it is. */
export function parserOf({ flags, parse }: Flag): ((word: string) => unknown) | undefined {
  const [name = ''] = /--[\w-]+/.exec(flags) ?? [];
  return parse && ((word) => parse(word, name));
}

/** For flags whose value is easily forgotten: `-o --force` and `-o -f` are missing values, not files of that name. */
export function notAFlag(word: string, name: string, example?: string): string {
  if (!/^(--|-[a-z]$)/i.test(word)) return word;
  throw usageError(
    `${name} needs a value, and ${word.split('=')[0]} is a flag`,
    example === undefined ? `for a value that begins so: ${name}=./${word}` : `for example: ${example}`,
  );
}
