import { join } from 'node:path';
import { addUnknown } from '../../cost/cost.ts';
import type { Bound } from '../../cost/types.ts';
import { GatewayError } from '../../errors.ts';
import { bootMark } from '../../files/process-mark.ts';
import { isObject, type JsonObject } from '../../json.ts';
import {
  applyEnd,
  beginRedo,
  JobIndex,
  markRemoved,
  renameJob,
  type BatchState,
  countCost,
  keepEarlier,
  keepFailure,
  unanswered,
  countUnknown,
  mayHaveCost,
} from './state.ts';
import {
  batchFiles,
  type JobError,
  type JobRecord,
  type JobState,
  type JournalRecord,
  type MovedRecord,
  type RunRecord,
} from '../types.ts';
import {
  addToProviderBatch,
  applyProviderBatch,
  countPaid,
  endOffline,
  type ProviderBatchRecord,
} from '../lane/provider-batches.ts';
import { readFileLines } from '../../files/lines.ts';

/**
 * Reads the journal of a batch's folder; without one everything is new. Throws GatewayError batch-locked for a file that is not a
 * journal, or one of another version.
 */
export async function readJournal(folder: string): Promise<BatchState> {
  const state = newBatchState();
  const open: OpenRun = { earlierMs: 0, ready: [], sent: [] };
  const path = join(folder, batchFiles.journal);
  for await (const lines of readFileLines(path))
    for (const { text: written, whole, number, isTooLong } of lines) {
      state.torn = !whole;
      // When the power fails, some file systems keep a later write and leave zeros in place of one before it. Nothing was done on the
      // word of a record that was not synced, so it can be left out.
      const text = written.startsWith('\0') ? written.replace(/^\0+/, '') : written;
      if (!whole || (text === '' && !isTooLong)) continue;
      const record = parseRecord(text);
      if (!record || lacksProviderBatch(record, state) || takesForeignId(record, state))
        throw notAJournal(path, number, text);
      if (record.type === 'run') {
        settleRun(open, state);
        startRun(record, state, open);
        continue;
      }
      if (record.type === 'part') {
        state.lastAt = record.at;
        applyProviderBatch(record, state);
        continue;
      }
      if (record.type === 'moved') applyMove(record, state);
      else applyRecord(record, state, open);
    }
  settleRun(open, state);
  return state;
}

/** Without the record of its provider batch, a job that a batch of the service holds would be sent again. */
function lacksProviderBatch(record: JournalRecord, { providerBatches }: BatchState): boolean {
  return record.type === 'ready' && record.part !== undefined && !providerBatches.has(record.part);
}

/** No job gets the id of another one: that one would be sent again. */
function takesForeignId(record: JournalRecord, { index }: BatchState): boolean {
  if (record.type !== 'moved' || record.to === undefined) return false;
  const row = index.findNow(record.to);
  return row >= 0 && row !== index.find(record.id);
}

/** The state of a batch without a journal. */
export function newBatchState(): BatchState {
  return {
    index: new JobIndex(),
    run: undefined,
    varied: new Map(),
    beganAt: undefined,
    usage: {},
    spending: { costs: [], unknown: 0, held: '0', dearest: '0' },
    held: new Map(),
    sentAt: new Map(),
    earlier: new Map(),
    edited: 0,
    redo: undefined,
    providerBatches: new Map(),
    failures: new Map(),
    lastAt: 0,
    numbers: new Map(),
    torn: false,
    durationMs: 0,
  };
}

/**
 * The run that is being read. Its lists are short, and arrays: a Map that changes a million times leaves garbage that V8 frees
 * late.
 */
interface OpenRun {
  /** `durationMs` when it began. */
  earlierMs: number;
  /** Jobs that are about to be sent. */
  ready: JobRecord[];
  /** Jobs that were sent and have no end yet, as they were before. */
  sent: SentJob[];
}

interface SentJob {
  id: string;
  row: number;
  state: JobState;
  digest: string;
  error: JobError | undefined;
  /** The digest of what was sent. */
  sent: string;
  bound: Bound | undefined;
  at: number;
}

function startRun(record: RunRecord, state: BatchState, open: OpenRun): void {
  state.lastAt = record.at;
  open.earlierMs = state.durationMs;
  for (const id of state.run?.removed ?? []) state.index.setFlag(state.index.find(id), 'removed', false);
  markRemoved(state, record.removed ?? []);
  state.run = record;
  state.edited = record.edited ?? 0;
  beginRedo(record.redo, state);
  state.beganAt ??= record.at;
  if (record.vary) state.varied.set(JSON.stringify(record.vary), record.vary);
}

function applyMove({ id, to, number, line, basis }: MovedRecord, state: BatchState): void {
  const { index } = state;
  const row = index.find(id);
  if (row < 0) return;
  index.setPlace(row, line);
  if (number !== undefined) state.numbers.set(row, number);
  if (basis !== undefined) index.setBasis(row, basis);
  if (to !== undefined && index.idOf(row) !== to) renameJob({ id, to }, state);
}

function applyRecord(record: JobRecord, state: BatchState, open: OpenRun): void {
  const { type, id, request: digest } = record;
  const { index, failures } = state;
  state.lastAt = record.at;
  state.durationMs = open.earlierMs + Math.max(0, record.at - (state.run?.at ?? record.at));
  if (type === 'ready') {
    if (record.part === undefined) open.ready.push(record);
    else {
      keepEarlier(index.find(id), state);
      addToProviderBatch(record, state);
    }
    return;
  }
  takeOut(open.ready, id);
  const was = takeOut(open.sent, id);
  if (type === 'unsent') {
    if (was) undoSent(was, state);
    return;
  }
  const row = was?.row ?? index.add(id);
  index.setPlace(row, record.line ?? index.placeOf(row));
  // An end without a `sent` belongs to a job of an earlier run, which was counted as one of unknown cost. Jobs of a provider batch were not.
  const isLate = was === undefined && type !== 'sent' && !index.has(row, 'atService') && mayHaveCost(record);
  const held = isLate ? state.held.get(id) : undefined;
  if (held !== undefined) {
    state.spending = addUnknown(state.spending, held, -1);
    state.held.delete(id);
  }
  if (type === 'sent') {
    keepEarlier(row, state);
    open.sent.push({
      id,
      row,
      state: index.stateOf(row),
      digest: index.digestOf(row),
      error: failures.get(id),
      sent: digest,
      bound: record.bound,
      at: record.at,
    });
    index.setState(row, type);
    index.setSequence(row);
    failures.delete(id);
  } else {
    const bound = was?.bound ?? record.bound;
    applyEnd(row, type, record, state);
    countCost(record, state, bound);
    countPaid(record, state, bound);
  }
  index.setFlag(row, 'atService', false);
  if (digest !== was?.sent) index.setDigest(row, digest);
  if (type === 'sent') return;
  index.setBasis(row, record.basis);
  settleEarlier(row, record, state);
}

/** A job that was sent did not go out: it is as before. */
function undoSent(
  { id, row, state, digest, error }: SentJob,
  { index, earlier, failures }: Pick<BatchState, 'index' | 'earlier' | 'failures'>,
): void {
  index.setState(row, state);
  index.setDigest(row, digest);
  if (state === 'done') index.setSequence(row, earlier.get(row)?.sequence);
  if (error) failures.set(id, error);
}

/** An end of a job that has an earlier answer: it replaces that, unless nothing came in its place. */
function settleEarlier(row: number, { id, request, earlierStays }: JobRecord, state: BatchState): void {
  const { index, failures, earlier } = state;
  const answer = earlier.get(row);
  earlier.delete(row);
  if (answer === undefined) return;
  if (!earlierStays) {
    // It was to an earlier version of the job.
    if (answer.digest !== request) state.edited--;
    return;
  }
  index.setState(row, 'done');
  index.setDigest(row, answer.digest);
  index.setSequence(row, answer.sequence);
  failures.delete(id);
}

/** Takes the record of a job out of a list. V8 inlines `findIndex`: `findLastIndex` takes more than twice as long. */
function takeOut<Item extends { id: string }>(list: Item[], id: string): Item | undefined {
  const at = list.findIndex((item) => item.id === id);
  return at < 0 ? undefined : list.splice(at, 1)[0];
}

/**
 * Jobs that were ready and have no `sent` did not go out: the kernel keeps every line of a process that was killed. If the machine
 * went down since then, the line may be lost, and the job may have been billed.
 */
function settleRun({ ready, sent }: OpenRun, state: BatchState): void {
  const { index, run, failures } = state;
  const loseJob = ({ id, bound, at }: Pick<JobRecord, 'id' | 'bound' | 'at'>): void => {
    keepFailure(failures, id, unanswered);
    state.sentAt.set(id, at);
    state.held.set(id, countUnknown(state, bound));
  };
  for (const job of sent.splice(0)) loseJob(job);
  endOffline(state);
  const unsure = ready.splice(0);
  if (run?.boot === undefined || run.boot !== bootMark())
    for (const record of unsure) {
      const { id, request: digest, line = 0 } = record;
      const row = index.add(id);
      keepEarlier(row, state);
      index.setState(row, 'sent');
      index.setDigest(row, digest);
      index.setPlace(row, line);
      loseJob(record);
    }
}

const jobTypes = new Set(['ready', 'sent', 'unsent', 'done', 'failed', 'unknown']);

/** One line of a journal; undefined when it is not a record of this version. */
export function parseRecord(text: string): JournalRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { type, schema, id, request: digest }: JsonObject = value;
  if (type === 'run') return schema === 'gateway-cli/journal@1' ? (value as unknown as RunRecord) : undefined;
  if (type === 'part') return typeof value['mark'] === 'string' ? (value as unknown as ProviderBatchRecord) : undefined;
  if (type === 'moved') return isMove(value) ? value : undefined;
  const isJob = jobTypes.has(type as string) && typeof id === 'string' && typeof digest === 'string';
  return isJob ? (value as unknown as JobRecord) : undefined;
}

function isMove(record: object): record is MovedRecord {
  const { id, to = 'id', basis = '', number = 0, line } = record as Record<string, unknown>;
  const isPlaced = Number.isSafeInteger(number) && Number.isSafeInteger(line);
  return [id, to, basis].every((text) => typeof text === 'string') && to !== '' && isPlaced;
}

/** The error for a journal that cannot be read. To go on without a line of it could pay for a job twice. */
export function notAJournal(path: string, line: number, text = ''): GatewayError {
  const mended = 'fix that line; in another folder every job is paid for again';
  const without = 'fix that line, or take it out: it says that a job moved, which is found out by what was sent, too';
  const byLine = /"type" *: *"moved"/.test(text) ? without : mended;
  return new GatewayError('batch-locked', `${path}:${line}: no record that this version knows`, {
    hint: line === 1 ? 'name another folder with -o' : byLine,
    sent: 'no',
  });
}
