import type { Command } from 'commander';
import type { Result, ResultImage, ToolCall } from '../client/result.ts';
import type { Meter } from '../cost/types.ts';
import type { GatewayError } from '../errors.ts';
import type { StoredBlob } from '../images/types.ts';
import type { JsonValue } from '../json.ts';
import type { Secret, Redaction } from '../settings/redact.ts';
import type { Io } from '../terminal/io.ts';
import type { Progress } from '../terminal/progress.ts';

/** Flags of the program itself, before or behind the command's name. */
export interface RootOptions {
  json?: true;
  quiet?: true;
  verbose?: true;
  debug?: true;
  /** false by `--no-color` */
  color?: boolean;
  /** false by `--no-stdin` */
  stdin?: boolean;
  profile?: string;
}

/** What people see beside the payload: all of it on stderr. */
export interface Ui extends Redaction {
  /** A line about what happens; silent with `--quiet`. */
  note(text: string): Promise<void>;
  /** Something that the user should know of; also in the JSON document. */
  warn(text: string): Promise<void>;
  /** Lines for `--verbose`. */
  detail(text: string): Promise<void>;
  /** These are redacted from here on: keys are known only after the settings are read. */
  hide(secrets: readonly Secret[]): void;
  /** Shows that the program is busy with `text`: a spinner, or one line after 5 s. Silent with `--quiet` and `--verbose`. */
  progress(text: string): Progress;
  /** What the model thinks aloud, with `--thinking`. */
  think(text: string): Promise<void>;
  /** Something drawn: written as it is, escape sequences and all. */
  show(drawing: string): Promise<void>;
  readonly isVerbose: boolean;
}

/** Standard input with its one consumer. */
export interface Stdin {
  /**
   * The bytes, for the one flag that asks first; a second `-` is exit 2. Says that it waits: on a terminal at once, else
   * after 2 s of silence. A reader that tells it itself asks to be `quiet`.
   */
  claim(by: string, options?: { quiet: boolean }): AsyncIterable<Uint8Array>;
  /** Keeps stdin for a flag that reads it later, or, where nothing is sent, never. */
  reserve(by: string): void;
  /** Which flag reads it, if any. */
  readonly claimedBy: string | undefined;
}

/** A picture that is on disk (or went to stdout: path `-`). */
export interface WrittenImage {
  path: string;
  mimeType: string;
  width?: number | undefined;
  height?: number | undefined;
  bytes: number;
  sha256: string;
  candidate: number;
  reply?: number;
}

/** A call with what came of it. */
export interface RunCall extends ToolCall {
  result: string;
  isError: boolean;
}

/** A request of a tool loop, with the tools that were run for its answer. */
export interface Turn {
  text: string;
  stopReason?: string | undefined;
  toolCalls: RunCall[];
}

/** A part of what a run found out, which `--field` or `--code` asks for. */
interface Selection {
  /** Steps from the document to a value: names, and numbers of items. */
  field?: readonly string[] | undefined;
  code?: boolean | undefined;
  /** `-o` names a file for the text or the code. */
  file?: boolean;
}

/** What of a paid reply could not be written where it was wanted; the end of the run keeps it. */
export interface Lost {
  failure?: GatewayError | undefined;
  images: ResultImage[];
  /** The text was to be printed, and was not. */
  text: boolean;
  /** The body of `--raw`. */
  body?: Pick<StoredBlob, 'content'> | undefined;
}

/** What a command has found out so far. It is filled while the command runs, so that a failure tells as much as a success. */
export interface Report {
  /** `image gen` */
  command: string;
  result?: Result | undefined;
  /** What its requests cost, where prices are set. */
  meter?: Meter | undefined;
  images: WrittenImage[];
  /** Audio, documents and the like that came with the reply. */
  files?: Omit<WrittenImage, 'width' | 'height'>[];
  /** What led to the answer, where tools were run for it. */
  turns?: Turn[] | undefined;
  warnings: string[];
  /** The answer as JSON, where `--schema` checked it. */
  answer?: JsonValue | undefined;
  /** What stdout gets in place of the answer: one value of the document, or the code alone. */
  selected?: Selection;
  /** Requests sent so far. */
  attempts: number;
  /** Recordings have answered where nothing had to be sent. */
  fromCache?: true;
  /** A document of another schema, where the command has one of its own (a dry run, a list of sessions). */
  own?: object | undefined;
  /** The command printed its document itself, before its end. */
  printed?: true;
  /** Of a program that the command ran in its place. */
  exitCode?: number;
  lost: Lost;
  /** The recovery file in which the reply stands already. */
  kept?: string | undefined;
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
