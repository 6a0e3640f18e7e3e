import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonic } from '../clock.ts';
import { GatewayError, usageError } from '../errors.ts';
import { type Lock, withLock } from '../files/lock.ts';
import { ownMark } from '../files/process-mark.ts';
import { openToAppend } from '../files/synced-file.ts';
import { notWritten } from '../files/temp-file.ts';
import { addAmounts, areWithin, subtractAmounts, sumHeld } from './cost.ts';
import type { BatchEnd, LedgerEntry, LedgerLimit, LedgerLine, ReservedLine, SpentLine } from './ledger-lines.ts';
import {
  appendToLedger,
  applyLine,
  catchUp,
  type LedgerFile,
  type LedgerState,
  type Room,
  roomFor,
  computeSpent,
  unreadFile,
} from './ledger-state.ts';
import { compact } from './ledger-sums.ts';
import type { Bound } from './types.ts';

/** A request that is to be paid from a budget. */
export interface LedgerRequest extends LedgerEntry {
  bound: Bound;
  currency: string;
}

/** A batch of requests that a service holds for a day. */
export interface LedgerBatch extends LedgerEntry {
  /** No other request or batch has it. */
  id: string;
  /** What each request can cost. */
  bounds: readonly Bound[];
  currency: string;
}

/** A budget that processes share: one file of JSON lines, to which each appends under a lock. */
export interface Ledger {
  /**
   * Writes down what a request can cost, synced, and returns its id. Waits while requests of running processes have reserved the
   * rest. Returns what is spent if the request could pass the limit whatever those cost. Throws the signal's reason, GatewayError
   * usage for another currency, and not-written.
   */
  reserve(request: LedgerRequest, signal: AbortSignal): Promise<{ id: string } | { spent: string }>;
  /**
   * Writes down what a request cost: an amount, or `unknown` if it may have been billed. Past the signal it waits for seconds only.
   * Throws GatewayError not-written.
   */
  spend(id: string, amount: string, answered?: Pick<SpentLine, 'model' | 'lane' | 'told'> & WaitEnd): Promise<void>;
  /** The same as `reserve` for a batch. It stays reserved until its end is recorded, even if its process dies. */
  reserveBatch(batch: LedgerBatch, signal: AbortSignal): Promise<{ id: string } | { spent: string }>;
  /** Writes down what a batch cost, once. Throws GatewayError not-written. */
  endBatch(id: string, end: BatchEnd & { amount: string; unknown: number }): Promise<void>;
  /** What is neither spent nor reserved, and the highest cost of one request. Throws GatewayError not-written. */
  left(): Promise<{ left: string; dearest: string }>;
  /** Writes down that a request, or a batch, was not billed. Throws GatewayError not-written. */
  free(id: string, signal?: AbortSignal | undefined): Promise<void>;
  /** Writes down what a recording answered, and what that would have cost. Throws GatewayError not-written. */
  save(entry: LedgerEntry, saved: { amount: string; currency: string }): Promise<void>;
}

interface WaitEnd {
  signal?: AbortSignal | undefined;
}

interface LedgerOptions {
  path: string;
  limit: LedgerLimit;
  /** Wall clock in ms. */
  now: () => number;
  /** A file that is larger, and twice as large as after the last time, is compacted; in bytes. */
  compactAt?: number;
}

/** Work on the ledger: sees its state, and returns the lines to append. */
type Change = (state: LedgerState) => LedgerLine[];

interface Waiting {
  change: Change;
  /** Ends the wait for the lock. */
  signal: Pick<AbortSignal, 'aborted' | 'throwIfAborted'> | undefined;
  done: () => void;
  fail: (error: unknown) => void;
}

interface OpenLedger extends LedgerOptions, LedgerFile {
  waiting: Waiting[];
  isWorking: boolean;
}

/** In place of an amount: the request counts with what it has reserved. */
export const unknownAmount = 'unknown';

/** Opens a ledger; the file is made by the first request. */
export function openLedger(options: LedgerOptions): Ledger {
  const ledger: OpenLedger = { ...options, ...unreadFile(), waiting: [], isWorking: false };
  return {
    reserve: ({ bound, ...request }, signal) => {
      const id = randomBytes(8).toString('hex');
      return reserveAmount(ledger, { ...request, id, bounds: [bound] }, signal);
    },
    reserveBatch: (batch, signal) => reserveAmount(ledger, { ...batch, held: batch.bounds.length }, signal),
    spend: (id, amount, { signal, ...answered } = {}) => {
      const toEndLine = ({ amount: reserved }: ReservedLine): LedgerLine => {
        const spent = amount === unknownAmount ? { amount: reserved, unknown: true as const } : { amount };
        return { type: 'spent', id, at: getLedgerTime(ledger), ...spent, ...answered };
      };
      return endReservation(ledger, id, toEndLine, signal);
    },
    endBatch: (id, known) =>
      endReservation(ledger, id, () => ({ type: 'spent', id, at: getLedgerTime(ledger), ...known })),
    async left() {
      let left = { left: '0', dearest: '0' };
      await changeLedger(ledger, (state) => {
        const { spent, held, inFlight } = computeSpent(state, ledger.limit.per, ledger.now());
        const taken = addAmounts(spent, held, inFlight);
        const isOver = !areWithin([taken], ledger.limit.amount);
        left = { left: isOver ? '0' : subtractAmounts(ledger.limit.amount, taken), dearest: state.dearest };
        return [];
      });
      return left;
    },
    free: (id, signal) => free(ledger, id, signal),
    save: (entry, saved) =>
      changeLedger(ledger, () => [{ type: 'saved', at: getLedgerTime(ledger), ...entry, ...saved }]),
  };
}

/** Ends what is reserved, once. */
function endReservation(
  ledger: OpenLedger,
  id: string,
  lineOf: (reserved: ReservedLine) => LedgerLine,
  signal?: AbortSignal,
): Promise<void> {
  const makeLines: Change = ({ open }) => {
    const reserved = open.get(id);
    return reserved === undefined ? [] : [lineOf(reserved)];
  };
  return changeLedger(ledger, makeLines, signal && withGrace(signal));
}

function free(ledger: OpenLedger, id: string, signal?: AbortSignal): Promise<void> {
  return endReservation(ledger, id, () => ({ type: 'freed', id, at: getLedgerTime(ledger) }), signal);
}

/** How long an end that comes with the signal, or after it, waits for the lock, in ms. Without its line, what is reserved counts. */
const graceMs = 3000;

/** A signal that counts as aborted only when the wait for the lock was long enough. */
function withGrace(signal: AbortSignal): Pick<AbortSignal, 'aborted' | 'throwIfAborted'> {
  const since = monotonic();
  const isOver = (): boolean => signal.aborted && monotonic() - since > graceMs;
  return {
    get aborted() {
      return isOver();
    },
    throwIfAborted() {
      if (isOver()) throw new Error('another process holds its lock');
    },
  };
}

function getLedgerTime({ now }: LedgerOptions): string {
  return new Date(now()).toISOString();
}

async function reserveAmount(
  ledger: OpenLedger,
  { bounds, ...request }: LedgerBatch & Pick<ReservedLine, 'held'>,
  signal: AbortSignal,
): Promise<{ id: string } | { spent: string }> {
  const { id } = request;
  const bounded = bounds.every(({ isMost }) => isMost);
  for (let waitMs = 25; ; waitMs = Math.min(waitMs * 2, 500)) {
    let room: Room | undefined;
    const makeLines: Change = (state) => {
      if (signal.aborted) return [];
      requireCurrency(state, request.currency, ledger.path);
      const amount = sumHeld(bounds, state.dearest);
      room = roomFor(amount, state, { limit: ledger.limit, now: ledger.now() });
      const at = getLedgerTime(ledger);
      const { limit } = ledger;
      const isNewLimit = state.limit?.amount !== limit.amount || state.limit.per !== limit.per;
      const limits = isNewLimit ? [{ type: 'limit', ...limit } as const] : [];
      if (room === 'taken') return [];
      if (room !== 'free') return limits;
      return [...limits, { type: 'reserved', ...request, at, amount, bounded, by: ownMark() }];
    };
    const changed = changeLedger(ledger, makeLines, signal);
    await orAborted(changed, signal).catch((error: unknown) => {
      // The line may be written after the signal.
      void changed.then(() => free(ledger, id)).catch(() => undefined);
      throw error;
    });
    if (room === undefined || room === 'free') return { id };
    if (room !== 'taken') return room;
    await sleep(waitMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
  }
}

/** Waits for work, at most until the signal. Throws its reason. */
async function orAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const over = new AbortController();
  const aborted = once(signal, 'abort', { signal: over.signal }).catch(() => undefined);
  await Promise.race([work, aborted]).finally(() => over.abort());
  if (signal.aborted) work.catch(() => undefined);
  signal.throwIfAborted();
}

function requireCurrency({ currency }: LedgerState, wanted: string, path: string): void {
  if (currency === undefined || currency === wanted) return;
  throw usageError(
    `the budget ${path} is in ${currency}, and the price of the model in ${wanted}`,
    'give all models of a budget prices in one currency, or name another budget',
  );
}

/** Appends lines under the lock. What waits meanwhile shares the next lock and the next sync. */
function changeLedger(ledger: OpenLedger, work: Change, signal?: Waiting['signal']): Promise<void> {
  return new Promise((done, fail) => {
    ledger.waiting.push({ change: work, signal, done, fail });
    if (!ledger.isWorking) void workOff(ledger);
  });
}

async function workOff(ledger: OpenLedger): Promise<void> {
  ledger.isWorking = true;
  while (ledger.waiting.length > 0) {
    const taken = ledger.waiting.splice(0);
    try {
      const lock = `${ledger.path}.lock`;
      while (!(await withLock(lock, createSharedWait(taken), (held) => workUnder(held, taken, ledger))));
      for (const { done } of taken) done();
    } catch (error) {
      const failure = error instanceof GatewayError ? error : notWritten(ledger.path, error);
      for (const { fail } of taken) fail(failure);
    }
  }
  ledger.isWorking = false;
}

/** Ends the wait for the lock once nobody waits any more: a process must not live on for it. */
function createSharedWait(taken: readonly Waiting[]): Pick<AbortSignal, 'throwIfAborted'> {
  return {
    throwIfAborted() {
      if (taken.every(({ signal }) => signal?.aborted)) taken[0]?.signal?.throwIfAborted();
    },
  };
}

/** False if the lock may be lost before anything is appended: the work is to be done again. */
async function workUnder(lock: Lock, taken: Waiting[], ledger: OpenLedger): Promise<boolean> {
  const handle = await openToAppend(ledger.path, 0o600);
  try {
    await catchUp(handle, ledger);
    if (!lock.look()) return false;
    const lines = makeAllLines(taken, ledger);
    await appendToLedger(handle, lines, ledger).catch((error: unknown) => {
      // What was not written does not belong to the state.
      Object.assign(ledger, unreadFile());
      throw error;
    });
    if (lines.some(({ type }) => type === 'reserved')) await handle.datasync();
    const { size } = await handle.stat();
    const { compactAt = 4 * 1024 * 1024, state } = ledger;
    // The lines are written: where compaction fails, the file stays as it is.
    if (size > Math.max(compactAt, 2 * state.compactedBytes))
      await compact(handle, lock, ledger).catch(() => undefined);
    return true;
  } finally {
    await handle.close();
  }
}

/** The lines of all changes, each of which sees those before it. What one throws is its own. */
function makeAllLines(taken: Waiting[], { state }: OpenLedger): LedgerLine[] {
  return [...taken].flatMap((waiting) => {
    try {
      const lines = waiting.change(state);
      for (const line of lines) applyLine(state, line);
      return lines;
    } catch (error) {
      taken.splice(taken.indexOf(waiting), 1);
      waiting.fail(error);
      return [];
    }
  });
}
