/** A paragraph, or rows of names and their texts. */
export type Note = string | readonly (readonly [string, string])[];

/** The facts of a command for help and completion. */
export interface CommandFacts {
  /** `gateway-cli config set` */
  name: string;
  summary: string;
  /** The heading in the program's help that begins with this command. */
  heading: string | undefined;
  /** The words after the name: `[prompt…] [flags]`. */
  usage: string;
  examples: readonly string[];
  /** The end of its help. */
  notes: readonly Note[];
  arguments: readonly ArgumentFacts[];
  flags: readonly FlagFacts[];
  /** The commands of a group. */
  commands: readonly CommandFacts[];
  /** The last word of the command that runs if no command of the group is named. */
  standard?: string;
  hidden?: boolean;
}

interface ArgumentFacts {
  name: string;
  repeatable?: boolean;
  /** Values for completion; others may be allowed. */
  values?: readonly string[];
}

/** The facts of a flag for help and completion. */
export interface FlagFacts extends Omit<ArgumentFacts, 'name'> {
  /** The flag in the syntax of commander: `-m, --model <id>`. */
  flags: string;
  text: string;
  heading: string;
  /** The flag is only in the full help. */
  advanced?: boolean;
  hidden?: boolean;
}
