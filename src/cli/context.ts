import type {
  GatewayError,
  JsonValue,
  KnownFiles,
  Result,
  ResultImage,
  Spent,
  StoredBlob,
  ToolCall,
} from '../library/index.ts';
import type { Command } from 'commander';
import type { Secret, Redaction } from './settings/redact.ts';
import type { Input, Io } from './terminal/io.ts';
import type { Progress } from './terminal/progress.ts';

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

/** Messages for people, on stderr. */
interface Notes {
  /** Lines that a log or a script needs, too; not with `--quiet`. */
  note(text: string): Promise<void>;
  /** A line for a person who watches: only on a terminal or with `--verbose`, so that an editor's filter gets nothing but the answer. */
  notice(text: string): Promise<void>;
  /** A line that is also in the JSON document. */
  warn(text: string): Promise<void>;
  /** A line for `--verbose`. */
  detail(text: string): Promise<void>;
}

/** Output for people beside the payload, on stderr. */
export interface Ui extends Redaction, Notes {
  /** The texts of all calls of `warn`, for the document. */
  readonly warnings: readonly string[];
  /** Redacts these secrets from now on: keys are known only after the settings are read. */
  hide(secrets: readonly Secret[]): void;
  /** A spinner with `text`, only on a terminal. Not with `--quiet` and `--verbose`. */
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
   * Reads the bytes for the first flag that asks; a second `-` is a usage error. A note says that stdin is awaited: on a terminal
   * at once, otherwise after 2 s. `quiet`: the caller says it itself.
   */
  claim(by: string, options?: { quiet: boolean }): AsyncIterable<Uint8Array>;
  /** Reserves stdin for a flag that reads it later, or never if nothing is sent. */
  reserve(by: string): void;
  /** The flag that reads stdin. */
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

/** A file that was written and is not an image. */
export type WrittenFile = Omit<WrittenImage, 'width' | 'height'>;

/** A tool call and its result. */
export interface RunCall extends ToolCall {
  result: string;
  isError: boolean;
}

/** A request of a tool loop, with the tool calls that its answer caused. */
export interface ToolRound {
  text: string;
  stopReason?: string | undefined;
  toolCalls: RunCall[];
}

/** The parts of a paid reply that could not be written. They go to a recovery file at the end of the run. */
export interface UnsavedReply {
  readonly failure?: GatewayError | undefined;
  readonly images: readonly ResultImage[];
  /** `-o` of images none of which was written. */
  readonly place?: string | undefined;
  /** The text was not printed. */
  readonly text: boolean;
  /** The body of `--raw`. */
  readonly body?: Pick<StoredBlob, 'content'> | undefined;
}

/** The files of an answer: written ones, and those that could not be written. */
export interface SavedFiles {
  readonly images: readonly WrittenImage[];
  /** Audio, documents and other files of the reply, and the text that went into a file. */
  readonly files: readonly WrittenFile[];
  /** Images that are cut, or have another aspect ratio or size than they should. */
  readonly mismatches: readonly string[];
  readonly unsaved: UnsavedReply;
}

/** The outcome of asking a model: made when the asking has ended, and never changed. Later steps make a new one. */
export interface Outcome extends SavedFiles {
  /** The reply; absent if nothing came. */
  readonly reply?: Result | undefined;
  readonly spent: Spent;
  readonly warnings: readonly string[];
  /** Number of requests that were sent. */
  readonly attempts: number;
  /** A recording answered. */
  readonly fromCache: boolean;
  /** The requests of a tool loop. */
  readonly turns?: readonly ToolRound[] | undefined;
  /** The answer as JSON, if `--schema` checked it. */
  readonly answer?: JsonValue | undefined;
  /** The reason that the reply is incomplete; its parts are in `reply`. */
  readonly error?: GatewayError | undefined;
  /** The exception that ended the work early: no answer came, a signal, or a bug. */
  readonly thrown?: { readonly value: unknown } | undefined;
}

/** A document with a schema of its own. `ok`, `exitCode`, `warnings` and `error` are added to it. */
export interface OwnDocument {
  schema: string;
  [key: string]: unknown;
}

/**
 * The part of an answer that stdout or a file gets. `field`: the steps from the document to a value, names and indices of items;
 * `file`: `-o`, if it is a file for the text or the code.
 */
export interface Selection {
  readonly field?: readonly string[] | undefined;
  readonly code?: boolean | undefined;
  readonly file?: string | undefined;
}

/** The facts of a run for its document and its recovery file. */
export interface Report {
  /** `image gen` */
  readonly command: string;
  /** The id of the job of a batch. */
  readonly job?: string | undefined;
  readonly outcome: Outcome;
  readonly warnings: readonly string[];
  readonly selected?: Selection | undefined;
  /** `--tag`. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** The recovery file of the reply, if it was written. */
  readonly kept?: string | undefined;
}

/** Time that the work may take to finish after a signal, and the message if it is ended before that. A command can change both. */
export interface GracePeriod {
  ms: number;
  lastWords?: (() => string) | undefined;
}

/** The surroundings of a command: it receives these in place of the process. */
export interface Context {
  /** The name of the command: `image gen`. */
  readonly command: string;
  /** The arguments after `gateway-cli`, for a hint that repeats them. */
  readonly argv: readonly string[];
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

/** Writes the code or the text of a complete answer to its place; returns the file, if the place is one. */
export type WriteAnswer = (result: Result, json?: string) => Promise<WrittenFile | undefined>;

/** The surroundings of a command that asks a model. */
export interface AnswerContext extends Context {
  readonly selected?: Selection | undefined;
  /** `--tag`. */
  readonly tags?: Report['tags'];
  /** Absent if the text is printed on stdout. */
  readonly writeFile?: WriteAnswer | undefined;
  /** Number of attempts that the clients of a batch have sent so far. */
  readonly sent?: { attempts: number };
}

/**
 * The surroundings for reading inputs of a request: by a command, or by a job of a batch, which reads files relative to the
 * folder of the batch file.
 */
export interface InputContext {
  readonly io: { readonly cwd: string; readonly stdin: Input };
  readonly signal: AbortSignal;
  readonly ui: Notes;
  readonly stdin: Stdin;
  readonly command: string;
  /** Files that the jobs of a batch read once and share; commands read each file anew. */
  readonly known?: KnownFiles | undefined;
  atEnd(cleanup: () => Promise<void>): void;
}

/** The end of a command, beside its printed and reported output. */
export interface CommandEnd {
  /** The command's own document for `--json`, such as a list of sessions. It replaces the result of an answer. */
  document?: OwnDocument;
  /** The outcome of asking a model, for the result document and the recovery file. */
  outcome?: Outcome | undefined;
  /** The part of the answer that the flags select, and `--tag`. */
  selected?: Selection | undefined;
  tags?: Report['tags'];
  /** The path of the recovery file of the reply, if there is one. */
  kept?: string | undefined;
  /** The error of a command whose document is printed although it failed. */
  error?: unknown;
  /** The exit code of a program that the command ran. */
  exitCode?: number;
  /** The command has printed its document itself. */
  isPrinted?: true;
}

/** Runs a command with its words and flags, as commander parsed them. It throws the error of the command. */
export type Action = (
  context: Context,
  words: string[],
  flags: Record<string, unknown>,
) => Promise<CommandEnd | undefined | void>;

/** Adds a command's arguments, flags and examples to the program; returns its action. `openProgram`: to be examined and not run. */
export type Configure = (command: Command, openProgram: (words: readonly string[]) => Promise<Command>) => Action;
