import { join } from 'node:path';
import { GatewayError } from '../../errors.ts';
import { parseObject } from '../../json.ts';
import { bootMark } from '../../files/lock.ts';
import type { Range } from '../../files/temp-file.ts';
import type { Bound, Spending } from '../../cost/types.ts';
import type { Usage } from '../../formats/content/types.ts';
import { keyOf } from '../jobs/digest.ts';
import { JobTable } from './job-table.ts';
import { readFileLines } from './read-lines.ts';
import {
  batchFiles,
  type JobError,
  type JobRecord,
  type JobState,
  type JournalRecord,
  type RunRecord,
} from '../types.ts';
import { addUsage } from '../run/usage.ts';

/** What a folder's journal says. */
export interface JournalState {
  table: JobTable;
  /** The last run's own record; undefined for an empty journal. */
  run: RunRecord | undefined;
  /** Wall clock of the first run, ms since 1970; undefined for an empty journal. */
  beganAt: number | undefined;
  /** All that was paid for so far. */
  usage: Usage;
  spending: Spending;
  /** What jobs without an end count with against a limit of costs. */
  held: Map<string, string>;
  /** The newest error of jobs that failed or are unknown, as many as are kept. */
  failures: Map<string, JobError>;
  /** Wall clock of the last record, ms since 1970. */
  lastAt: number;
  /** A crash left a part of its last line, which says nothing. */
  torn: boolean;
  /** Of all runs together, each from its own record to the last behind it. */
  durationMs: number;
}

/** Jobs that this run was about to send, with their requests, and what those that it sent were before. */
interface Open {
  /** `durationMs` when it began. */
  earlierMs: number;
  ready: Map<string, JobRecord>;
  before: Map<string, { state: JobState; request: string; error: JobError | undefined; bound: Bound | undefined }>;
}

/** So many failures are told one by one; results.jsonl has them all. */
export const mostFailures = 1000;

/** What is told of a job that the journal knows no end of. */
export const unanswered: JobError = {
  class: 'no-reply',
  message: 'its run ended before an answer was written down',
  billed: 'unknown',
};

/** Keeps the newest error of a job, where there is room. */
export function keepFailure(failures: Map<string, JobError>, id: string, error: JobError): void {
  if (failures.size < mostFailures || failures.has(id)) failures.set(id, error);
}

/**
 * Reads the journal of a batch's folder; without one everything is new. A torn last line is ignored. Throws GatewayError
 * batch-locked for a file that is no journal, or one of another version.
 */
export async function readJournal(folder: string): Promise<JournalState> {
  const table = new JobTable();
  const facts = { run: undefined, beganAt: undefined, usage: {}, lastAt: 0, torn: false, durationMs: 0 };
  const spending: Spending = { costs: [], unknown: 0, held: '0', dearest: '0' };
  const state: JournalState = { table, failures: new Map(), held: new Map(), spending, ...facts };
  const open: Open = { earlierMs: 0, ready: new Map(), before: new Map() };
  const path = join(folder, batchFiles.journal);
  for await (const { text, whole, number, isTooLong } of readFileLines(path)) {
    state.torn = !whole;
    if (!whole || (text === '' && !isTooLong)) continue;
    const record = parseRecord(text);
    if (!record) throw notAJournal(path, number);
    if (record.type === 'run') {
      await settleRun(open, state);
      startRun(record, state, open);
      continue;
    }
    const bound = open.before.get(record.id)?.bound;
    applyRecord(record, state, open);
    await countCost(record, state, bound);
  }
  await settleRun(open, state);
  return state;
}

/** The records of the jobs in a folder's journal, in their order; what is no such record is passed over. */
export async function* readJobRecords(folder: string): AsyncGenerator<Range & { record: JobRecord }, void> {
  for await (const { text, whole, offset, bytes } of readFileLines(join(folder, batchFiles.journal))) {
    const record = whole ? parseRecord(text) : undefined;
    if (record && record.type !== 'run') yield { record, offset, bytes };
  }
}

/** Who ended without a cost, and was billed or may have been, is counted. */
export async function countCost(
  { type, ...end }: Pick<JobRecord, 'type' | 'cost' | 'billed' | 'error'>,
  state: Pick<JournalState, 'spending'>,
  bound?: Bound,
): Promise<void> {
  const { cost } = end;
  if (cost !== undefined) state.spending = (await import('../../cost/cost.ts')).addSpending(state.spending, cost);
  else if (hasEnded(type) && mayHaveCost(end)) await countUnknown(state, bound);
}

/** Returns what it counts with against a limit. */
async function countUnknown(state: Pick<JournalState, 'spending'>, bound: Bound | undefined): Promise<string> {
  const { addUnknown, heldFor } = await import('../../cost/cost.ts');
  const held = heldFor(bound, state.spending.dearest);
  state.spending = addUnknown(state.spending, held);
  return held;
}

/** Whether a job that ended so cost something, or may have. */
export function mayHaveCost({ cost, billed, error }: Pick<JobRecord, 'cost' | 'billed' | 'error'>): boolean {
  return cost !== undefined || (billed ?? error?.billed) !== 'no';
}

const hasEnded = (type: JobRecord['type']): boolean => type === 'done' || type === 'failed' || type === 'unknown';

function startRun(record: RunRecord, state: JournalState, open: Open): void {
  state.lastAt = record.at;
  open.earlierMs = state.durationMs;
  state.run = record;
  state.beganAt ??= record.at;
}

function applyRecord(record: JobRecord, state: JournalState, open: Open): void {
  const { ready, before } = open;
  state.lastAt = record.at;
  state.durationMs = open.earlierMs + Math.max(0, record.at - (state.run?.at ?? record.at));
  if (record.type === 'ready') {
    ready.set(record.id, record);
    return;
  }
  ready.delete(record.id);
  const { table, failures } = state;
  const was = before.get(record.id);
  before.delete(record.id);
  const slot = record.type === 'unsent' ? table.find(keyOf(record.id)) : table.add(keyOf(record.id));
  if (record.type === 'unsent') {
    // It did not go out after all, and is what it was.
    if (was === undefined) return;
    table.setState(slot, was.state);
    table.setRequest(slot, was.request);
    if (was.error) failures.set(record.id, was.error);
    return;
  }
  if (record.type === 'sent')
    before.set(record.id, {
      state: table.stateOf(slot),
      request: table.requestOf(slot),
      error: failures.get(record.id),
      bound: record.bound,
    });
  table.setState(slot, record.type);
  if (record.type !== 'sent') table.mark(slot, 'incomplete', record.incomplete === true);
  table.setRequest(slot, record.request);
  state.usage = addUsage(state.usage, record.usage);
  if (record.type !== 'failed' && record.type !== 'unknown') failures.delete(record.id);
  else keepFailure(failures, record.id, record.error ?? { class: 'unknown', message: 'no error is known' });
}

/**
 * Where a run broke off after `ready` and without `sent`, nothing went out: the kernel kept every line of a process that was
 * killed. Unless the machine went down: then the line may be lost, and the job may have been billed. What went out and has
 * no end is told as such, whatever is known of it from before.
 */
async function settleRun({ ready, before }: Open, state: JournalState): Promise<void> {
  const { table, run, failures } = state;
  const lose = async (id: string, bound: Bound | undefined): Promise<void> => {
    keepFailure(failures, id, unanswered);
    state.held.set(id, await countUnknown(state, bound));
  };
  for (const [id, { bound }] of before) await lose(id, bound);
  if (ready.size > 0 && (run?.boot === undefined || run.boot !== bootMark()))
    for (const [id, { request, bound }] of ready) {
      const slot = table.add(keyOf(id));
      table.setState(slot, 'sent');
      table.setRequest(slot, request);
      await lose(id, bound);
    }
  ready.clear();
  before.clear();
}

const jobTypes = new Set(['ready', 'sent', 'unsent', 'done', 'failed', 'unknown']);

/** One line of a journal; undefined when it is none. */
export function parseRecord(text: string): JournalRecord | undefined {
  const value = parseObject(text);
  const { type, schema, id, request } = value;
  if (type === 'run') return schema === 'gateway-cli/journal@1' ? (value as unknown as RunRecord) : undefined;
  const known = typeof type === 'string' && jobTypes.has(type);
  return known && typeof id === 'string' && typeof request === 'string' ? (value as unknown as JobRecord) : undefined;
}

/** The error for a journal that cannot be read. To go on without a line of it could pay for a job twice. */
export function notAJournal(path: string, line: number): GatewayError {
  return new GatewayError('batch-locked', `${path}:${line}: no record that this version knows`, {
    hint: line === 1 ? 'name another folder with -o' : 'mend that line; in another folder every job is paid for again',
    sent: 'no',
  });
}
