import type { Bound } from '../../library/index.ts';
import type { ProviderBatchPlan } from '../lane/provider-batches.ts';
import type { JobEnd } from '../types.ts';
import type { Place } from './slots.ts';

/** The first record of each run: the facts of the whole run. */
export interface RunStart {
  t: 'run';
  schema: 'gateway-cli/batch@2';
  tool: string;
  /** The boot of the machine: while it lasts, no line is lost that was not synced. Absent if the system does not report it. */
  boot?: string | undefined;
  /** Size of results.jsonl when the run began, in bytes: another program may have made it shorter. */
  results?: number | undefined;
  /** The limit of the costs of all runs together. */
  maxCost?: string | undefined;
  /** The user's words for the costs of the run. */
  tags?: Readonly<Record<string, string>> | undefined;
  /** Wall clock, ms since 1970; for people only. */
  at: number;
}

/**
 * These slots are pending again. `rows`: the rows that `--redo` named, each by its id and what it asks. A later run that means the
 * same rows goes on with them; after an edit, the same id can be another row.
 */
export interface RedoRecord {
  t: 'redo';
  rows?: readonly string[] | undefined;
  slots: readonly string[];
}

/**
 * Another answer of a slot counts from here on, by its number from 1. Rows that use it have that number in their keys: rows that
 * were made of it have their answers again, and rows that were made of the other answer are outdated.
 */
export interface ChooseRecord {
  t: 'choose';
  slot: string;
  answer: number;
  /** The boot of the machine: nothing of the run before goes on, as after the record of a run. */
  boot?: RunStart['boot'];
}

/**
 * `ready`: the requests of these slots may go out now, and can cost `bounds`; synced before the first one goes. `unsent`: the
 * requests did not go out.
 */
export interface GroupRecord {
  t: 'ready' | 'unsent';
  slots: readonly string[];
  bounds?: readonly (Bound | null)[] | undefined;
  at?: number;
}

/** A request goes out now. The record is not synced. */
export interface SentRecord {
  t: 'sent';
  slot: string;
  id?: string | undefined;
  at?: number;
}

/**
 * What a slot of a row that uses others asks: `asks` is the key of its question, whatever answers the others have; `uses` are the answers
 * that its own is made of. Both follow from the slot, and are written once, before the slot is sent.
 */
export interface LinkRecord {
  t: 'link';
  slot: string;
  asks: string;
  uses: string;
}

/** The end of a slot, and the place of its line in results.jsonl. `unknown`: there is no answer, and the request may have been billed. */
export interface EndRecord extends JobEnd, Place {
  t: 'done' | 'incomplete' | 'failed' | 'unknown';
  slot: string;
  /** The bound of the cost of the slot, if the cost is unknown. */
  bound?: Bound | undefined;
  /** The pictures of its answer, by their files below images/. */
  images?: readonly string[] | undefined;
  at?: number;
}

/**
 * A step of a provider batch. `planned`: its slots are chosen. `creating`: from here on it may exist. `dropped`: it certainly does
 * not exist. `lost`: the service cannot say. `ended`: all of its results are recorded.
 */
export interface BatchStep {
  t: 'batch';
  mark: string;
  step: 'planned' | 'creating' | 'created' | 'dropped' | 'lost' | 'ended';
  /** Only in `planned`. */
  slots?: readonly string[] | undefined;
  ids?: readonly string[] | undefined;
  bounds?: readonly (Bound | null)[] | undefined;
  plan?: ProviderBatchPlan | undefined;
  /** Only in `created`: the id of the batch at the service, and how long the service works on it, in ms. */
  batch?: string | undefined;
  lastsMs?: number | undefined;
  at?: number;
}

/** A line of results.jsonl that is no result: it is read once. */
interface SkipRecord extends Place {
  t: 'skip';
}

/** The last record of a run that left nothing of `--redo` to make. */
interface RedoneRecord {
  t: 'end';
}

/** A line of journal.jsonl. */
export type SlotRecord =
  | RunStart
  | RedoRecord
  | ChooseRecord
  | GroupRecord
  | SentRecord
  | LinkRecord
  | EndRecord
  | SkipRecord
  | BatchStep
  | RedoneRecord;
