import type { KnownFiles } from '../files/known-files.ts';
import type { Command } from 'commander';
import type { Result, ResultImage, ToolCall } from '../client/index.ts';
import type { Meter } from '../cost/types.ts';
import type { GatewayError } from '../errors.ts';
import type { StoredBlob } from '../images/types.ts';
import type { JsonValue } from '../json.ts';
import type { Secret, Redaction } from '../settings/redact.ts';
import type { Input, Io } from '../terminal/io.ts';
import type { Progress } from '../terminal/progress.ts';

/** Flags of the program itself, before or after the command's name. */
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

/** What is told to people, on stderr. */
interface Notes {
  /** Lines that a log or a script needs, too; not with `--quiet`. */
  note(text: string | readonly string[]): Promise<void>;
  /** A line for a person who watches: only on a terminal or with `--verbose`, so that an editor's filter gets nothing but the answer. */
  notice(text: string): Promise<void>;
  /** A line that is also in the JSON document. */
  warn(text: string): Promise<void>;
  /** A line for `--verbose`. */
  detail(text: string): Promise<void>;
}

/** What people see in addition to the payload, on stderr. */
export interface Ui extends Redaction, Notes {
  /** What `warn` has said, for the document. */
  readonly warnings: readonly string[];
  /** Redacts these from now on: keys are known only after the settings are read. */
  hide(secrets: readonly Secret[]): void;
  /** A spinner with `text`, or one line after 5 s; only on a terminal. Not with `--quiet` and `--verbose`. */
  progress(text: string): Progress;
  /** The model's reasoning, for `--thinking`. */
  think(text: string): Promise<void>;
  /** Has `around` print each line from now on: an answer that is drawn live makes room for it. */
  printWith(around: (print: () => Promise<void>) => Promise<void>): void;
  /** A drawing, written with its escape sequences. */
  show(drawing: string): Promise<void>;
  readonly isVerbose: boolean;
}

/** Standard input, which one flag can read. */
export interface Stdin {
  /**
   * The bytes, for the first flag that asks; a second `-` is a usage error. Notes that it waits: on a terminal at once, else
   * after 2 s. `quiet`: the caller does that itself.
   */
  claim(by: string, options?: { quiet: boolean }): AsyncIterable<Uint8Array>;
  /** Reserves stdin for a flag that reads it later, or never if nothing is sent. */
  reserve(by: string): void;
  /** The flag that reads it. */
  readonly claimedBy: string | undefined;
}

/** An image on disk, or on stdout (path `-`). */
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

/** A tool call and its result. */
export interface RunCall extends ToolCall {
  result: string;
  isError: boolean;
}

/** A request of a tool loop, with the tool calls that its answer caused. */
interface ToolRound {
  text: string;
  stopReason?: string | undefined;
  toolCalls: RunCall[];
}

/** The parts of a paid reply that could not be written. They go to a recovery file at the end of the run. */
export interface UnsavedReply {
  failure?: GatewayError | undefined;
  images: ResultImage[];
  /** `-o` of images none of which was written. */
  place?: string | undefined;
  /** The text was not printed. */
  text: boolean;
  /** The body of `--raw`. */
  body?: Pick<StoredBlob, 'content'> | undefined;
}

/** A document with a schema of its own. `ok`, `exitCode`, `warnings` and `error` are added to it. */
export interface OwnDocument {
  schema: string;
  [key: string]: unknown;
}

/** What is known of an answer so far. It is filled while it comes, so that an error is reported with as much as a success. */
export interface Report {
  /** `image gen` */
  command: string;
  /** The id of the job of a batch. */
  job?: string;
  result?: Result | undefined;
  /** The costs of its requests, if prices are set. */
  meter?: Meter | undefined;
  images: WrittenImage[];
  /** Audio, documents and other files of the reply, and the text that went into a file. */
  files?: Omit<WrittenImage, 'width' | 'height'>[];
  /** The requests of a tool loop. */
  turns?: ToolRound[] | undefined;
  readonly warnings: readonly string[];
  /** The answer as JSON, if `--schema` checked it. */
  answer?: JsonValue | undefined;
  /**
   * What stdout or a file gets instead of the whole answer. `field`: the steps from the document to a value, names and indices of
   * items; `file`: `-o`, if it is a file for the text or the code.
   */
  selected?:
    | { field?: readonly string[] | undefined; code?: boolean | undefined; file?: string | undefined }
    | undefined;
  /** Number of requests that were sent. */
  attempts: number;
  /** `--tag`. */
  tags?: Readonly<Record<string, string>>;
  /** A recording answered. */
  fromCache?: true;
  unsaved: UnsavedReply;
  /** The recovery file of the reply, if it was written. */
  kept?: string | undefined;
}

/** How long the work may take to finish after a signal, and what it says where it is ended before that. A command can change both. */
export interface GracePeriod {
  ms: number;
  lastWords?: (() => string) | undefined;
}

/** What a command receives in place of the process. */
export interface Context {
  /** Its name: `image gen`. */
  readonly command: string;
  readonly io: Io;
  /** Aborts on INT, TERM and HUP, and when the reader of stdout closes it. */
  readonly signal: AbortSignal;
  readonly gracePeriod: GracePeriod;
  readonly root: RootOptions;
  readonly ui: Ui;
  readonly stdin: Stdin;
  /** Registers a cleanup for the end of the run, whatever its outcome. The last one runs first. */
  atEnd(cleanup: () => Promise<void>): void;
}

/** What a command receives that asks a model, with what it reports of the answer. */
export interface AnswerContext extends Context {
  readonly report: Report;
}

/** What reads the inputs of a request: a command, or a job of a batch, which reads them from the folder of its file. */
export interface InputContext {
  readonly io: { readonly cwd: string; readonly stdin: Input };
  readonly signal: AbortSignal;
  readonly ui: Notes;
  readonly stdin: Stdin;
  readonly command: string;
  /** What the jobs of a batch share of their files; others read each file. */
  readonly known?: KnownFiles | undefined;
  atEnd(cleanup: () => Promise<void>): void;
}

/** How a command ended, in addition to what it has printed and reported. */
export interface CommandOutcome {
  /** Its own document for `--json`, such as a list of sessions, in place of the result of an answer. */
  document?: OwnDocument;
  /** What is known of the answer of a model, for the result document and the recovery file. */
  report?: Report;
  /** Why it failed, where its document is printed all the same. */
  error?: unknown;
  /** The exit code of a program that it ran. */
  exitCode?: number;
  /** It has printed its document itself. */
  isPrinted?: true;
}

/** Runs a command with its words and flags, as commander parsed them. What it throws is its error. */
export type Action = (
  context: Context,
  words: string[],
  flags: Record<string, unknown>,
) => Promise<CommandOutcome | undefined | void>;

/** Adds a command's arguments, flags and examples to the program; returns its action. `openProgram`: to be examined and not run. */
export type Configure = (command: Command, openProgram: (words: readonly string[]) => Promise<Command>) => Action;
