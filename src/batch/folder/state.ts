import {
  type JobState,
  jobStates,
  type RunRecord,
  type JobEnd,
  type JobError,
  type JobRecord,
  type Redo,
  type Vary,
} from '../types.ts';
import type { ProviderBatch } from '../lane/provider-batches.ts';
import type { Usage } from '../../formats/events.ts';
import { addSpending, addUnknown, heldFor } from '../../cost/cost.ts';
import type { Spending, Bound } from '../../cost/types.ts';
import { type Hash64, toHex } from '../digest.ts';
import { grown, IdTable } from './id-table.ts';

/**
 * `inFile`: the job file has this id. `toSend`: this run sends it. `reread`: its line was read a second time, to be sent.
 * `incomplete`: a limit cut its answer, or the reply does not say that it is whole; of jobs that are done. `atService`: a batch of
 * the service holds it; its state is the one before that. `removed`: the last run did not find it in its file any more. `asBuilt`: its
 * request and its variables are built from the same as before. `newBasis`: its request is the same as before, and the journal does
 * not say what it is built from.
 */
const flagBits = {
  inFile: 8,
  toSend: 16,
  reread: 32,
  incomplete: 64,
  atService: 128,
  removed: 256,
  asBuilt: 512,
  newBasis: 1024,
} as const;

type JobFlag = keyof typeof flagBits;

const stateBits = 7;

/** The rows that are remembered, and their columns as they were, once one of these has changed. */
interface RememberedRows {
  size: number;
  columns?: { digests: Uint32Array; bases: Uint32Array; places: Uint32Array };
}

/**
 * What is known about each job of a folder. A job has a row, in the order in which the ids came, and what is known about it is in columns:
 * for a million jobs, objects would take 85 MiB more.
 */
export class JobIndex {
  readonly #ids = new IdTable();
  /** Ids that jobs had before they got another one; results can have them still. */
  readonly #earlier = new Map<string, number>();
  /** The ids that these jobs had first, by row. */
  readonly #first = new Map<number, string>();
  /** Rows of those whose results may have another id than they have now. */
  readonly #renamed = new Set<number>();
  #flags = new Uint16Array(1024);
  #digests = new Uint32Array(2048);
  #bases = new Uint32Array(2048);
  #places = new Uint32Array(1024);
  #sequences = new Uint32Array(1024);
  #sequence = 0;
  #before: RememberedRows | undefined;

  /** Number of ids; rows are smaller than this. */
  get size(): number {
    return this.#ids.size;
  }

  /** In the order of their rows. */
  *ids(): Generator<string, void> {
    for (let row = 0; row < this.size; row++) yield this.#ids.get(row);
  }

  idOf(row: number): string {
    return this.#ids.get(row);
  }

  /** The row of the job that has this id now; or -1. */
  findNow(id: string): number {
    return this.#ids.find(id);
  }

  /** The row of an id, or of one that a job had before; or -1. */
  find(id: string): number {
    const row = this.#ids.find(id);
    return row < 0 && this.#earlier.size > 0 ? (this.#earlier.get(id) ?? -1) : row;
  }

  /** Gives a job another id, which no job has. */
  rename(row: number, id: string): void {
    this.#first.set(row, this.firstIdOf(row));
    this.#renamed.add(row);
    this.#earlier.set(this.#ids.get(row), row);
    this.#ids.replace(row, id);
  }

  /** Whether a job had another id before, which its result may have still. */
  isRenamed(row: number): boolean {
    return this.#renamed.has(row);
  }

  /** The id that the last result of a job has. */
  setResultId(row: number, id: string): void {
    if (!this.#first.has(row)) return;
    if (id === this.idOf(row)) this.#renamed.delete(row);
    else this.#renamed.add(row);
  }

  /** The id that a job had first. */
  firstIdOf(row: number): string {
    return this.#first.get(row) ?? this.idOf(row);
  }

  /** All as it is now; `restore` makes it so again, without the ids that came since. What seldom changes is copied when it does. */
  remember() {
    const { size } = this;
    const flags = this.#flags.slice(0, size);
    const before: RememberedRows = { size };
    this.#before = before;
    return {
      size,
      digestOf: (row: number): string => toHex(getHash(before.columns?.digests ?? this.#digests, row)),
      placeOf: (row: number): number => (before.columns?.places ?? this.#places)[row] ?? 0,
      restore: (): void => {
        this.#ids.cut(size);
        this.#flags.fill(0).set(flags);
        const { digests, bases, places } = before.columns ?? this.#copyColumns(size);
        this.#digests.fill(0).set(digests);
        this.#bases.fill(0).set(bases);
        this.#places.fill(0).set(places);
      },
    };
  }

  #copyColumns(size: number) {
    const digests = this.#digests.slice(0, 2 * size);
    return { digests, bases: this.#bases.slice(0, 2 * size), places: this.#places.slice(0, size) };
  }

  #keepBefore(row: number): void {
    if (this.#before && row < this.#before.size) this.#before.columns ??= this.#copyColumns(this.#before.size);
  }

  /** The row of an id; a new one is in state `new`. */
  add(id: string): number {
    const known = this.#ids.find(id);
    if (known >= 0) return known;
    const row = this.#ids.add(id);
    if (row === this.#flags.length) {
      this.#flags = grown(this.#flags, new Uint16Array(row * 2));
      this.#digests = grown(this.#digests, new Uint32Array(row * 4));
      this.#bases = grown(this.#bases, new Uint32Array(row * 4));
      this.#places = grown(this.#places, new Uint32Array(row * 2));
      this.#sequences = grown(this.#sequences, new Uint32Array(row * 2));
    }
    return row;
  }

  stateOf(row: number): JobState {
    return jobStates[this.#flagsOf(row) & stateBits] as JobState;
  }

  setState(row: number, state: JobState): void {
    this.#flags[row] = (this.#flagsOf(row) & ~stateBits) | jobStates.indexOf(state);
  }

  has(row: number, flag: JobFlag): boolean {
    return (this.#flagsOf(row) & flagBits[flag]) !== 0;
  }

  setFlag(row: number, flag: JobFlag, on = true): void {
    this.#flags[row] = on ? this.#flagsOf(row) | flagBits[flag] : this.#flagsOf(row) & ~flagBits[flag];
  }

  /** The digest of the job's request; all zero if it is not known. */
  digestOf(row: number): string {
    return toHex(getHash(this.#digests, row));
  }

  hasDigest(row: number, digest: string): boolean {
    return isSameHash(getHash(this.#digests, row), parseHash(digest));
  }

  /** What another request was built from is not known. */
  setDigest(row: number, digest: string): void {
    const hash = parseHash(digest);
    if (isSameHash(getHash(this.#digests, row), hash)) return;
    this.#keepBefore(row);
    setHash(this.#digests, row, hash);
    setHash(this.#bases, row, unknownHash);
  }

  /** The digest of what the job's request was built from, if that is known, and was its line and the settings alone. */
  basisOf(row: number): string | undefined {
    const basis = getHash(this.#bases, row);
    return isSameHash(basis, unknownHash) ? undefined : toHex(basis);
  }

  setBasis(row: number, basis = ''): void {
    const hash = parseHash(basis);
    if (isSameHash(getHash(this.#bases, row), hash)) return;
    this.#keepBefore(row);
    setHash(this.#bases, row, hash);
  }

  hasBasis(row: number, basis: string): boolean {
    const known = getHash(this.#bases, row);
    return !isSameHash(known, unknownHash) && isSameHash(known, parseHash(basis));
  }

  /** The place of the job in its file, for the order of results; 0 if it is not known. */
  placeOf(row: number): number {
    return this.#places[row] ?? 0;
  }

  /** Which of all that was sent and answered came last for a job: a number that grows; 0 if nothing did. */
  sequenceOf(row: number): number {
    return this.#sequences[row] ?? 0;
  }

  /** Something was sent or answered for a job now; or what was came to nothing, and `sequence` is as before. */
  setSequence(row: number, sequence = ++this.#sequence): void {
    this.#sequences[row] = sequence;
  }

  setPlace(row: number, place: number): void {
    if (this.#places[row] === place) return;
    this.#keepBefore(row);
    this.#places[row] = place;
  }

  #flagsOf(row: number): number {
    return this.#flags[row] ?? 0;
  }
}

const unknownHash: Hash64 = { high: 0, low: 0 };

/** Only 16 lower-case hex digits are known. A regular expression takes as long as to parse the record that they are in. */
function parseHash(hex: string): Hash64 {
  if (hex.length !== 16) return unknownHash;
  const high = readHalf(hex, 0);
  const low = readHalf(hex, 8);
  return high < 0 || low < 0 ? unknownHash : { high, low };
}

/** Eight of its digits; negative if one is none. */
function readHalf(hex: string, from: number): number {
  let half = 0;
  for (let at = from; at < from + 8; at++) {
    const code = hex.charCodeAt(at);
    const isNumber = code >= 0x30 && code <= 0x39;
    if (!isNumber && (code < 0x61 || code > 0x66)) return -1;
    half = (half << 4) | (code - (isNumber ? 0x30 : 0x57));
  }
  return half >>> 0;
}

function getHash(column: Uint32Array, row: number): Hash64 {
  return { high: column[2 * row] ?? 0, low: column[2 * row + 1] ?? 0 };
}

function setHash(column: Uint32Array, row: number, { high, low }: Hash64): void {
  column[2 * row] = high;
  column[2 * row + 1] = low;
}

function isSameHash(a: Hash64, b: Hash64): boolean {
  return a.high === b.high && a.low === b.low;
}

/** Adds token counts to a sum; a count that neither of the two has stays unknown. */
export function addUsage(sum: Usage, more: Usage = {}): Usage {
  const counts = sum as Record<string, number>;
  const isTotalOfOne = (sum.totalTokens === undefined) !== (more.totalTokens === undefined);
  const total = totalTokens(sum) + totalTokens(more);
  for (const name in more) {
    const count: unknown = more[name as keyof Usage];
    if (typeof count === 'number' && Number.isFinite(count)) counts[name] = (counts[name] ?? 0) + count;
  }
  if (isTotalOfOne && Number.isFinite(total)) sum.totalTokens = total;
  return sum;
}

/** All tokens of a usage: what the gateway calls the total, else in and out together. */
export function totalTokens({ totalTokens: total, inputTokens = 0, outputTokens = 0 }: Usage): number {
  return total ?? inputTokens + outputTokens;
}

/** Whether a limit of tokens is reached: no job is taken then. */
export function isTokenLimitReached(usage: Usage, limit: number | undefined): boolean {
  return limit !== undefined && totalTokens(usage) >= limit;
}

/** What is known about a batch: read from its journal, and kept up to date by a run. */
export interface BatchState {
  index: JobIndex;
  /** The record of the last run; undefined for an empty journal. */
  run: RunRecord | undefined;
  /** All that runs varied the rows of the table by, each by its JSON. */
  varied: Map<string, Vary>;
  /** Wall clock of the first run, ms since 1970; undefined for an empty journal. */
  beganAt: number | undefined;
  /** The sum of all runs. */
  usage: Usage;
  spending: Spending;
  /** What jobs without an end count with against a limit of costs, by id. */
  held: Map<string, string>;
  /** When they were sent last, ms since 1970, by id. */
  sentAt: Map<string, number>;
  /** Answers of jobs that are sent again: each stays until another one is there. By row, what they answer, and when they came among all. */
  earlier: Map<number, { digest: string; sequence: number }>;
  /** How many jobs of the file, as the last run read it, have the answer to an earlier version of them. */
  edited: number;
  /** The last jobs that were to be made again: as the user named them, and by id how each ended since; undefined while it has not. */
  redo: { named: string | undefined; ends: Map<string, JobState | undefined> } | undefined;
  /** Provider batches that the service may hold, by their marks. */
  providerBatches: Map<string, ProviderBatch>;
  /** The newest error of jobs that failed or are unknown, by id; `maxFailures` of them. */
  failures: Map<string, JobError>;
  /** Wall clock of the last record, ms since 1970. */
  lastAt: number;
  /** The numbers that jobs have in the file, by their rows, where they moved: their ids are those that they had first. */
  numbers: Map<number, number>;
  /** Ids by the place of the job in its file, where they are not those that it has there; of a run. */
  knownIds?: ReadonlyMap<number, string> | undefined;
  /** The last line has no end: a crash cut it, and it is ignored. */
  torn: boolean;
  /** The time of all runs added up, each from its first record to its last. */
  durationMs: number;
}

/** Whether a job was sent, or is at the service, and has no end. */
export function isOpen(row: number, { index }: Pick<BatchState, 'index'>): boolean {
  return index.stateOf(row) === 'sent' || index.has(row, 'atService');
}

export function hasOpenJobs(state: Pick<BatchState, 'index'>): boolean {
  for (let row = 0; row < state.index.size; row++) if (isOpen(row, state)) return true;
  return false;
}

/** Why jobs failed or are unknown, but for those that a batch of the service has by now. */
export function listFailures({ failures, index }: Pick<BatchState, 'failures' | 'index'>): Map<string, JobError> {
  return new Map([...failures].filter(([id]) => !index.has(index.find(id), 'atService')));
}

/** Gives a job another id, which no job has. */
export function renameJob({ id, to }: { id: string; to: string }, state: BatchState): void {
  const { index, failures, held, sentAt, redo } = state;
  index.rename(index.find(id), to);
  for (const byId of [failures, held, sentAt, redo?.ends ?? new Map()] as Map<string, unknown>[]) {
    if (byId.has(id)) byId.set(to, byId.get(id));
    byId.delete(id);
  }
}

/** Notes what a run is to make again. These jobs replace those of earlier runs, unless it goes on with them. */
export function beginRedo(redo: Redo | undefined, state: Pick<BatchState, 'redo'>): void {
  if (redo === undefined) return;
  const ends = (redo.goesOn && state.redo?.ends) || new Map<string, JobState | undefined>();
  for (const id of redo.ids) ends.set(id, undefined);
  state.redo = { named: redo.named, ends };
}

/** The jobs that are still to be made again. */
export interface RedoLeft {
  /** How many there were, with those that are made by now. */
  of: number;
  /** Their ids: those that were not sent for it, or failed, and those that were sent and may have been billed. */
  open: string[];
  unsure: string[];
}

/** What is left to be made again, but for what a batch of the service holds; undefined if nothing is. */
export function findRedoLeft(state: Pick<BatchState, 'index' | 'redo'>): RedoLeft | undefined {
  const { index, redo } = state;
  const left: RedoLeft = { of: redo?.ends.size ?? 0, open: [], unsure: [] };
  for (const [id, end] of redo?.ends ?? []) {
    const row = index.find(id);
    if (end === 'done' || row < 0 || index.has(row, 'removed') || index.has(row, 'atService')) continue;
    (isUnsure(id, state) ? left.unsure : left.open).push(id);
  }
  return left.open.length + left.unsure.length > 0 ? left : undefined;
}

/** Whether a job that was to be made again was sent, and has no answer to that. */
export function isUnsure(id: string, { index, redo }: Pick<BatchState, 'index' | 'redo'>): boolean {
  return redo?.ends.get(id) === 'unknown' || ['sent', 'unknown'].includes(index.stateOf(index.find(id)));
}

/** A job that has an answer is about to be sent again. */
export function keepEarlier(row: number, { index, earlier }: Pick<BatchState, 'index' | 'earlier'>): void {
  if (row >= 0 && index.stateOf(row) === 'done')
    earlier.set(row, { digest: index.digestOf(row), sequence: index.sequenceOf(row) });
}

/** Marks the jobs that are not in their file any more. Their failures are not told. */
export function markRemoved({ index, failures }: Pick<BatchState, 'index' | 'failures'>, ids: readonly string[]): void {
  for (const id of ids) {
    index.setFlag(index.find(id), 'removed');
    failures.delete(id);
  }
}

/** At most this many failures are kept in memory; results.jsonl has them all. */
export const maxFailures = 1000;

/** The error of a job that was sent and has no end in the journal. */
export const unanswered: JobError = {
  class: 'no-reply',
  message: 'its run ended before an answer was written down',
  billed: 'unknown',
};

/** Applies the end of a job to what is known about it, and to all but the costs. */
export function applyEnd(
  row: number,
  state: 'done' | 'failed' | 'unknown',
  { id, usage, error, incomplete }: JobEnd & { id: string },
  batch: Pick<BatchState, 'index' | 'usage' | 'failures' | 'redo'>,
): void {
  batch.index.setState(row, state);
  if (batch.redo?.ends.has(id)) batch.redo.ends.set(id, state);
  batch.index.setSequence(row);
  batch.index.setFlag(row, 'incomplete', incomplete === true);
  addUsage(batch.usage, usage);
  if (state === 'done') batch.failures.delete(id);
  else keepFailure(batch.failures, id, error ?? { class: 'unknown', message: 'no error is known' });
}

/** Keeps the newest error of a job, if there is room. */
export function keepFailure(failures: Map<string, JobError>, id: string, error: JobError): void {
  if (failures.size < maxFailures || failures.has(id)) failures.set(id, error);
}

/** Adds the cost of a job that has ended, or counts it among those of unknown cost where it may have been billed. */
export function countCost(
  end: Pick<JobRecord, 'type' | 'cost' | 'billed' | 'error'>,
  state: Pick<BatchState, 'spending'>,
  bound?: Bound,
): void {
  const hasEnded = end.type === 'done' || end.type === 'failed' || end.type === 'unknown';
  if (end.cost !== undefined) state.spending = addSpending(state.spending, end.cost);
  else if (hasEnded && mayHaveCost(end)) countUnknown(state, bound);
}

/** Whether a job that ended so cost something, or may have. */
export function mayHaveCost({ cost, billed, error }: Pick<JobRecord, 'cost' | 'billed' | 'error'>): boolean {
  return cost !== undefined || (billed ?? error?.billed) !== 'no';
}

/** Returns what it counts with against a limit. */
export function countUnknown(state: Pick<BatchState, 'spending'>, bound: Bound | undefined): string {
  if (bound === undefined && state.spending.dearest === '0') {
    // A million jobs without a price need no decimal arithmetic.
    state.spending.unknown++;
    return '0';
  }
  const held = heldFor(bound, state.spending.dearest);
  state.spending = addUnknown(state.spending, held);
  return held;
}
