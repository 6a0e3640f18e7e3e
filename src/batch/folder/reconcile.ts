import { join } from 'node:path';
import type { Certainty, ErrorClass } from '../../errors.ts';
import { isObject, type JsonObject, parseObject } from '../../json.ts';
import type { Cost } from '../../cost/types.ts';
import type { Usage } from '../../formats/content/types.ts';
import { keyOf } from '../jobs/digest.ts';
import { countCost, type JournalState, keepFailure, mayHaveCost } from './journal.ts';
import { readFileLines } from './read-lines.ts';
import type { Range } from '../../files/temp-file.ts';
import { batchFiles, type JobError, type JobRecord } from '../types.ts';
import { addUsage } from '../run/usage.ts';

/** What results.jsonl says beside the journal. */
export interface Reconciled {
  /**
   * The ends of jobs that were sent, and whose end the journal does not know: the run was killed between the two files, and
   * nothing is unknown. The state knows them already.
   */
  lostEnds: JobRecord[];
  /** Lines that cannot be read. */
  unread: number;
}

/** Looks for ends that the journal lacks, and for lines that cannot be read, by which the results are whole or not. */
export async function readResults(folder: string, state: JournalState): Promise<Reconciled> {
  const found: Reconciled = { lostEnds: [], unread: 0 };
  for await (const { result, offset } of readResultLines(folder)) {
    if (result === undefined) found.unread++;
    // What earlier runs wrote is the answer to what they sent themselves.
    if (result === undefined || offset < (state.run?.results ?? 0)) continue;
    const end = lostEnd(result, state);
    if (end === undefined) continue;
    found.lostEnds.push(end);
    await countEnd(end, state);
  }
  return found;
}

/** The same without looking for lines that cannot be read: where the journal lacks no end, the file is not read at all. */
export async function findLostEnds(folder: string, state: JournalState): Promise<JobRecord[]> {
  for (const slot of state.table.slots())
    if (state.table.stateOf(slot) === 'sent') return (await readResults(folder, state)).lostEnds;
  return [];
}

/** The journal counted a job without an end as one of unknown cost. */
async function countEnd(end: JobRecord, state: JournalState): Promise<void> {
  state.usage = addUsage(state.usage, end.usage);
  if (end.cost === undefined && mayHaveCost(end)) return;
  const { addUnknown } = await import('../../cost/cost.ts');
  state.spending = addUnknown(state.spending, state.held.get(end.id) ?? '0', -1);
  await countCost(end, state);
}

function lostEnd(result: ResultLine, { table, lastAt, failures }: JournalState): JobRecord | undefined {
  const slot = table.find(keyOf(result.id));
  if (slot < 0 || table.stateOf(slot) !== 'sent' || table.requestOf(slot) !== result.request) return undefined;
  const type = endOf(result.document);
  table.setState(slot, type);
  const { usage, cost, attempts, complete } = result.document;
  const incomplete = type === 'done' && complete === false ? (true as const) : undefined;
  table.mark(slot, 'incomplete', incomplete);
  const error = type === 'done' ? undefined : errorOf(result.document);
  if (error === undefined) failures.delete(result.id);
  else keepFailure(failures, result.id, error);
  // It came in the time of the run that sent it, nobody knows when.
  const billed =
    attempts === 0 ? { billed: 'no' as const } : { usage: usage as Usage | undefined, cost: cost as Cost | undefined };
  return { type, id: result.id, request: result.request, at: lastAt, ...billed, incomplete, error };
}

/** A job that one of these ended has a result only where it went out: it may have been billed. */
export const endSignals: ReadonlySet<unknown> = new Set<ErrorClass>(['interrupted', 'terminated', 'hangup', 'closed']);

function endOf({ ok, error }: JsonObject): 'done' | 'failed' | 'unknown' {
  if (ok === true) return 'done';
  const name = isObject(error) ? error['class'] : undefined;
  return name === 'no-reply' || endSignals.has(name) ? 'unknown' : 'failed';
}

/** As the journal would have it. */
function errorOf({ error }: JsonObject): JobError {
  const { class: name, message, billed } = isObject(error) ? error : {};
  return {
    class: typeof name === 'string' ? name : 'unknown',
    message: typeof message === 'string' ? message : 'no error is known',
    billed: billed as Certainty | undefined,
  };
}

/** One line of results.jsonl. */
export interface ResultLine {
  id: string;
  request: string;
  document: JsonObject;
}

/** Where a line of results.jsonl stands, and what it says: nothing where it cannot be read. */
export interface ResultPlace extends Range {
  result: ResultLine | undefined;
  /** Whether a line feed ends it. */
  whole: boolean;
}

/** The lines of a folder's results.jsonl, without empty ones. */
export async function* readResultLines(folder: string): AsyncGenerator<ResultPlace, void> {
  for await (const { text, whole, offset, bytes } of readFileLines(join(folder, batchFiles.results)))
    if (bytes > 1) yield { result: whole ? parseResult(text) : undefined, whole, offset, bytes };
}

/** Undefined for what is no line of ours. */
export function parseResult(text: string): ResultLine | undefined {
  const document = parseObject(text);
  const { id, request } = document;
  return typeof id === 'string' && typeof request === 'string' ? { id, request, document } : undefined;
}
