import type { Command } from 'commander';
import type { Io } from '../../terminal/io.ts';
import type { Report } from '../output/document.ts';
import type { Stdin } from '../input/stdin.ts';
import type { Ui } from './ui.ts';

/** Flags of the program itself, before or behind the command's name. */
export interface RootOptions {
  json?: true;
  quiet?: true;
  verbose?: true;
  debug?: true;
  /** false by `--no-color` */
  color?: boolean;
  profile?: string;
}

/** What a command receives: the process's edges and nothing of the process. */
export interface Context {
  readonly io: Io;
  /** Aborts on INT, TERM, HUP and when stdout was closed by its reader. */
  readonly signal: AbortSignal;
  /** How long the command may take to end in order after a signal. */
  readonly patience: { ms: number };
  readonly root: RootOptions;
  readonly ui: Ui;
  readonly stdin: Stdin;
  /** What the JSON document will say; the command fills it as it goes. */
  readonly report: Report;
  /** Registers work for the end of the run, whatever its outcome: temporary files, connections. The last comes first. */
  atEnd(cleanup: () => Promise<void>): void;
}

/** The work of a command: its words and the flags that were typed, as commander parsed them. */
export type Action = (context: Context, words: string[], flags: Record<string, unknown>) => Promise<void>;

/** Adds a command's arguments, flags and examples to its place in the tree, and names its work. */
export type Configure = (command: Command) => Action;
