import { join } from 'node:path';
import { type JsonObject, SyncedFile } from '../../library/index.ts';
import { batchFiles, type BatchHooks, type EndedJob, type JobOutcome, type JournalEntry } from '../types.ts';
import type { BatchStep, EndRecord, GroupRecord, RunStart, SlotRecord } from './records.ts';
import type { FolderLock } from './lock.ts';
import { listImageNames } from './results.ts';
import type { Place } from './slots.ts';
import { mayHaveCost } from './spending.ts';
import { applyRecord } from './fold.ts';
import { addRecord, type BatchState, countEndRecord } from './state.ts';

/**
 * Records the steps of the slots of a run, as long as the run has the folder, and adds them to its state. Throws GatewayError
 * not-written or batch-locked.
 */
export interface Recorder {
  /** The requests of these slots may go out. Resolves when that is synced: they go out only then. */
  ready(group: readonly JournalEntry[]): Promise<void>;
  /** The request of a slot goes out now. The record is not synced again if the boot id shows whether the machine went down since. */
  sent(entry: JournalEntry): Promise<void>;
  /** These slots were ready, and were not sent. Writes nothing if `ready` was not written. */
  unsent(group: readonly JournalEntry[]): Promise<void>;
  /** Writes the result first, then the end to the journal. Resolves when both are synced. */
  ended(entry: JournalEntry, outcome: JobOutcome): Promise<void>;
  /** A record of a provider batch. Resolves when it is synced. */
  step(record: BatchStep): Promise<void>;
  /** Nothing is left to make again of the rows that `--redo` named. */
  redone(): Promise<void>;
  /** No more jobs begin: ends are synced without waiting for others. */
  flushWithoutDelay(): void;
  close(): Promise<void>;
}

interface RecorderOptions {
  folder: string;
  run: RunStart;
  lock: Pick<FolderLock, 'check' | 'confirm'>;
  state: BatchState;
  /** Ends that an earlier run could not write down, and the records of the plan. The state has them already. */
  lostEnds: readonly SlotRecord[];
  planned: readonly SlotRecord[];
  now: () => number;
  hooks?: Pick<BatchHooks, 'step' | 'watch' | 'gatherMs'> | undefined;
}

/** Ends of jobs wait at most this time, in ms, to be synced together: each sync delays all writers. */
const usualGatherMs = 50;

type Open = Pick<RecorderOptions, 'run' | 'lock' | 'state' | 'now'> & {
  hooks: Pick<BatchHooks, 'step' | 'gatherMs'>;
  journal: SyncedFile;
  results: SyncedFile;
};

/** The recorder of a batch without a folder: its state is kept in memory alone. */
export function noRecorder(state: BatchState): Recorder {
  const nameOf = ({ slot }: JournalEntry): string => state.slots.nameOf(slot);
  return {
    ready: async (group) => addRecord({ t: 'ready', slots: group.map(nameOf) }, state),
    sent: async (entry) => addRecord({ t: 'sent', slot: nameOf(entry) }, state),
    unsent: async (group) => addRecord({ t: 'unsent', slots: group.map(nameOf) }, state),
    async ended(entry, outcome) {
      if (outcome.state === 'unsent') return addRecord({ t: 'unsent', slots: [nameOf(entry)] }, state);
      addRecord(toEndRecord(nameOf(entry), entry, outcome, { off: 0, len: 0 }), state);
    },
    step: async () => undefined,
    redone: async () => undefined,
    flushWithoutDelay: () => undefined,
    close: async () => undefined,
  };
}

/** Opens journal and results of a folder, and writes the run's own record. */
export async function openRecorder(options: RecorderOptions): Promise<Recorder> {
  const { folder, run, lock, state, lostEnds, planned, hooks = {} } = options;
  const { watch } = hooks;
  lock.confirm();
  const openFile = (name: 'journal' | 'results'): Promise<SyncedFile> =>
    SyncedFile.open(join(folder, batchFiles[name]), watch && ((...what) => watch(name, ...what)));
  const journal = await openFile('journal');
  const results = await openFile('results');
  const open: Open = { ...options, hooks, journal, results };
  // A killed run may have written these lines without a sync, so that a power cut can still take them.
  if (lostEnds.length > 0) await results.sync();
  const begun = { ...run, results: results.size };
  addRecord(begun, state);
  await writeRecords([...lostEnds, begun], open);
  // The first record of a journal is on the disk before another one: no power cut takes it alone, and leaves lines of no run.
  await writeRecords(planned, open);
  return {
    async ready(group) {
      lock.check();
      // A run that takes over after this confirmation finds the group in the journal: it is appended before.
      await writeReady(group, open);
      lock.confirm();
    },
    async sent(entry) {
      lock.check();
      await writeSent(entry, open);
      // A process that was suspended after the check finds that it lost the lock, and records the job as unsent.
      try {
        lock.check();
      } catch (error) {
        await takeBack([entry], open);
        throw error;
      }
    },
    async unsent(group) {
      lock.check();
      if (run.boot !== undefined) await takeBack(group, open);
      else addRecord({ t: 'unsent', slots: group.map((entry) => nameOf(entry, open)) }, state);
    },
    async ended(entry, outcome) {
      lock.check();
      if (outcome.state === 'unsent') await takeBack([entry], open);
      else await writeJobEnd(entry, outcome, open);
    },
    async step(record) {
      lock.check();
      // A run that takes over after this confirmation finds the provider batch in the journal: it is written before.
      await writeRecords([record], open);
      lock.confirm();
      addRecord(record, state);
    },
    async redone() {
      lock.check();
      await writeRecords([{ t: 'end' }], open);
      addRecord({ t: 'end' }, state);
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

function nameOf({ slot }: Pick<JournalEntry, 'slot'>, { state }: Pick<Open, 'state'>): string {
  return state.slots.nameOf(slot);
}

function appendRecords(records: readonly SlotRecord[], { journal }: Open): void {
  journal.append(records.map((record) => JSON.stringify(record)).join('\n'));
}

async function writeRecords(records: readonly SlotRecord[], open: Open): Promise<void> {
  if (records.length === 0) return;
  appendRecords(records, open);
  await open.journal.sync();
}

async function takeBack(group: readonly JournalEntry[], open: Open): Promise<void> {
  const record: GroupRecord = { t: 'unsent', slots: group.map((entry) => nameOf(entry, open)), at: open.now() };
  await writeRecords([record], open);
  addRecord(record, open.state);
}

async function writeReady(group: readonly JournalEntry[], open: Open): Promise<void> {
  const { run, state, now, journal } = open;
  const { step } = open.hooks;
  const record: GroupRecord = {
    t: 'ready',
    slots: group.map((entry) => nameOf(entry, open)),
    bounds: listBounds(group),
    at: now(),
  };
  // Without a boot id, a `ready` that is read later says nothing: `sent` is synced instead.
  if (run.boot === undefined) return addRecord(record, state);
  appendRecords([record], open);
  for (const { job } of group) step?.('ready-written', job.id);
  await journal.sync();
  addRecord(record, state);
  for (const { job } of group) step?.('ready-synced', job.id);
}

async function writeSent(entry: JournalEntry, open: Open): Promise<void> {
  const { run, state, now, journal } = open;
  const { id } = entry.job;
  const record: SlotRecord = { t: 'sent', slot: nameOf(entry, open), id, at: now() };
  appendRecords([record], open);
  addRecord(record, state);
  if (run.boot === undefined) await journal.sync();
  open.hooks.step?.('sent-written', id);
}

/** The bounds of the costs of slots, as records have them; undefined if no model has a price. */
export function listBounds(group: readonly Pick<JournalEntry, 'bound'>[]): GroupRecord['bounds'] {
  return group.some(({ bound }) => bound !== undefined) ? group.map(({ bound }) => bound ?? null) : undefined;
}

async function writeJobEnd(entry: JournalEntry, outcome: EndedJob, open: Open): Promise<void> {
  const { journal, results, lock, state, now } = open;
  const { step, gatherMs = usualGatherMs } = open.hooks;
  const { id } = entry.job;
  const slot = nameOf(entry, open);
  const document = outcome.document as JsonObject;
  const off = results.size;
  results.append(resultLine({ slot, t: getEndType(outcome), id, ...doubtsOf(entry, outcome) }, document));
  const end: EndRecord = { ...toEndRecord(slot, entry, outcome, { off, len: results.size - off }), at: now() };
  // Limits of costs and tokens count the end before another job is taken.
  countEndRecord(end, state);
  step?.('result-written', id);
  await results.sync(gatherMs);
  step?.('result-synced', id);
  // A process that was suspended before may have written the result to a file that another run has replaced.
  lock.check();
  await journal.appendSoon(JSON.stringify(end));
  applyRecord(end, state);
  step?.('ended-written', id);
  await journal.sync(gatherMs);
  step?.('ended-synced', id);
}

/** The other requests of a job that may have been billed: if a kill leaves out the line of the journal, only the results tell of them. */
function doubtsOf({ bound }: JournalEntry, { doubtful }: EndedJob): Pick<EndRecord, 'doubtful' | 'bound'> {
  return doubtful === undefined ? {} : { doubtful, bound };
}

function getEndType({ state, incomplete }: EndedJob): EndRecord['t'] {
  return state === 'done' && incomplete ? 'incomplete' : state;
}

/** The end of a slot for the journal, with the bound of its cost only if some of the cost is unknown. */
function toEndRecord(slot: string, { bound }: JournalEntry, outcome: EndedJob, place: Place): EndRecord {
  const { requestedModel, model, tier, usage, cost, doubtful, billed, error, document } = outcome;
  return {
    t: getEndType(outcome),
    slot,
    ...place,
    requestedModel,
    model,
    tier,
    usage,
    cost,
    doubtful,
    bound: doubtful !== undefined || (cost === undefined && mayHaveCost(outcome)) ? bound : undefined,
    billed,
    images: listImageNames(document as JsonObject),
    error,
  };
}

/** The line of a result: its slot and id, and its document. */
export function resultLine(
  job: Pick<EndRecord, 'slot' | 't' | 'doubtful' | 'bound'> & { id: string },
  document: JsonObject,
): string {
  // The texts are joined: to copy thirty fields into one object takes as long as to write them.
  return `${JSON.stringify(job).slice(0, -1)},${JSON.stringify(document).slice(1)}`;
}
