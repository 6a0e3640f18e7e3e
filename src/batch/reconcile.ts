import { join } from 'node:path';
import type { Certainty, ErrorClass } from '../errors.ts';
import { isObject, type JsonObject } from '../json.ts';
import type { Usage } from '../formats/content/types.ts';
import { keyOf } from './digest.ts';
import { type JournalState, keepFailure, openIfThere } from './journal.ts';
import { readLines } from './read-lines.ts';
import { batchFiles, type JobError, type JobRecord } from './types.ts';

/**
 * Jobs that were sent, and whose end the journal does not know: where results.jsonl holds their answer, the run was killed
 * between the two files, and nothing is unknown. Returns the records that the journal lacks; the state knows them already.
 */
export async function findLostEnds(
  folder: string,
  { table, run, lastAt, failures }: JournalState,
): Promise<JobRecord[]> {
  let open = 0;
  for (const slot of table.slots()) if (table.stateOf(slot) === 'sent') open++;
  const handle = open === 0 ? undefined : await openIfThere(join(folder, batchFiles.results));
  if (handle === undefined) return [];
  const records: JobRecord[] = [];
  try {
    for await (const { text, whole, offset } of readLines(handle)) {
      // What earlier runs wrote is the answer to what they sent themselves.
      const result = whole && offset >= (run?.results ?? 0) ? parseResult(text) : undefined;
      const slot = result === undefined ? -1 : table.find(keyOf(result.id));
      if (!result || slot < 0 || table.stateOf(slot) !== 'sent' || table.requestOf(slot) !== result.request) continue;
      const type = endOf(result.document);
      table.setState(slot, type);
      const usage = result.document['usage'] as Usage | undefined;
      const error = type === 'done' ? undefined : errorOf(result.document);
      if (error === undefined) failures.delete(result.id);
      else keepFailure(failures, result.id, error);
      // It came in the time of the run that sent it, nobody knows when.
      records.push({ type, id: result.id, request: result.request, at: lastAt, usage, error });
    }
    return records;
  } finally {
    await handle.close();
  }
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

/** Undefined for what is no line of ours. */
export function parseResult(text: string): ResultLine | undefined {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(document)) return undefined;
  const { id, request } = document;
  return typeof id === 'string' && typeof request === 'string' ? { id, request, document } : undefined;
}
