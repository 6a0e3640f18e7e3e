import type { Certainty, GatewayError } from '../errors.ts';
import type { Bound, Cost } from '../cost/types.ts';
import type { PartRecord } from './lane/types.ts';
import type { Usage } from '../formats/events.ts';

/** The commands that a job can name. */
export const jobCommands = ['text', 'image gen', 'image edit', 'chat'] as const;
export type JobCommand = (typeof jobCommands)[number];

/** One line of a job file, checked. */
export interface Job {
  /** Unique in its file; the line's number where the line has none. */
  id: string;
  /** From 1. */
  line: number;
  command: JobCommand;
  /** Name of its pictures under images/, without extension. */
  name: string | undefined;
  /** The flags of its command by their camel-case names, as the command itself would get them. */
  values: Readonly<Record<string, unknown>>;
}

/** The state of a job. `sent`: it was sent, and its end is unknown; it may have been billed. */
export const jobStates = ['new', 'sent', 'done', 'failed', 'unknown'] as const;
export type JobState = (typeof jobStates)[number];

/** What is kept of a failure in the journal and in the summary. */
export interface JobError {
  class: string;
  message: string;
  billed?: Certainty | undefined;
  /** What to type next, where a reply could not be written. */
  hint?: string | undefined;
}

/** How a job ended. `unsent`: nothing was sent, or nothing of it was billed, so it is as new. */
export type JobOutcome =
  | { state: 'unsent'; quotaSpent?: GatewayError }
  | {
      state: 'done' | 'failed' | 'unknown';
      /** The document that --json prints of one command. */
      document: object;
      /** Both names, if another model answered than the requested one. */
      requestedModel?: string | undefined;
      model?: string | undefined;
      /** The service tier that answered, if it is not the usual one. */
      tier?: string | undefined;
      usage?: Usage | undefined;
      /** Absent if it is unknown. */
      cost?: Cost | undefined;
      /** A cache answered: there is no cost. */
      billed?: 'no' | undefined;
      error?: JobError | undefined;
      /** Done, but the answer may not be whole. */
      incomplete?: true | undefined;
      /** The gateway asked for a longer wait than the job may have. */
      longWait?: GatewayError | undefined;
      saveReply?: SaveReply | undefined;
    };

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

/** The first record of every run in a journal: what the folder belongs to. */
export interface RunRecord {
  type: 'run';
  schema: 'gateway-cli/journal@1';
  tool: string;
  /** Scheme and host of the gateway, or `offline`. */
  origin: string;
  shard?: Shard | undefined;
  /** Jobs of this shard, and of the whole file. */
  jobs: number;
  total: number;
  /** A sum over the ids of the whole file, whatever their order. */
  list: string;
  /** The boot of the machine: while it lasts, no line is lost that was not synced. Absent if the system does not report it. */
  boot?: string | undefined;
  /** Size of results.jsonl when the run began, in bytes: its own lines are after that. */
  results?: number | undefined;
  /** `--max-tokens-total`: the tokens of all runs that this one stops at. */
  maxTokens?: number | undefined;
  /** `--max-cost`: the amount that all runs together may not pass. */
  maxCost?: string | undefined;
  /** `--tag`. */
  tags?: Readonly<Record<string, string>> | undefined;
  /** Wall clock, ms since 1970; for people only. */
  at: number;
}

/** A record of one job. The last one of an id counts. `ready`: it is about to be sent, and changes nothing by itself. */
export interface JobRecord {
  type: 'ready' | 'sent' | 'unsent' | 'done' | 'failed' | 'unknown';
  id: string;
  /** Hash of the canonical request: 16 hex digits. */
  request: string;
  /** The job's line in its file when it was sent, from 1. */
  line?: number | undefined;
  at: number;
  /** Of `ready`: the mark of the part that it goes out with; `lane/types.ts` has its records. Of an end: if its part has a budget. */
  part?: string | undefined;
  /** Of `ready`, `sent` and an end of unknown cost: what it can cost, where its model has a price. */
  bound?: Bound | undefined;
  requestedModel?: string | undefined;
  model?: string | undefined;
  tier?: string | undefined;
  usage?: Usage | undefined;
  cost?: Cost | undefined;
  billed?: 'no' | undefined;
  /** Of `done`: the answer may not be whole. */
  incomplete?: true | undefined;
  error?: JobError | undefined;
}

export type JournalRecord = RunRecord | JobRecord | PartRecord;

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
}

/** Called at each step of a job; tests end the process there. */
export type Step = (
  name:
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
  journal: 'journal.jsonl',
  results: 'results.jsonl',
  summary: 'summary.json',
  lock: 'lock.json',
  images: 'images',
  gallery: 'index.html',
} as const;
