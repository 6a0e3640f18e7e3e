import { randomBytes } from 'node:crypto';
import { openSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Lock } from '../files/lock.ts';
import { closeQuietly, ignoreMissing, removeFile, syncFolder, writeTempFile } from '../files/temp-file.ts';
import { isObject } from '../json.ts';
import { sumAmounts } from './cost.ts';
import {
  toUtcDay,
  type LedgerLimit,
  type LedgerLine,
  readLedgerHead,
  readLedger,
  type ReservedLine,
  type SpentLine,
  type SumLine,
} from './ledger-lines.ts';
import { applyLine, emptyState, judgeProcesses, type LedgerFile, computeSpent } from './ledger-state.ts';

/** The sums of a ledger by day and kind. Reservations that have not ended are in `open`. */
interface LedgerSums {
  sums: Map<string, SumLine>;
  open: Map<string, ReservedLine>;
}

/** If there are more kinds, requests are added up without their tags: a tag that is unique to each run must not fill the memory. */
const maxKinds = 20_000;

function addToSums({ sums, open }: LedgerSums, line: LedgerLine): void {
  if (line.type === 'reserved') open.set(line.id, line);
  else if (line.type === 'sum') addSum(sums, line);
  else if (line.type === 'saved') {
    const { type: _, at, amount, ...kind } = line;
    addSum(sums, { type: 'sum', ...noCounts, ...kind, day: toUtcDay(at), savedRequests: 1, saved: amount });
  } else if (line.type === 'spent' || line.type === 'freed') {
    const reserved = open.get(line.id);
    open.delete(line.id);
    if (reserved === undefined || line.type === 'freed') return;
    addSum(sums, toEndedSum(reserved, line));
  }
}

const noCounts = { requests: 0, unknown: 0, amount: '0', told: '0', savedRequests: 0, saved: '0' };

/** An ended request as a sum. */
function toEndedSum(reserved: ReservedLine, end: Omit<SpentLine, 'type' | 'id' | 'at'>): SumLine {
  const { command, service, tags, currency } = reserved;
  const kind = { command, service, model: end.model ?? reserved.model, lane: end.lane ?? reserved.lane, tags };
  const { amount, unknown = 0, requests = 1 } = end;
  const counts = { ...noCounts, requests, unknown: Number(unknown), amount, told: end.told ? amount : '0' };
  return { type: 'sum', ...counts, ...kind, currency, day: toUtcDay(reserved.at) };
}

function addSum(sums: Map<string, SumLine>, line: SumLine): void {
  const key = getSumKey(line);
  const { tags: _, ...untagged } = line;
  if (!sums.has(key) && sums.size >= maxKinds && line.tags !== undefined) return addSum(sums, untagged);
  const before = sums.get(key);
  if (before === undefined) sums.set(key, { ...line });
  else addLedgerCounts(before, line);
}

/** The counts of requests that are added up. */
type LedgerCounts = Pick<SumLine, 'requests' | 'unknown' | 'amount' | 'told' | 'savedRequests' | 'saved'>;

/** Adds requests to others, in place. */
function addLedgerCounts(sum: LedgerCounts, more: LedgerCounts): void {
  sum.requests += more.requests;
  sum.unknown += more.unknown;
  sum.savedRequests += more.savedRequests;
  sum.amount = sumAmounts([sum.amount, more.amount]);
  sum.told = sumAmounts([sum.told, more.told]);
  sum.saved = sumAmounts([sum.saved, more.saved]);
}

function getSumKey({ day, command, service, model, lane, tags, currency }: SumLine): string {
  return JSON.stringify([day, command, service, model, lane, isObject(tags) ? tags : {}, currency]);
}

/** Rewrites the file: ended requests are replaced by their sums, open reservations stay as they are. */
export async function compact(fd: number, lock: Lock, ledger: LedgerFile): Promise<void> {
  const { state, path } = ledger;
  const all: LedgerSums = { sums: new Map(), open: new Map() };
  for (const { line } of readLedger(fd)) if (line !== undefined) addToSums(all, line);
  const lines: LedgerLine[] = [
    ...(state.limit === undefined ? [] : [{ type: 'limit', ...state.limit } as const]),
    ...all.sums.values(),
    ...all.open.values(),
  ];
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const id = randomBytes(16).toString('hex');
  const head = { type: 'budget', schema: 'gateway-cli/budget@2', id, dearest: state.dearest } as const;
  const header = JSON.stringify({ ...head, compactedBytes: text.length });
  const temp = await writeTempFile(dirname(path), (file) => file.writeFile(`${header}\n${text}`));
  try {
    if (lock.look()) await rename(temp, path);
  } finally {
    await removeFile(temp);
  }
  await syncFolder(dirname(path));
}

/** The report of a ledger: its budget, and its requests by day and kind. */
export interface LedgerSummary {
  /** The limit that the last run named. */
  limit: LedgerLimit | undefined;
  currency: string | undefined;
  /** `spent`: the amount in the period of the limit; `inFlight`: the amount that requests in flight and batches have reserved. */
  spent: string;
  inFlight: string;
  sums: SumLine[];
}

/** Reads a ledger, without its lock; undefined if there is none. Throws errors of the system, and GatewayError usage. */
export async function summarizeLedger(path: string, now: number): Promise<LedgerSummary | undefined> {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    return ignoreMissing(error);
  }
  const state = emptyState();
  const all: LedgerSums = { sums: new Map(), open: new Map() };
  try {
    readLedgerHead(fd, path);
    for (const { line } of readLedger(fd)) {
      if (line === undefined) continue;
      applyLine(state, line);
      addToSums(all, line);
    }
  } finally {
    closeQuietly(fd);
  }
  // A request of a process that was killed may have been billed.
  const isInFlight = judgeProcesses(now);
  for (const line of [...all.open.values()].filter((line) => line.held === undefined && !isInFlight(line)))
    addToSums(all, { ...line, type: 'spent', unknown: true });
  const { limit, currency } = state;
  const { spent, held, inFlight } = computeSpent(state, limit?.per, now);
  return { limit, currency, spent, inFlight: sumAmounts([held, inFlight]), sums: [...all.sums.values()] };
}

/** The properties by which a report can group requests. */
export const groupings = ['tag', 'model', 'service', 'day', 'lane', 'command'] as const;
export type Grouping = (typeof groupings)[number];

/** One row of a report. */
export type CostRow = LedgerCounts & { name: string; currency: string };

/** Requests of ledgers in groups, sorted by name, or all in one; currencies stay separate. */
export function groupCosts(sums: readonly SumLine[], by: Grouping | 'total'): CostRow[] {
  const rows = new Map<string, CostRow>();
  for (const sum of sums) {
    const name = getGroupName(sum, by);
    const { currency } = sum;
    const key = JSON.stringify([name, currency]);
    const row = rows.get(key) ?? { name, currency, ...noCounts };
    addLedgerCounts(row, sum);
    rows.set(key, row);
  }
  return [...rows.values()].toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** The name of the group of a request. All tags of a request together are one name, so that every request is in one row. */
function getGroupName(sum: SumLine, by: Grouping | 'total'): string {
  if (by === 'total') return by;
  if (by !== 'tag') return sum[by];
  const tags = Object.entries(sum.tags ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return tags.map(([key, value]) => `${key}=${value}`).join(' ');
}
