/** A paragraph, or rows of names and their texts. */
export type Note = string | readonly (readonly [string, string])[];

/** What help and completion know of a command: plain data, which the build keeps in a file. */
export interface CommandFacts {
  /** `gateway-cli config set` */
  name: string;
  summary: string;
  /** What follows the name: `[prompt…] [flags]`. */
  usage: string;
  examples: readonly string[];
  /** The end of its help. */
  notes: readonly Note[];
  arguments: readonly ArgumentFacts[];
  flags: readonly FlagFacts[];
  /** Those of a group. */
  commands: readonly CommandFacts[];
  /** The last word of the one that runs if none of the group is named. */
  standard?: string;
  hidden?: boolean;
}

interface ArgumentFacts {
  name: string;
  repeatable?: boolean;
  /** Values for completion; others may be allowed. */
  values?: readonly string[];
}

/** What help and completion know of a flag. */
export interface FlagFacts extends Omit<ArgumentFacts, 'name'> {
  /** In the syntax of commander: `-m, --model <id>`. */
  flags: string;
  text: string;
  heading: string;
  /** Only in the full help. */
  advanced?: boolean;
  hidden?: boolean;
}
