import type {
  Asked,
  AuthForm,
  BlobStore,
  Body,
  Bound,
  Certainty,
  CheckEnd,
  Connection,
  Cost,
  Deadline,
  FileWatch,
  GatewayError,
  JsonValue,
  LockTimes,
  MeteredAnswer,
  PreparedRequest,
  Pricing,
  RetryPolicy,
  ServiceName,
  Spent,
  Usage,
} from '../library/index.ts';
import type { FolderLock } from './folder/lock.ts';
import type { BatchState } from './folder/state.ts';
import type { BatchEvent } from './events.ts';
import type { SlotRecord } from './folder/records.ts';
import type { RowKey } from './key.ts';
import type { BatchPlan } from './run/plan.ts';

/** The commands that a job can name. */
export const jobCommands = ['text', 'image gen', 'image edit', 'chat'] as const;
export type JobCommand = (typeof jobCommands)[number];

/** A job: one checked line of a job file, or one of the jobs that the line makes. */
export interface Job {
  /** The id, unique in its file; the number of the line if the line has none. */
  id: string;
  /** The id of its line, if the line makes several jobs by its `count` or `--vary`. */
  lineId?: string;
  /** The id is the job's number in the file: it tells nothing once jobs before it come or go. */
  isNumbered?: boolean;
  /** The other jobs whose answers the job uses, if any. */
  uses?: readonly JobUse[];
  /** The jobs of `uses`, once all jobs are known. */
  parents?: readonly AnsweredParent[];
  /** The number of the line, from 1. */
  line: number;
  /** The words for its place in the file, where the line does not tell it: rows of a JSON array can share one. */
  place?: string | undefined;
  /** The number of the job's row among the rows of its file, from 1: that of its line in a file of jobs. */
  number: number;
  command: JobCommand;
  /** Name of the job's images under images/, without extension. */
  name: string | undefined;
  /** The values that the request of the job is built from. */
  values: Readonly<Record<string, unknown>>;
}

/** A use of another job: the name for it, and whether its text, its picture, or both are used. */
export interface JobUse {
  name: string;
  text: boolean;
  picture: boolean;
}

/** A use with the job that it means: the id of that job, and its place in the file, from 0. */
export interface JobParent extends JobUse {
  id: string;
  place: number;
}

/** A job that another one uses, and the slot that has its answer. */
export interface AnsweredParent extends JobParent {
  slot: number;
}

/** The kinds of answers of jobs, as far as a kind is known before the answer. */
export const jobProducts = ['text', 'pictures', 'any'] as const;
export type JobProduct = (typeof jobProducts)[number];

/** The facts of a failure that the journal and the summary keep. */
export interface JobError {
  class: string;
  message: string;
  billed?: Certainty | undefined;
  /** The command to type next, if a reply could not be written. */
  hint?: string | undefined;
}

/** The facts of the end of a job that the journal keeps. */
export interface JobEnd {
  /** Both names, if another model answered than the requested one. */
  requestedModel?: string | undefined;
  model?: string | undefined;
  /** The service tier that answered, if it is not the usual one. */
  tier?: string | undefined;
  usage?: Usage | undefined;
  /** Absent if the cost is unknown. */
  cost?: Cost | undefined;
  /** The number of other requests of the job that may have been billed; absent for none. */
  doubtful?: number | undefined;
  /** A cache answered, or nothing was sent: there is no cost. */
  billed?: 'no' | undefined;
  /** The job is done, but its answer may not be whole. */
  incomplete?: true | undefined;
  error?: JobError | undefined;
}

/** The end of a job. `unsent`: the job was not sent or not billed, so it counts as new. */
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
 * path of the file, if it could be written.
 */
type SaveReply = (failure: unknown) => Promise<{ failure: unknown; path?: string | undefined }>;

/** One of several machines that share a batch, from 1. */
export interface Shard {
  index: number;
  total: number;
}

/** The values that vary, by the keys of jobs: each row of a table gets every combination. */
export type Vary = Readonly<Record<string, readonly JsonValue[]>>;

/** A job as the journal names it. */
export interface JournalEntry {
  job: Pick<Job, 'id'>;
  slot: number;
  bound?: Bound | undefined;
}

/** The settings of a job that the engine reads. */
export interface GatewaySettings extends Pricing {
  profile: string | undefined;
  service: ServiceName;
  /** Absent when offline. */
  baseUrl: string | undefined;
  offline: boolean;
  model: string;
  lane: string;
  effort?: string | undefined;
  auth: AuthForm;
  timeoutMs: number;
  origins: { timeoutMs: { kind: string } };
}

/** A job with the request that is sent for it. To be closed. */
export interface PreparedJob extends RowKey {
  settings: GatewaySettings;
  request: PreparedRequest;
  /** The request has parts that `digestSource` does not know: files, URLs or results of other jobs. */
  hasOtherParts: boolean;
  /** The bound of the cost of the request, if its model has a price. */
  bound: Bound | undefined;
  /** Returns the bound of the cost of a further request, whose body goes on with the answer. */
  boundOf?: ((body: Body) => Bound | undefined) | undefined;
  /** The cost of an answer, if that is known. */
  costOf?: ((answer: MeteredAnswer) => Cost | undefined) | undefined;
  /** Changes of the usual waits between attempts. */
  retries: Partial<RetryPolicy>;
  /** The job goes in a lane that is often full: its attempts are not counted against the budget of retries of all jobs. */
  isFlex: boolean;
  /** Builds the request again with the files of its URLs, if it has any: they are fetched right before the job is sent. */
  fetchInputs: ((deadline: Deadline) => Promise<PreparedRequest>) | undefined;
  output: JobOutput;
  close(): Promise<void>;
}

/** A job whose answer the service has: without its request if no row asks that any more. To be closed. */
export type CollectedJob = Pick<PreparedJob, 'settings' | 'output' | 'close'> & { request?: PreparedRequest };

/** The output of one job: it makes the files of the reply, and the line in the results. */
export interface JobOutput {
  /** Takes the bytes of files while the reply is read. */
  readonly store: BlobStore;
  /** At most this many images are written. */
  readonly mostImages: number;
  /** Checks, before anything is paid for, that images can be written. Throws GatewayError not-written. */
  prepare(): Promise<void>;
  /** Publishes the files of a reply, and checks the reply against the request. Never throws. */
  finish(reply: JobReply, bounds: { endOf: CheckEnd; signal: AbortSignal }): Promise<FinishedReply>;
}

/** The reply to the request of a job. */
export interface JobReply extends Asked {
  /** The slot that the reply answers, and the number of the answer there. */
  answerName: string;
  /** The cost of the answer, and the warnings about that cost. */
  counted: { spent: Spent; warnings: readonly string[] };
}

/** The published reply of a job. */
export interface FinishedReply {
  /** The reason why the reply is not as requested, or could not be written; undefined if there is none. */
  failure: unknown;
  /** Some files of the reply could not be written. */
  hasLost: boolean;
  /** Keeps the unwritten parts of the reply in a recovery file. Returns the failure, whose hint names the file. */
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
  /** The name of its slot, and the number of the answer that is to come. */
  answerName: string;
}

/** Numbers of jobs by state. `pending`: jobs that have not been sent yet. */
export interface Counts {
  jobs: number;
  done: number;
  /** The number of done jobs whose answers may not be whole. */
  incomplete: number;
  failed: number;
  unknown: number;
  /** The number of unknown jobs that have earlier answers, if there are any. */
  answered?: number;
  pending: number;
  /** The number of jobs in provider batches, if there are any. */
  submitted?: number;
  /** The number of pending jobs that use results of jobs which are not done, if there are any. */
  waiting?: number;
  /** The number of pending jobs that were edited after they had been answered, and left by a run that sent only what was named, if there are any. */
  edited?: number;
  /** The number of done jobs that are to be made again, and whose answers count until then, if there are any. */
  again?: number;
  /** The number of other done jobs whose last request failed, and whose earlier answers count, if there are any. */
  tried?: number;
  /** The number of done jobs whose answers were made of earlier answers of other jobs, if there are any. */
  outdated?: number;
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

/** Hooks for tests; no flag reaches them. */
export interface BatchHooks {
  step?: Step | undefined;
  /** The time that jobs in flight have after a signal, in place of the ten seconds. */
  graceMs?: number | undefined;
  /** Called at each write to the two files that a run appends to, and at each sync. */
  watch?: ((file: 'journal' | 'results', ...what: Parameters<FileWatch>) => void) | undefined;
  /** The time for which the end of a job waits for others that share its sync, in place of the 50 ms. */
  gatherMs?: number | undefined;
  /** The connection, in place of connections that the run opens. */
  connection?: Connection | undefined;
  /** The times of the lock, in place of the minute after which another machine may take over. */
  lock?: LockTimes | undefined;
  /** The time for which a run looks for a batch that the service does not list, in place of the two minutes. */
  unlistedMs?: number | undefined;
}

/** The surroundings of a run: its signal, its clocks and its listener. */
export interface BatchHost {
  readonly signal: AbortSignal;
  /** Wall clock, ms since 1970. */
  now(): number;
  /** Monotonic clock in ms, for waits and durations. */
  elapsed(): number;
  /** Replaces secrets: in messages to people, and in every string of a value that is kept. */
  readonly redaction: { redact(text: string): string; clean<T>(value: T): T };
  /** Returns the command to type to go on, to send again the jobs that the words of `--retry` name, or to make rows again. */
  nextCommand(name: 'again' | 'retry' | 'redo', words?: { operand?: string; flags?: string }): string;
  /** Returns the command that was typed, with more flags. */
  repeatCommand(more: string): string;
  /** Returns the command that copies the folder to a free place beside it. */
  copyCommand(): Promise<string>;
  /** Tells of an event. Awaited wherever a run can wait. */
  on(event: BatchEvent): Promise<void>;
  /** Registers a cleanup for the end of the run. The last one runs first. */
  atEnd(cleanup: () => Promise<void>): void;
}

/** The kinds of jobs that can be sent again: failed jobs, jobs that may have been billed, and jobs whose answers a limit cut. */
export const retryWords = ['failed', 'unknown', 'incomplete'] as const;
export type RetryWord = (typeof retryWords)[number];

/** The policy of a run: the jobs that it sends, its rate, and its limits. */
export interface BatchPolicy {
  /** The jobs that are sent again though they were sent before. */
  retry?: readonly RetryWord[] | undefined;
  acceptChanges?: boolean | undefined;
  /** Only rows are sent that `--redo`, `--retry` or `--accept-changes` name: others without an answer stay as they are. */
  onlyNamed?: boolean | undefined;
  /** At most this many jobs are sent. */
  limit?: number | undefined;
  /** No job is taken after this many failures, or this amount of costs of all runs. */
  maxFailures?: number | undefined;
  maxCost?: string | undefined;
  /** The most requests that one answer may take, if the service ends it in the middle. */
  maxTurns?: number | undefined;
  /** The time between two requests in ms, and the file that shares the rate with other processes. */
  everyMs?: number | undefined;
  rateFile?: string | undefined;
  /** If false, the run does not wait for results that the service makes later. */
  waits?: boolean | undefined;
  /** Recordings may answer: the cost of a request is then reserved only when it is sent. */
  hasRecordings?: boolean | undefined;
  /** The tags of the run in the journal. */
  tags?: Readonly<Record<string, string>> | undefined;
  vary?: Vary | undefined;
  /** The command of the run, for the next ones in its folder. */
  command?: KeptCommand | undefined;
}

/** A command as the manifest keeps it: the typed words of each flag, with paths that begin at the folder. */
export interface KeptCommand {
  profile?: string | undefined;
  flags: Readonly<Record<string, string | readonly string[] | boolean>>;
}

/** The jobs of a batch. They can be read as often as needed, and are always the same. */
export interface BatchJobs {
  /** The name of their file, as the user gave it. */
  readonly name: string;
  /** Reads the jobs in their order. The error of a line that is not a job goes to `onFault`, and the line is left out. */
  read(onFault: (error: unknown) => void): AsyncGenerator<Job, void>;
  settingsOf(job: Job): GatewaySettings | Promise<GatewaySettings>;
  /**
   * The digest of the line and the settings of a job: its request is built from them, unless it has other parts. To build the request
   * takes twenty times as long.
   */
  digestSource(job: Job, settings: GatewaySettings): string;
  /** Builds the request of a job. Throws GatewayError usage with the job's place. */
  prepare(job: Job): Promise<PreparedJob>;
  /** Opens the output of an answer whose row is gone: of its request, only the provider batch is known. */
  openGone(id: string, batch: { profile: string; model: string }): Promise<CollectedJob>;
  /** The document of a job without a reply. */
  describeLost(error: GatewayError): object;
  productOf(job: Job): JobProduct;
  /** Throws GatewayError usage, with `place`, for a use of an answer that a job of this kind does not make. */
  requireUsable(use: JobUse, product: JobProduct, place: string): void;
}

/** The whole input of a run, once its jobs are checked. */
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
