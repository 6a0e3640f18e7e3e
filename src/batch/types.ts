import type { Body } from '../body.ts';
import type { Asked, Deadline, CheckEnd, PreparedRequest } from '../client/index.ts';
import type { Bound, Cost, MeteredAnswer, Spent } from '../cost/types.ts';
import type { Certainty, GatewayError } from '../errors.ts';
import type { LockTimes } from '../files/lock.ts';
import type { FileWatch } from '../files/synced-file.ts';
import type { Usage } from '../formats/events.ts';
import type { JsonValue } from '../json.ts';
import type { FolderLock } from './folder/lock.ts';
import type { BatchState } from './folder/state.ts';
import type { BlobStore } from '../images/types.ts';
import type { Redaction } from '../settings/redact.ts';
import type { Settings } from '../settings/types.ts';
import type { BatchEvent } from './events.ts';
import type { Connection, RetryPolicy } from '../transport/types.ts';
import type { SlotRecord } from './folder/records.ts';
import type { RowKey } from './key.ts';
import type { BatchPlan } from './run/plan.ts';

/** The commands that a job can name. */
export const jobCommands = ['text', 'image gen', 'image edit', 'chat'] as const;
export type JobCommand = (typeof jobCommands)[number];

/** One line of a job file, checked. */
export interface Job {
  /** Unique in its file; the line's number where the line has none. */
  id: string;
  /** The id of its line, if that makes several jobs by its `count` or `--vary`. */
  lineId?: string;
  /** Its id is its number in the file: it says nothing once jobs before it come or go. */
  isNumbered?: boolean;
  /** What it uses of other jobs, if anything. */
  uses?: readonly JobUse[];
  /** These jobs, once all are known. */
  parents?: readonly JobParent[];
  /** From 1. */
  line: number;
  /** The number of its row among those of its file, from 1; absent if that is its line. */
  number?: number;
  command: JobCommand;
  /** Name of its images under images/, without extension. */
  name: string | undefined;
  /** What its request is built from, for who builds it. */
  values: Readonly<Record<string, unknown>>;
}

/** What a job uses of another one: its name for it, and whether it is its text, its picture, or both. */
export interface JobUse {
  name: string;
  text: boolean;
  picture: boolean;
}

/** The job that is meant: its id, and its place in the file, from 0. */
export interface JobParent extends JobUse {
  id: string;
  place: number;
}

/** What the answer of a job is, as far as that is known before. */
export const jobProducts = ['text', 'pictures', 'any'] as const;
export type JobProduct = (typeof jobProducts)[number];

/** What is kept of a failure in the journal and in the summary. */
export interface JobError {
  class: string;
  message: string;
  billed?: Certainty | undefined;
  /** What to type next, if a reply could not be written. */
  hint?: string | undefined;
}

/** What the journal keeps of the end of a job. */
export interface JobEnd {
  /** Both names, if another model answered than the requested one. */
  requestedModel?: string | undefined;
  model?: string | undefined;
  /** The service tier that answered, if it is not the usual one. */
  tier?: string | undefined;
  usage?: Usage | undefined;
  /** Absent if it is unknown. */
  cost?: Cost | undefined;
  /** How many other requests of the job may have been billed; absent for none. */
  doubtful?: number | undefined;
  /** A cache answered, or nothing was sent: there is no cost. */
  billed?: 'no' | undefined;
  /** Done, but the answer may not be whole. */
  incomplete?: true | undefined;
  error?: JobError | undefined;
}

/** How a job ended. `unsent`: it was not sent or not billed, so it counts as new. */
export type JobOutcome = { state: 'unsent'; quotaSpent?: GatewayError } | EndedJob;

/** A job that was sent, and has ended. */
export interface EndedJob extends JobEnd {
  state: 'done' | 'failed' | 'unknown';
  /** The document that --json prints of one command. */
  document: object;
  /** The gateway asked for a longer wait than the job may have. */
  longWait?: GatewayError | undefined;
  saveReply?: SaveReply | undefined;
}

/**
 * Saves a paid reply whose result cannot be written in a recovery file. Returns the failure, whose hint names the file, and the
 * file's path, if it could be written.
 */
export type SaveReply = (failure: unknown) => Promise<{ failure: unknown; path?: string | undefined }>;

/** One of several machines, from 1. */
export interface Shard {
  index: number;
  total: number;
}

/** Values of which each row of a table gets every combination, by the keys of jobs. */
export type Vary = Readonly<Record<string, readonly JsonValue[]>>;

/** A job as the journal names it. */
export interface JournalEntry {
  job: Pick<Job, 'id'>;
  slot: number;
  bound?: Bound | undefined;
}

/** A job with the request that is sent for it. To be closed. */
export interface PreparedJob extends RowKey {
  settings: Settings;
  request: PreparedRequest;
  /** As `digestSource` gives it; absent if the request has more in it: files, URLs or results of other jobs. */
  from?: string | undefined;
  /** What it can cost, if its model has a price. */
  bound: Bound | undefined;
  /** What a further request can cost, whose body goes on with the answer. */
  boundOf?: ((body: Body) => Bound | undefined) | undefined;
  /** The cost of an answer, if that is known. */
  costOf?: ((answer: MeteredAnswer) => Cost | undefined) | undefined;
  /** In place of the usual waits between attempts. */
  retries: Partial<RetryPolicy>;
  /** It goes in a lane that is often full: its attempts are not counted against those that all jobs have together. */
  isFlex: boolean;
  /** Builds the request again with the files of its URLs, if it has any: they are fetched right before the job is sent. */
  fetchInputs: ((deadline: Deadline) => Promise<PreparedRequest>) | undefined;
  output: JobOutput;
  close(): Promise<void>;
}

/** What is made of the reply of one job: its files, and its line in the results. */
export interface JobOutput {
  /** Takes the bytes of files while the reply is read. */
  readonly store: BlobStore;
  /** At most this many images are written. */
  readonly mostImages: number;
  /** Checks, before anything is paid for, that images can be written. Throws GatewayError not-written. */
  prepare(): Promise<void>;
  /** Publishes the files of a reply, and holds it against what is wanted of it. Never throws. */
  finish(reply: JobReply, bounds: { endOf: CheckEnd; signal: AbortSignal }): Promise<FinishedReply>;
}

/** What came of the request of a job. */
export interface JobReply extends Asked {
  /** The slot that it answers, and which of its answers it is. */
  asked: string;
  /** What its answer cost, and what is told of that. */
  counted: { spent: Spent; warnings: readonly string[] };
}

/** What was made of the reply of a job. */
export interface FinishedReply {
  /** Why it is not what was asked for, or could not be written; undefined if it is. */
  failure: unknown;
  /** Files of it could not be written. */
  hasLost: boolean;
  /** Keeps what could not be written in a recovery file. Returns the failure, whose hint names the file. */
  keep(failure: unknown): Promise<GatewayError>;
  /** The document that --json prints of one command. */
  document(end: { error: GatewayError | undefined; durationMs: number }): object;
  /** Keeps a whole result that cannot be written in a recovery file. */
  keepResult(failure: unknown, document: object): ReturnType<SaveReply>;
}

/** A job that is ready to be sent. */
export interface ReadyJob extends JournalEntry {
  job: Job;
  prepared: PreparedJob;
  /** The name of its slot, and which of its answers is to come. */
  asked: string;
}

/** Numbers of jobs by state. `pending` is what has not been sent yet. */
export interface Counts {
  jobs: number;
  done: number;
  /** Among those that are done: their answers may not be whole. */
  incomplete: number;
  failed: number;
  unknown: number;
  pending: number;
  /** Jobs that a batch of the service holds, if there are any. */
  submitted?: number;
  /** Among those that are pending: the jobs whose results they use are not done. Only a run knows. */
  waiting?: number;
  /** Answers that are to be made again, and count until then, if there are any. */
  again?: number;
}

/** Called at each step of a job; tests end the process there. */
export type Step = (
  name:
    | 'table-written'
    | 'taken'
    | 'ready-written'
    | 'ready-synced'
    | 'sent-written'
    | 'answered'
    | 'result-written'
    | 'result-synced'
    | 'ended-written'
    | 'ended-synced'
    | `part-${'planned' | 'uploaded' | 'creating' | 'sent' | 'answered' | 'created' | 'polled' | 'downloaded' | 'ended'}`,
  id: string,
) => void;

/** The files of a batch's folder. */
export const batchFiles = {
  manifest: 'jobs.jsonl',
  journal: 'journal.jsonl',
  results: 'results.jsonl',
  summary: 'summary.json',
  lock: 'lock.json',
  images: 'images',
  gallery: 'index.html',
} as const;

/** Reachable from tests only. */
export interface BatchHooks {
  step?: Step | undefined;
  /** Instead of the ten seconds that jobs in flight have after a signal. */
  graceMs?: number | undefined;
  /** Told of each write to the two files that a run appends to, and of each sync. */
  watch?: ((file: 'journal' | 'results', ...what: Parameters<FileWatch>) => void) | undefined;
  /** Instead of the 50 ms for which the end of a job waits for others that share its sync. */
  gatherMs?: number | undefined;
  /** Instead of connections of its own. */
  connection?: Connection | undefined;
  /** Instead of the minute after which another machine may take over. */
  lock?: LockTimes | undefined;
  /** Instead of the two minutes for which a run looks for a batch that the service does not list. */
  unlistedMs?: number | undefined;
}

/** What a run has around it. */
export interface BatchHost {
  readonly signal: AbortSignal;
  /** Wall clock, ms since 1970. */
  now(): number;
  /** Monotonic clock in ms, for waits and durations. */
  elapsed(): number;
  readonly redaction: Redaction;
  /** What a person types to go on, to send again what the words of `--retry` name, or to make rows again. */
  nextCommand(name: 'again' | 'retry' | 'redo', words?: string): string;
  /** The command that was typed, with more flags. */
  repeatCommand(more: string): string;
  /** Awaited where a run can wait. */
  on(event: BatchEvent): Promise<void>;
  /** Registers a cleanup for the end of the run. The last one runs first. */
  atEnd(cleanup: () => Promise<void>): void;
}

/** What is sent again: failed jobs, those that may have been billed, and those whose answers a limit cut. */
export const retryWords = ['failed', 'unknown', 'incomplete'] as const;
export type RetryWord = (typeof retryWords)[number];

/** Which jobs a run sends, how fast, and when it takes no more. */
export interface BatchPolicy {
  /** Which jobs are sent again though they were sent before. */
  retry?: readonly RetryWord[] | undefined;
  acceptChanges?: boolean | undefined;
  /** At most this many jobs are sent. */
  limit?: number | undefined;
  /** No job is taken after this many failures, and costs of all runs. */
  maxFailures?: number | undefined;
  maxCost?: string | undefined;
  /** How many requests one answer may take, where the service ends it in the middle. */
  maxTurns?: number | undefined;
  /** ms between two requests, and the file that shares them with other processes. */
  everyMs?: number | undefined;
  rateFile?: string | undefined;
  /** False: results that the service makes later are not waited for. */
  waits?: boolean | undefined;
  /** Recordings may answer: what they do not have reserves its cost only when it is sent. */
  hasRecordings?: boolean | undefined;
  /** What the journal says of the run. */
  tags?: Readonly<Record<string, string>> | undefined;
  vary?: Vary | undefined;
  /** What parts the cells of its table, if that is no comma. */
  delimiter?: string | undefined;
  /** The command of the run, for the next ones in its folder. */
  command?: KeptCommand | undefined;
}

/** A command as the manifest keeps it: what was typed for each flag, with paths that begin at the folder. */
export interface KeptCommand {
  profile?: string | undefined;
  flags: Readonly<Record<string, string | readonly string[] | boolean>>;
}

/** The jobs of a batch. They can be run through as often as needed, and are always the same. */
export interface BatchJobs {
  /** As the user named their file. */
  readonly name: string;
  /** The jobs in their order. The error of a line that is not a job goes to `onFault`, and the line is left out. */
  read(onFault: (error: unknown) => void): AsyncGenerator<Job, void>;
  settingsOf(job: Job): Settings | Promise<Settings>;
  /**
   * The digest of what the request of a job is built from, if that is its line and the settings alone. To build the request takes
   * twenty times as long.
   */
  digestSource(job: Job, settings: Settings): string;
  /** Builds the request of a job. Throws GatewayError usage with the job's place. */
  prepare(job: Job): Promise<PreparedJob>;
  /** What reads the answer of a slot that no row has any more: of its request, only the provider batch is known. */
  prepareGone(id: string, batch: { profile: string; model: string }): Promise<PreparedJob>;
  /** The document of a job of which nothing came. */
  describeLost(error: GatewayError): object;
  productOf(job: Job): JobProduct;
  /** Throws GatewayError usage, with `place`, for what another job does not make. */
  requireUsable(use: JobUse, product: JobProduct, place: string): void;
}

/** Everything that a run works with, once its jobs are checked. */
export interface Batch {
  host: BatchHost;
  policy: BatchPolicy;
  jobs: BatchJobs;
  outdir: string;
  lock: FolderLock;
  shard: Shard | undefined;
  state: BatchState;
  lostEnds: readonly SlotRecord[];
  plan: BatchPlan;
}
