import { randomBytes } from 'node:crypto';
import { fstatSync, writeFileSync } from 'node:fs';
import { isRunning, type ProcessMark } from '../files/process-mark.ts';
import { sumAmounts, type AmountSums, areWithin, countAmount, getCounted, greatest } from './cost.ts';
import {
  headBytes,
  type LedgerLimit,
  type LedgerLine,
  type Period,
  readLedgerHead,
  readLedger,
  type ReservedLine,
} from './ledger-lines.ts';

/** The state of a budget after reading its ledger. Its size does not grow with the number of ended requests. */
export interface LedgerState {
  /** The cost of ended requests, by the period of their reservation: a UTC day, its month, and all time (''). */
  spent: AmountSums;
  /** The reserved amounts by the same periods. */
  reserved: AmountSums;
  open: Map<string, ReservedLine>;
  /** The highest known cost of one request. */
  dearest: string;
  currency: string | undefined;
  limit: LedgerLimit | undefined;
  compactedBytes: number;
}

export function emptyState(): LedgerState {
  return {
    spent: new Map(),
    reserved: new Map(),
    open: new Map(),
    dearest: '0',
    currency: undefined,
    limit: undefined,
    compactedBytes: 0,
  };
}

/** Adds a line to the state. */
export function applyLine(state: LedgerState, line: LedgerLine): void {
  if (line.type === 'budget') {
    state.dearest = greatest([state.dearest, line.dearest ?? '0']);
    state.compactedBytes = line.compactedBytes ?? 0;
  } else if (line.type === 'limit') {
    state.limit = { amount: line.amount, per: line.per };
  } else if (line.type === 'reserved') {
    state.currency ??= line.currency;
    state.open.set(line.id, line);
    countAmount(state.reserved, listPeriods(line.at), line.amount);
  } else if (line.type === 'sum') {
    state.currency ??= line.currency;
    countAmount(state.spent, listPeriods(line.day), line.amount);
  } else if (line.type === 'spent' || line.type === 'freed') {
    const reserved = state.open.get(line.id);
    if (reserved === undefined) return;
    state.open.delete(line.id);
    countAmount(state.reserved, listPeriods(reserved.at), reserved.amount, -1);
    if (line.type === 'freed') return;
    countAmount(state.spent, listPeriods(reserved.at), line.amount);
    const most = line.dearest ?? (line.unknown ? '0' : line.amount);
    if (most !== state.dearest) state.dearest = greatest([state.dearest, most]);
  }
}

function listPeriods(at: string): string[] {
  return [toPeriod(at, 'day'), toPeriod(at, 'month'), ''];
}

/** The UTC day or month of a time, or ''. */
function toPeriod(at: string, per: Period): string {
  return per === undefined ? '' : at.slice(0, per === 'day' ? 10 : 7);
}

/** The file of a ledger, and the state that has been read from it. */
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
export function catchUp(fd: number, ledger: LedgerFile): void {
  const head = readLedgerHead(fd, ledger.path);
  if (head !== ledger.head) Object.assign(ledger, unreadFile(), { head });
  for (const { line, end } of readLedger(fd, ledger.end)) {
    if (line !== undefined) applyLine(ledger.state, line);
    ledger.end = end;
  }
}

/** Appends lines; a new file gets its header first. */
export function appendToLedger(fd: number, lines: readonly LedgerLine[], ledger: LedgerFile): void {
  if (lines.length === 0) return;
  // After a crash the last line can be cut: a newline keeps the next line apart. The cut line counts if it lacked only its newline.
  if (fstatSync(fd).size > ledger.end) {
    writeFileSync(fd, '\n');
    catchUp(fd, ledger);
  }
  const { size } = fstatSync(fd);
  const header: LedgerLine[] =
    size === 0 ? [{ type: 'budget', schema: 'gateway-cli/budget@2', id: randomBytes(16).toString('hex') }] : [];
  const text = [...header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('');
  writeFileSync(fd, text);
  if (size === 0) ledger.head = text.slice(0, headBytes);
  ledger.end = size + Buffer.byteLength(text);
}

/** Requests of other hosts, whose processes cannot be checked, count as in flight for this time, ms. */
const unseenMs = 15 * 60_000;

/** Whether a request has room. `taken`: not now, but requests in flight may cost less than they reserved. `spent`: no. */
export type Room = 'free' | 'taken' | { spent: string };

export function roomFor(
  amount: string,
  state: LedgerState,
  { limit, now, isInFlight }: { limit: LedgerLimit; now: number; isInFlight: ReturnType<typeof judgeProcesses> },
): Room {
  const period = toPeriod(new Date(now).toISOString(), limit.per);
  const all = sumAmounts([getCounted(state.spent, period), getCounted(state.reserved, period)]);
  // There is room even if all reserved amounts are spent, so the processes of the reservations need not be looked for.
  if (areWithin([all, amount], limit.amount) && !areWithin([limit.amount], all)) return 'free';
  const { spent: ended, held, inFlight } = computeSpent(state, limit.per, now, isInFlight);
  // A batch can take a day: no request waits for the rest of its reserved amount.
  const spent = sumAmounts([ended, held]);
  const isOver = !areWithin([spent, amount], limit.amount) || areWithin([limit.amount], spent);
  if (isOver) return { spent };
  return areWithin([spent, inFlight, amount], limit.amount) ? 'free' : 'taken';
}

/**
 * The amount spent in the period of a time, the amount held by batches, and the amount reserved by requests in flight. A request
 * whose process has ended may have been billed: it counts as spent.
 */
export function computeSpent(
  { spent, open }: LedgerState,
  per: Period,
  now: number,
  isInFlight = judgeProcesses(now),
): { spent: string; held: string; inFlight: string } {
  const period = toPeriod(new Date(now).toISOString(), per);
  const all = [...open.values()].filter(({ at }) => at.startsWith(period));
  const single = all.filter(({ held }) => held === undefined);
  return {
    spent: sumAmounts([getCounted(spent, period), sumReserved(single.filter((line) => !isInFlight(line)))]),
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
  return sumAmounts(lines.map(({ amount }) => amount));
}
