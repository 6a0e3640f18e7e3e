import { constants, open } from 'node:fs/promises';
import { codeOf } from '../errors.ts';
import { addAmounts } from './cost.ts';
import { readHead } from './ledger-file.ts';
import { judgeProcesses, spentOf } from './ledger-room.ts';
import {
  addCounts,
  addToSums,
  applyLine,
  emptyState,
  type LedgerCounts,
  type LedgerLimit,
  type LedgerSums,
  readLedger,
  type SumLine,
} from './ledger-lines.ts';

/** What a ledger says: its budget, and its requests by day and kind. */
export interface LedgerSurvey {
  /** The limit that the last run named. */
  limit: LedgerLimit | undefined;
  currency: string | undefined;
  /** What is spent in the period of the limit, and what requests under way and batches have reserved. */
  spent: string;
  inFlight: string;
  sums: SumLine[];
}

/** Reads a ledger, without its lock; undefined if there is none. Throws errors of the system, and GatewayError usage. */
export async function surveyLedger(path: string, now: number): Promise<LedgerSurvey | undefined> {
  const handle = await open(path, constants.O_RDONLY).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (handle === undefined) return undefined;
  const state = emptyState();
  const all: LedgerSums = { sums: new Map(), open: new Map() };
  try {
    await readHead(handle, path);
    for await (const { line } of readLedger(handle)) {
      if (line === undefined) continue;
      applyLine(state, line);
      addToSums(all, line);
    }
  } finally {
    await handle.close();
  }
  // A request of a process that was killed may have been billed.
  const isInFlight = judgeProcesses(now);
  for (const line of [...all.open.values()].filter((line) => line.held === undefined && !isInFlight(line)))
    addToSums(all, { ...line, type: 'spent', unknown: true });
  const { limit, currency } = state;
  const { spent, held, inFlight } = spentOf(state, limit?.per, now);
  return { limit, currency, spent, inFlight: addAmounts(held, inFlight), sums: [...all.sums.values()] };
}

/** What requests are grouped by. */
export const groupings = ['tag', 'model', 'service', 'day', 'lane', 'command'] as const;
export type Grouping = (typeof groupings)[number];

/** One row of a report. */
export type CostRow = LedgerCounts & { name: string; currency: string };

/** Requests of ledgers in groups, sorted by name, or all in one; currencies stay separate. */
export function groupCosts(sums: readonly SumLine[], by: Grouping | 'total'): CostRow[] {
  const rows = new Map<string, CostRow>();
  for (const sum of sums) {
    const name = nameIn(sum, by);
    const { currency } = sum;
    const key = JSON.stringify([name, currency]);
    const row = rows.get(key) ?? { name, currency, ...none };
    addCounts(row, sum);
    rows.set(key, row);
  }
  return [...rows.values()].toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

const none = { requests: 0, unknown: 0, amount: '0', savedRequests: 0, saved: '0' };

/** All tags of a request together are one name, so that every request is in one row. */
function nameIn(sum: SumLine, by: Grouping | 'total'): string {
  if (by === 'total') return by;
  if (by !== 'tag') return sum[by];
  const tags = Object.entries(sum.tags ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return tags.map(([key, value]) => `${key}=${value}`).join(' ');
}
