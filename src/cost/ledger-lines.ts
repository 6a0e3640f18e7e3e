import type { FileHandle } from 'node:fs/promises';
import { isObject, type JsonValue, parseObject } from '../json.ts';
import type { ProcessMark } from '../files/process-mark.ts';
import { addAmounts, greatest } from './cost.ts';

/** What a request is for, as the report groups it. */
export interface LedgerEntry {
  /** `image gen` */
  command: string;
  service: string;
  model: string;
  lane: string;
  tags?: Readonly<Record<string, string>> | undefined;
}

/** The period of a budget: the amount counts for each UTC day or month, or for all time. */
export type Period = 'day' | 'month' | undefined;

/** The limit that the last run named, for people. */
export interface LedgerLimit {
  amount: string;
  per?: Period;
}

/** A request that was written down before it was sent, and whose end is not known. */
export interface ReservedLine extends LedgerEntry {
  type: 'reserved';
  id: string;
  /** ISO 8601, UTC. Its date is the day that the cost counts for. */
  at: string;
  amount: string;
  currency: string;
  /** It cannot cost more. */
  bounded: boolean;
  /** Of a batch, which goes on at the service when its process has ended: its requests. */
  held?: number | undefined;
  by: ProcessMark;
}

/**
 * The end of a request, or of all of a batch. `unknown`: it may have been billed, and counts with what was reserved; of a batch, how
 * many of its requests.
 */
export interface SpentLine extends Partial<BatchEnd> {
  type: 'spent';
  id: string;
  at: string;
  amount: string;
  unknown?: true | number | undefined;
  /** The model that answered, if it is another one. */
  model?: string | undefined;
  lane?: string | undefined;
}

/** What is known of the requests of a batch that were billed, or may have been. */
export interface BatchEnd {
  requests: number;
  /** The highest cost of one of them. */
  dearest: string;
}

/** Requests of one day and kind, added up. */
export interface SumLine extends LedgerEntry {
  type: 'sum';
  day: string;
  currency: string;
  requests: number;
  /** Those of the requests whose cost is not known; they count with what was reserved. */
  unknown: number;
  amount: string;
  /** Requests that a recording answered, and what they would have cost. */
  savedRequests: number;
  saved: string;
}

/** A line of a ledger. */
export type LedgerLine =
  | { type: 'budget'; schema: 'gateway-cli/budget@1'; id: string; dearest?: string; compactedBytes?: number }
  | ({ type: 'limit' } & LedgerLimit)
  | ReservedLine
  | SpentLine
  | { type: 'freed'; id: string; at: string }
  | (LedgerEntry & { type: 'saved'; at: string; amount: string; currency: string })
  | SumLine;

/** Texts that a line of each type needs to be counted. */
const needed: Readonly<Record<string, readonly string[]>> = {
  budget: ['id'],
  limit: ['amount'],
  reserved: ['id', 'at', 'amount', 'currency'],
  spent: ['id', 'at', 'amount'],
  freed: ['id', 'at'],
  saved: ['at', 'amount', 'currency'],
  sum: ['day', 'amount', 'currency', 'saved'],
};

const amounts = ['amount', 'saved', 'dearest'];
const isAmount = (value: JsonValue): boolean => typeof value === 'string' && /^\d+(\.\d+)?(e[-+]?\d+)?$/.test(value);

/** Reads a line; undefined if it is of another version, was cut, or cannot be counted: what it would end stays reserved. */
function parseLine(text: string): LedgerLine | undefined {
  const line = parseObject(text);
  const { type } = line;
  const fields = typeof type === 'string' && Object.hasOwn(needed, type) ? needed[type] : undefined;
  const isWhole =
    fields?.every((field) => typeof line[field] === 'string') &&
    amounts.every((field) => line[field] === undefined || isAmount(line[field])) &&
    (type !== 'reserved' || isObject(line['by']));
  return isWhole ? (line as unknown as LedgerLine) : undefined;
}

const blockBytes = 64 * 1024;

/** The whole lines of a file from a place on, each with the place where it ends. What cannot be read is skipped. */
export async function* readLedger(
  handle: FileHandle,
  from = 0,
): AsyncGenerator<{ line: LedgerLine | undefined; end: number }, void> {
  const block = Buffer.allocUnsafe(blockBytes);
  let rest: Buffer = Buffer.alloc(0);
  for (let at = from; ;) {
    const { bytesRead } = await handle.read(block, 0, block.length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    rest = Buffer.concat([rest, block.subarray(0, bytesRead)]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      const text = rest.toString('utf8', 0, end);
      rest = rest.subarray(end + 1);
      yield { line: parseLine(text), end: at - rest.length };
    }
  }
}

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

/** The UTC day of a time. */
export function dayOf(at: string): string {
  return at.slice(0, 10);
}

/** Adds a line to the state. */
export function applyLine(state: LedgerState, line: LedgerLine): void {
  const add = (day: string, amount: string): void =>
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
    add(line.day, line.amount);
  } else if (line.type === 'spent' || line.type === 'freed') {
    const reserved = state.open.get(line.id);
    if (reserved === undefined) return;
    state.open.delete(line.id);
    if (line.type === 'freed') return;
    add(dayOf(reserved.at), line.amount);
    state.dearest = greatest([state.dearest, line.dearest ?? (line.unknown ? '0' : line.amount)]);
  }
}

/** The sums of a ledger by day and kind. Reservations that have not ended are in `open`. */
export interface LedgerSums {
  sums: Map<string, SumLine>;
  open: Map<string, ReservedLine>;
}

/** More kinds than these are added up without their tags: a tag that is unique to each run must not fill the memory. */
const maxKinds = 20_000;

/** Adds a line to the sums. */
export function addToSums({ sums, open }: LedgerSums, line: LedgerLine): void {
  if (line.type === 'reserved') open.set(line.id, line);
  else if (line.type === 'sum') addSum(sums, line);
  else if (line.type === 'saved') {
    const { type: _, at, amount, ...kind } = line;
    addSum(sums, { ...noSum, ...kind, day: dayOf(at), savedRequests: 1, saved: amount });
  } else if (line.type === 'spent' || line.type === 'freed') {
    const reserved = open.get(line.id);
    open.delete(line.id);
    if (reserved === undefined || line.type === 'freed') return;
    addSum(sums, sumOfEnded(reserved, line));
  }
}

const noSum = { type: 'sum', requests: 0, unknown: 0, amount: '0', savedRequests: 0, saved: '0' } as const;

/** An ended request as a sum. */
function sumOfEnded(reserved: ReservedLine, end: Omit<SpentLine, 'type' | 'id' | 'at'>): SumLine {
  const { command, service, tags, currency } = reserved;
  const kind = { command, service, model: end.model ?? reserved.model, lane: end.lane ?? reserved.lane, tags };
  const { amount, unknown = 0, requests = 1 } = end;
  return { ...noSum, ...kind, currency, day: dayOf(reserved.at), requests, unknown: Number(unknown), amount };
}

function addSum(sums: Map<string, SumLine>, line: SumLine): void {
  const key = keyOf(line);
  const { tags: _, ...untagged } = line;
  if (!sums.has(key) && sums.size >= maxKinds && line.tags !== undefined) return addSum(sums, untagged);
  const before = sums.get(key);
  if (before === undefined) sums.set(key, { ...line });
  else addCounts(before, line);
}

/** What is counted of requests that are added up. */
export type LedgerCounts = Pick<SumLine, 'requests' | 'unknown' | 'amount' | 'savedRequests' | 'saved'>;

/** Adds requests to others, in place. */
export function addCounts(sum: LedgerCounts, more: LedgerCounts): void {
  sum.requests += more.requests;
  sum.unknown += more.unknown;
  sum.savedRequests += more.savedRequests;
  sum.amount = addAmounts(sum.amount, more.amount);
  sum.saved = addAmounts(sum.saved, more.saved);
}

function keyOf({ day, command, service, model, lane, tags, currency }: SumLine): string {
  return JSON.stringify([day, command, service, model, lane, isObject(tags) ? tags : {}, currency]);
}
