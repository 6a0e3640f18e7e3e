import { randomBytes } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isRunning, type ProcessMark } from '../files/process-mark.ts';
import { syncFolder } from '../files/temp-file.ts';
import { addAmounts, areWithin, greatest } from './cost.ts';
import {
  toUtcDay,
  headBytes,
  type LedgerLimit,
  type LedgerLine,
  type Period,
  readLedgerHead,
  readLedger,
  type ReservedLine,
} from './ledger-lines.ts';

/** What a ledger says so far. Its size does not grow with the number of ended requests. */
export interface LedgerState {
  /** What ended requests cost, by the UTC day of their reservation. */
  days: Map<string, string>;
  open: Map<string, ReservedLine>;
  /** The highest known cost of one request. */
  dearest: string;
  currency: string | undefined;
  limit: LedgerLimit | undefined;
  compactedBytes: number;
}

/** The state of an empty ledger. */
export function emptyState(): LedgerState {
  return {
    days: new Map(),
    open: new Map(),
    dearest: '0',
    currency: undefined,
    limit: undefined,
    compactedBytes: 0,
  };
}

/** Adds a line to the state. */
export function applyLine(state: LedgerState, line: LedgerLine): void {
  const addToDay = (day: string, amount: string): void =>
    void state.days.set(day, addAmounts(state.days.get(day) ?? '0', amount));
  if (line.type === 'budget') {
    state.dearest = greatest([state.dearest, line.dearest ?? '0']);
    state.compactedBytes = line.compactedBytes ?? 0;
  } else if (line.type === 'limit') {
    state.limit = { amount: line.amount, per: line.per };
  } else if (line.type === 'reserved') {
    state.currency ??= line.currency;
    state.open.set(line.id, line);
  } else if (line.type === 'sum') {
    state.currency ??= line.currency;
    addToDay(line.day, line.amount);
  } else if (line.type === 'spent' || line.type === 'freed') {
    const reserved = state.open.get(line.id);
    if (reserved === undefined) return;
    state.open.delete(line.id);
    if (line.type === 'freed') return;
    addToDay(toUtcDay(reserved.at), line.amount);
    state.dearest = greatest([state.dearest, line.dearest ?? (line.unknown ? '0' : line.amount)]);
  }
}

/** The file of a ledger, and what has been read from it. */
export interface LedgerFile {
  path: string;
  state: LedgerState;
  /** The first bytes of the file that the state was read from: they differ if it was replaced. */
  head: string;
  /** The file has been read up to this byte. */
  end: number;
}

/** A file of which nothing has been read. */
export function unreadFile(): Omit<LedgerFile, 'path'> {
  return { state: emptyState(), head: '', end: 0 };
}

/** Reads what other processes have appended; the whole file if it was replaced. Throws GatewayError usage if it is not a ledger. */
export async function catchUp(handle: FileHandle, ledger: LedgerFile): Promise<void> {
  const head = await readLedgerHead(handle, ledger.path);
  if (head !== ledger.head) Object.assign(ledger, unreadFile(), { head });
  for await (const { line, end } of readLedger(handle, ledger.end)) {
    if (line !== undefined) applyLine(ledger.state, line);
    ledger.end = end;
  }
}

/** Appends lines; a new file gets its header first. */
export async function appendToLedger(
  handle: FileHandle,
  lines: readonly LedgerLine[],
  ledger: LedgerFile,
): Promise<void> {
  if (lines.length === 0) return;
  // After a crash the last line can be cut: a newline keeps the next line apart. The cut line counts if it lacked only its newline.
  if ((await handle.stat()).size > ledger.end) {
    await handle.appendFile('\n');
    await catchUp(handle, ledger);
  }
  const { size } = await handle.stat();
  const header: LedgerLine[] =
    size === 0 ? [{ type: 'budget', schema: 'gateway-cli/budget@1', id: randomBytes(16).toString('hex') }] : [];
  const text = [...header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('');
  await handle.appendFile(text);
  if (size === 0) {
    ledger.head = text.slice(0, headBytes);
    await syncFolder(dirname(ledger.path));
  }
  ledger.end = size + Buffer.byteLength(text);
}

/** Requests of other hosts, whose processes cannot be checked, count as in flight for this time, ms. */
const unseenMs = 15 * 60_000;

/** Whether a request has room. `taken`: not now, but requests in flight may cost less than they reserved. `spent`: no. */
export type Room = 'free' | 'taken' | { spent: string };

export function roomFor(amount: string, state: LedgerState, { limit, now }: { limit: LedgerLimit; now: number }): Room {
  const { spent: ended, held, inFlight } = computeSpent(state, limit.per, now);
  // A batch can take a day: no request waits for what it may leave.
  const spent = addAmounts(ended, held);
  const isOver = !areWithin([spent, amount], limit.amount) || areWithin([limit.amount], spent);
  if (isOver) return { spent };
  return areWithin([spent, inFlight, amount], limit.amount) ? 'free' : 'taken';
}

/**
 * What is spent in the period of a time, what batches hold, and what requests in flight have reserved. A request whose process has
 * ended may have been billed: it counts as spent.
 */
export function computeSpent(
  { days, open }: LedgerState,
  per: Period,
  now: number,
): { spent: string; held: string; inFlight: string } {
  const today = new Date(now).toISOString();
  const period = per === undefined ? '' : today.slice(0, per === 'day' ? 10 : 7);
  const ended = [...days].flatMap(([day, amount]) => (day.startsWith(period) ? [amount] : []));
  const isInFlight = judgeProcesses(now);
  const all = [...open.values()].filter(({ at }) => toUtcDay(at).startsWith(period));
  const single = all.filter(({ held }) => held === undefined);
  return {
    spent: addAmounts(...ended, sumReserved(single.filter((line) => !isInFlight(line)))),
    held: sumReserved(all.filter(({ held }) => held !== undefined)),
    inFlight: sumReserved(single.filter(isInFlight)),
  };
}

/** Whether the process of a reservation is running; each is looked at once. */
export function judgeProcesses(now: number): (line: { by: ProcessMark; at: string }) => boolean {
  const known = new Map<string, boolean | undefined>();
  return ({ by, at }) => {
    const key = JSON.stringify(by);
    if (!known.has(key)) known.set(key, isRunning(by));
    return known.get(key) ?? Math.abs(now - Date.parse(at)) < unseenMs;
  };
}

function sumReserved(lines: readonly ReservedLine[]): string {
  return addAmounts(...lines.map(({ amount }) => amount));
}
