import { readSync } from 'node:fs';
import { splitNow } from '../files/lines.ts';
import { isObject, type JsonValue, parseObject } from '../json.ts';
import { usageError } from '../errors.ts';
import { roundUp } from './cost.ts';
import type { ProcessMark } from '../files/process-mark.ts';

/** The purpose of a request, by which the report groups it. */
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
  /** ISO 8601, UTC. The cost counts for the day of this time. */
  at: string;
  amount: string;
  currency: string;
  /** The number of requests in a batch, which goes on at the service when its process has ended. */
  held?: number | undefined;
  by: ProcessMark;
}

/**
 * The end of a request, or of a whole batch. `unknown`: the number of requests that may have been billed, or true for one; they
 * count with the reserved amount.
 */
export interface SpentLine extends Partial<BatchEnd> {
  type: 'spent';
  id: string;
  at: string;
  amount: string;
  unknown?: true | number | undefined;
  /** The service told the amount. */
  told?: true | undefined;
  /** The model that answered, if it differs from the requested one. */
  model?: string | undefined;
  lane?: string | undefined;
}

/** The requests of a batch that were billed, or may have been. */
export interface BatchEnd {
  requests: number;
  /** The highest cost of one request. */
  dearest: string;
}

/** Requests of one day and kind, added up. */
export interface SumLine extends LedgerEntry {
  type: 'sum';
  day: string;
  currency: string;
  requests: number;
  /** Number of requests with an unknown cost; they count with the reserved amount. */
  unknown: number;
  amount: string;
  /** The part of the amount that services told. */
  told: string;
  /** Requests that a recording answered, and the cost that they would have had. */
  savedRequests: number;
  saved: string;
}

export type LedgerLine =
  | { type: 'budget'; schema: 'gateway-cli/budget@2'; id: string; dearest?: string; compactedBytes?: number }
  | ({ type: 'limit' } & LedgerLimit)
  | ReservedLine
  | SpentLine
  | { type: 'freed'; id: string; at: string }
  | (LedgerEntry & { type: 'saved'; at: string; amount: string; currency: string })
  | SumLine;

/** Texts that a line of each type needs to be counted. */
const needed: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['budget', ['id']],
  ['limit', ['amount']],
  ['reserved', ['id', 'at', 'amount', 'currency']],
  ['spent', ['id', 'at', 'amount']],
  ['freed', ['id', 'at']],
  ['saved', ['at', 'amount', 'currency']],
  ['sum', ['day', 'amount', 'told', 'currency', 'saved']],
]);

const amounts = ['amount', 'saved', 'dearest'] as const;
const mostDecimals = 60;
// A sum of amounts has all their digits: a sum with 1e999999999 would never end.
const amountForm = new RegExp(String.raw`^\d{1,30}(\.\d{1,${mostDecimals}})?(e[-+]?\d{1,2})?$`);
const isAmount = (value: JsonValue): boolean => typeof value === 'string' && amountForm.test(value);
const counts = ['requests', 'savedRequests', 'held', 'compactedBytes'];
const isCount = (value: JsonValue): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

/** Reads a line; undefined if it was cut, or cannot be counted: an amount that it would end stays reserved. */
function parseLedgerLine(text: string): LedgerLine | undefined {
  const line = parseObject(text);
  const { type } = line;
  const isWhole =
    needed.get(type)?.every((field) => typeof line[field] === 'string') &&
    amounts.every((field) => line[field] === undefined || isAmount(line[field])) &&
    counts.every((field) => line[field] === undefined || isCount(line[field])) &&
    (type !== 'reserved' || isObject(line['by'])) &&
    (type !== 'sum' || isAmount(line['told'] as JsonValue));
  return isWhole ? (line as unknown as LedgerLine) : undefined;
}

/** A line in a form that can be read again: told costs, and prices, can have more decimals than a ledger adds up. */
export function toReadableLine<Line extends LedgerLine>(line: Line): Line {
  const readable: Partial<Record<string, unknown>> = { ...line };
  for (const field of amounts) {
    const amount = readable[field];
    if (typeof amount === 'string' && !isAmount(amount)) readable[field] = roundUp(amount, mostDecimals);
  }
  return readable as unknown as Line;
}

/** The UTC day of a time. */
export function toUtcDay(at: string): string {
  return at.slice(0, 10);
}

/** Number of first bytes that distinguish a ledger from others. */
export const headBytes = 96;

/** The beginning of a ledger. A crash can have cut it. */
const beginning = '{"type":"budget","schema":"gateway-cli/budget@2"';

/** The first bytes of a ledger. Throws GatewayError usage for a file that holds something else: writing would destroy it. */
export function readLedgerHead(fd: number, path: string): string {
  const bytes = Buffer.alloc(headBytes);
  const bytesRead = readSync(fd, bytes, 0, headBytes, 0);
  const head = bytes.toString('latin1', 0, bytesRead);
  const [line = ''] = head.split('\n', 1);
  if (line.startsWith(beginning) || beginning.startsWith(line)) return head;
  throw usageError(`${path} is not a budget of this version`, 'name another file for the budget');
}

/** The whole lines of a file from an offset on, each with the offset of its end. Unreadable lines are skipped. */
export function* readLedger(fd: number, from = 0): Generator<{ line: LedgerLine | undefined; end: number }, void> {
  for (const { text, whole, offset, bytes } of splitNow(readBlocks(fd, from), from))
    if (whole) yield { line: parseLedgerLine(text), end: offset + bytes };
}

const blockBytes = 64 * 1024;

function* readBlocks(fd: number, from: number): Generator<Buffer, void> {
  const block = Buffer.allocUnsafe(blockBytes);
  for (let at = from; ;) {
    const bytesRead = readSync(fd, block, 0, block.length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield block.subarray(0, bytesRead);
  }
}
