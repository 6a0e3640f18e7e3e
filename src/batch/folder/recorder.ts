import { join } from 'node:path';
import { SyncedFile } from '../../files/synced-file.ts';
import {
  batchFiles,
  type JobRecord,
  type JobOutcome,
  type JournalEntry,
  type MovedRecord,
  type RunRecord,
  type Step,
  type SaveReply,
} from '../types.ts';
import { mayHaveCost } from './state.ts';
import type { ProviderBatchRecord } from '../lane/provider-batches.ts';
import type { FolderLock } from './lock.ts';
import { GatewayError } from '../../errors.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { shellWord } from '../../shell-word.ts';

/** Records what happens to the jobs of a run, as long as it has the folder. Throws GatewayError not-written or batch-locked. */
export interface Recorder {
  /** Resolves when they are synced: only then may their requests go out. */
  ready(group: readonly JournalEntry[]): Promise<void>;
  /** Its request goes out now. Not synced again if the boot id shows whether the machine went down since. */
  sent(entry: JournalEntry): Promise<void>;
  /** They were ready, and were not sent. Writes nothing if `ready` was not written. */
  unsent(group: readonly JournalEntry[]): Promise<void>;
  /** Writes the result first, then the end to the journal. Resolves when both are synced. */
  ended(entry: JournalEntry, outcome: JobOutcome): Promise<void>;
  /** Records of provider batches and of their jobs. Resolves when they are synced. */
  parts(records: readonly (ProviderBatchRecord | JobRecord)[]): Promise<void>;
  /** No more jobs begin: syncs what has ended without waiting for others. */
  flushWithoutDelay(): void;
  close(): Promise<void>;
}

const skip = async (): Promise<void> => undefined;

/** The recorder of a batch without a folder. */
export const noRecorder: Recorder = {
  ready: skip,
  sent: skip,
  unsent: skip,
  ended: skip,
  parts: skip,
  flushWithoutDelay: () => undefined,
  close: skip,
};

type RecordedEnd = Exclude<JobOutcome, { state: 'unsent' }>;

interface RecorderOptions {
  folder: string;
  run: RunRecord;
  lock: Pick<FolderLock, 'check' | 'confirm'>;
  /** Ends of jobs that an earlier run could not write down. */
  lostEnds: readonly JobRecord[];
  moves: readonly Omit<MovedRecord, 'at'>[];
  /** Whether a job has an answer, which stays until another one is there. */
  hasEarlier?: ((id: string) => boolean) | undefined;
  now: () => number;
  step?: Step | undefined;
}

/** Ends of jobs are synced together, after at most this time: no job waits for its own, and each sync delays all writers. */
const gatherMs = 50;

/** Opens journal and results of a folder, and writes the run's own record. */
export async function openRecorder({ folder, lostEnds, moves, ...options }: RecorderOptions): Promise<Recorder> {
  const { run, lock, now, step } = options;
  lock.confirm();
  const journal = await SyncedFile.open(join(folder, batchFiles.journal));
  const results = await SyncedFile.open(join(folder, batchFiles.results));
  const open: Open = { ...options, journal, results };
  // The ends first: the run's own record says that earlier results do not count as ends any more.
  const moved = moves.map((move) => ({ ...move, at: now() }));
  await writeRecords([...lostEnds, { ...run, results: results.size }, ...moved], open);
  return {
    async ready(group) {
      lock.check();
      // A run that takes over after this confirmation finds the group in the journal: it is appended before.
      await writeReady(group, open);
      lock.confirm();
    },
    async sent(entry) {
      lock.check();
      appendRecords(toRecords('sent', [entry], now()), open);
      if (run.boot === undefined) await journal.sync();
      step?.('sent-written', entry.job.id);
      // A process that was suspended after the check finds that it lost the lock, and records the job as unsent.
      try {
        lock.check();
      } catch (error) {
        await takeBack(entry, open);
        throw error;
      }
    },
    async unsent(group) {
      lock.check();
      if (run.boot !== undefined) await writeRecords(toRecords('unsent', group, now()), open);
    },
    async ended(entry, outcome) {
      lock.check();
      if (outcome.state === 'unsent') await takeBack(entry, open);
      else await writeJobEnd(entry, outcome, open);
    },
    async parts(records) {
      lock.check();
      // A run that takes over after this confirmation finds the provider batch in the journal: it is written before.
      await writeRecords(records, open);
      lock.confirm();
    },
    flushWithoutDelay() {
      results.syncWithoutDelay();
      journal.syncWithoutDelay();
    },
    async close() {
      await journal.close();
      await results.close();
    },
  };
}

type Open = Omit<RecorderOptions, 'folder' | 'lostEnds' | 'moves'> & { journal: SyncedFile; results: SyncedFile };

function toRecords(type: JobRecord['type'], group: readonly JournalEntry[], at: number): object[] {
  return group.map(({ job: { id, line }, digest, bound }) => ({ type, id, request: digest, line, bound, at }));
}

function appendRecords(records: readonly object[], { journal }: Open): void {
  journal.append(records.map((record) => JSON.stringify(record)).join('\n'));
}

async function writeRecords(records: readonly object[], open: Open): Promise<void> {
  if (records.length === 0) return;
  appendRecords(records, open);
  await open.journal.sync();
}

function takeBack({ job: { id }, digest }: JournalEntry, open: Open): Promise<void> {
  return writeRecords(toRecords('unsent', [{ job: { id }, digest }], open.now()), open);
}

async function writeReady(group: readonly JournalEntry[], open: Open): Promise<void> {
  const { run, now, journal, step } = open;
  if (run.boot === undefined) return;
  appendRecords(toRecords('ready', group, now()), open);
  for (const { job } of group) step?.('ready-written', job.id);
  await journal.sync();
  for (const { job } of group) step?.('ready-synced', job.id);
}

async function writeJobEnd(
  { job: { id }, digest, basis, bound, part }: JournalEntry,
  outcome: RecordedEnd,
  open: Open,
): Promise<void> {
  const { journal, results, lock, now, step, hasEarlier } = open;
  const earlierStays = outcome.state !== 'done' && hasEarlier?.(id) === true ? true : undefined;
  const document = (earlierStays ? { ...outcome.document, earlierStays } : outcome.document) as JsonObject;
  results.append(await resultLine({ id, request: digest }, document, outcome.saveReply));
  step?.('result-written', id);
  await results.sync(gatherMs);
  step?.('result-synced', id);
  // A process that was suspended before may have written the result to a file that another run has replaced.
  lock.check();
  const end = toEndRecord({ id, request: digest, basis, earlierStays, at: now(), bound, part }, outcome);
  await journal.appendSoon(JSON.stringify(end));
  step?.('ended-written', id);
  await journal.sync(gatherMs);
  step?.('ended-synced', id);
}

/** What the journal keeps of an end: what it can cost only where its cost is unknown. */
function toEndRecord(
  entry: Pick<JobRecord, 'id' | 'request' | 'basis' | 'earlierStays' | 'at' | 'bound' | 'part'>,
  outcome: RecordedEnd,
): JobRecord {
  const { id, request, basis, earlierStays, at, bound, part } = entry;
  const { state: type, requestedModel, model, tier, usage, cost, billed, incomplete, error } = outcome;
  const held = cost === undefined && mayHaveCost(outcome) ? bound : undefined;
  return {
    type,
    id,
    request,
    basis,
    earlierStays,
    at,
    part,
    requestedModel,
    model,
    tier,
    usage,
    cost,
    bound: held,
    billed,
    incomplete,
    error,
  };
}

/** A longer line is hard on every reader, of which ours takes four times as much. */
const maxResultLineBytes = 64 * 1024 * 1024;

/**
 * The line of a result: which job's it is, and its document. Where it is too long to be read again, the whole reply goes to a recovery
 * file, and the line says so and leaves the long values out. Throws GatewayError not-written.
 */
export function resultLine(
  job: { id: string; request: string },
  document: JsonObject,
  saveReply: SaveReply | undefined,
  maxBytes = maxResultLineBytes,
): string | Promise<string> {
  const text = toJson(document);
  // The texts are joined: to copy thirty fields into one object takes as long as to write them.
  const line = text && text.length <= maxBytes ? `${JSON.stringify(job).slice(0, -1)},${text.slice(1)}` : undefined;
  if (line !== undefined && (line.length * 3 <= maxBytes || Buffer.byteLength(line) <= maxBytes)) return line;
  return saveWhole({ ...job, ...document }, saveReply, maxBytes / 64);
}

/** Undefined if no string of V8 could hold it. */
function toJson(value: JsonValue): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

async function saveWhole(document: JsonObject, saveReply: SaveReply | undefined, maxLength: number): Promise<string> {
  const tooLong = new GatewayError('not-written', 'the result is too long for a line', { retryable: false });
  const { failure, path } = (await saveReply?.(tooLong)) ?? { failure: tooLong };
  if (path === undefined) throw failure;
  const short = Object.entries(document).filter(([, value]) => (toJson(value)?.length ?? Infinity) <= maxLength);
  const warnings = Array.isArray(document['warnings']) ? document['warnings'] : [];
  const warning = `the result is too long for a line: write it out with gateway-cli recover ${shellWord(path)}`;
  return JSON.stringify({ ...Object.fromEntries(short), warnings: [...warnings, warning] });
}
