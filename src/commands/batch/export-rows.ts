import type { Key } from '../../batch/digest.ts';
import { type JournalState, unanswered } from '../../batch/journal.ts';
import { type Column, findColumns, type Row, rowOf, type RowState } from '../../batch/row.ts';
import { findSentJobs, type SentJobs } from '../../batch/sent-jobs.ts';
import type { JobState } from '../../batch/types.ts';

/** A job as its file names it: its place in the table, and its row while nothing is known of it. */
export interface NamedJob {
  key: Key;
  pending: Row;
}

/** The jobs of a folder's job file; none where it is not known. */
type Jobs = () => AsyncIterable<NamedJob>;

/** The jobs of a folder as rows in the order of their job file: those that were sent, and those that the file names. */
export interface Rows {
  columns: Column[];
  counts: Record<RowState, number>;
  /** Lines of results.jsonl that cannot be read. */
  unread: number;
  /** Reads them one by one: results may be long. */
  read(): AsyncGenerator<Row, void>;
}

/** Looks through a folder's results and journal, and the jobs of its file. */
export async function findRows(folder: string, state: JournalState, jobs: Jobs): Promise<Rows> {
  const { table } = state;
  const found = findColumns();
  const sent = await findSentJobs(folder, table, async (_, result) =>
    found.see(rowOf(result.id, 'done', result.document)),
  );
  const counts: Rows['counts'] = { done: 0, failed: 0, unknown: 0, pending: 0 };
  for (const slot of sent.slots) counts[rowState(table.stateOf(slot))]++;
  if (counts.unknown + counts.failed > 0) found.see(unansweredRow('', 'unknown', state));
  for await (const { key, pending } of jobs()) {
    if (sent.has(table.find(key))) continue;
    counts.pending++;
    found.see(pending);
  }
  const read = () => readRows(state, { sent, jobs });
  return { columns: found.columns(), counts, unread: sent.unread, read };
}

/** In the order of the job file where it is known: what was not sent has its row there, and what it does not name comes last. */
async function* readRows(
  state: JournalState,
  { sent, jobs }: { sent: SentJobs; jobs: Jobs },
): AsyncGenerator<Row, void> {
  const { table } = state;
  const reader = await sent.open();
  const isRead = new Uint8Array(table.capacity);
  const readRow = async (slot: number): Promise<Row> => {
    const is = rowState(table.stateOf(slot));
    const { id, result } = await reader.read(slot);
    return result ? rowOf(id, is, result.document) : unansweredRow(id, is, state);
  };
  try {
    for await (const { key, pending } of jobs()) {
      const slot = table.find(key);
      const row = sent.has(slot) ? await readRow(slot) : undefined;
      if (row) isRead[slot] = 1;
      yield row?.command === undefined ? { ...pending, ...row } : row;
    }
    for (const slot of sent.slots) if (isRead[slot] === 0) yield await readRow(slot);
  } finally {
    await reader.close();
  }
}

function unansweredRow(id: string, is: RowState, { failures }: JournalState): Row {
  const error = failures.get(id) ?? (is === 'unknown' ? unanswered : undefined);
  return { id, state: is, images: [], error };
}

function rowState(state: JobState): RowState {
  if (state === 'new') return 'pending';
  return state === 'sent' ? 'unknown' : state;
}
