import { fdatasync, fstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { monotonic } from '../clock.ts';
import { GatewayError, usageError } from '../errors.ts';
import { type Lock, withLock } from '../files/lock.ts';
import { ownMark } from '../files/process-mark.ts';
import { openToAppendNow } from '../files/synced-file.ts';
import { closeQuietly, notWritten, randomNonce, syncFolder } from '../files/temp-file.ts';
import { sumAmounts, areWithin, subtractAmounts, sumHeld } from './cost.ts';
import {
  type BatchEnd,
  type LedgerEntry,
  type LedgerLimit,
  type LedgerLine,
  type ReservedLine,
  type SpentLine,
  toReadableLine,
} from './ledger-lines.ts';
import {
  appendToLedger,
  applyLine,
  catchUp,
  judgeProcesses,
  type LedgerFile,
  type LedgerState,
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
  /** The id, which no other request or batch has. */
  id: string;
  /** The most that each request can cost. */
  bounds: readonly Bound[];
  currency: string;
}

/** A budget that processes share: one file of JSON lines, to which each appends under a lock. */
export interface Ledger {
  /**
   * Writes down the most that a request can cost, synced, and returns its id. Waits while requests of running processes have
   * reserved the rest. Returns the spent amount if the request could exceed the limit whatever the others cost. Throws the
   * signal's reason, GatewayError usage for another currency, and not-written.
   */
  reserve(request: LedgerRequest, signal: AbortSignal): Promise<{ id: string } | { spent: string }>;
  /**
   * Writes down the cost of a request: an amount, or `unknown` if it may have been billed. After the signal it waits for seconds
   * only. Throws GatewayError not-written.
   */
  spend(id: string, amount: string, answered?: Pick<SpentLine, 'model' | 'lane' | 'told'> & WaitEnd): Promise<void>;
  /**
   * Reserves an amount for a batch, as `reserve` does. It stays reserved until the end of the batch is recorded, even if its
   * process dies.
   */
  reserveBatch(batch: LedgerBatch, signal: AbortSignal): Promise<{ id: string } | { spent: string }>;
  /** Writes down the cost of a batch, once. Throws GatewayError not-written. */
  endBatch(id: string, end: BatchEnd & { amount: string; unknown: number }): Promise<void>;
  /** The amount that is neither spent nor reserved, and the highest cost of one request. Throws GatewayError not-written. */
  left(): Promise<{ left: string; dearest: string }>;
  /** Writes down that a request, or a batch, was not billed. Throws GatewayError not-written. */
  free(id: string, signal?: AbortSignal | undefined): Promise<void>;
  /** Writes down a request that a recording answered, and the cost that it would have had. Throws GatewayError not-written. */
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

/** Work on the ledger. It returns the lines to append, or undefined: then it is tried again when there may be room. */
type Change = (state: LedgerState, isInFlight: ReturnType<typeof judgeProcesses>) => LedgerLine[] | undefined;

interface WaitingChange {
  change: Change;
  isReservation: boolean;
  /** Ends the wait for the lock. */
  signal: Pick<AbortSignal, 'aborted' | 'throwIfAborted'> | undefined;
  done: () => void;
  fail: (error: unknown) => void;
}

interface OpenLedger extends LedgerOptions, LedgerFile {
  waiting: WaitingChange[];
  /** Reservations that found no room. */
  parked: WaitingChange[];
  isWorking: boolean;
  /** Ends the pause, so that the parked reservations are tried again. */
  wake: () => void;
}

/** The word in place of an amount: the request counts with its reserved amount. */
export const unknownAmount = 'unknown';

/** Opens a ledger; the file is made by the first request. */
export function openLedger(options: LedgerOptions): Ledger {
  const ledger: OpenLedger = {
    ...options,
    ...unreadFile(),
    waiting: [],
    parked: [],
    isWorking: false,
    wake: () => undefined,
  };
  return {
    reserve: ({ bound, ...request }, signal) => {
      const id = randomNonce();
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
      let left!: { left: string; dearest: string };
      await changeLedger(ledger, (state) => {
        const { spent, held, inFlight } = computeSpent(state, ledger.limit.per, ledger.now());
        const taken = sumAmounts([spent, held, inFlight]);
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

/** Ends a reservation, once. */
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
  return changeLedger(ledger, makeLines, { signal: signal && withGrace(signal) });
}

function free(ledger: OpenLedger, id: string, signal?: AbortSignal): Promise<void> {
  return endReservation(ledger, id, () => ({ type: 'freed', id, at: getLedgerTime(ledger) }), signal);
}

/** Time in ms that an end waits for the lock if it comes with the signal, or after it. Without its line, the reserved amount counts. */
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
  let reserved: { id: string } | { spent: string } = { id };
  const makeLines: Change = (state, isInFlight) => {
    if (signal.aborted) return [];
    requireCurrency(state, request.currency, ledger.path);
    const amount = sumHeld(bounds, state.dearest);
    const room = roomFor(amount, state, { limit: ledger.limit, now: ledger.now(), isInFlight });
    if (room === 'taken') return undefined;
    const { limit } = ledger;
    const isNewLimit = state.limit?.amount !== limit.amount || state.limit.per !== limit.per;
    const limits = isNewLimit ? [{ type: 'limit', ...limit } as const] : [];
    if (room !== 'free') reserved = room;
    if (room !== 'free') return limits;
    return [...limits, { type: 'reserved', ...request, at: getLedgerTime(ledger), amount, by: ownMark() }];
  };
  const changed = changeLedger(ledger, makeLines, { signal, isReservation: true });
  await orAborted(changed, signal).catch((error: unknown) => {
    ledger.wake();
    // The line may be written after the signal.
    void changed.then(() => free(ledger, id)).catch(() => undefined);
    throw error;
  });
  return reserved;
}

/** Waits for work, at most until the signal. Throws its reason. */
async function orAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let stop!: () => void;
  const aborted = new Promise<void>((resolve) => (stop = resolve));
  signal.addEventListener('abort', stop);
  await Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', stop));
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

/** Appends lines under the lock. All changes of this process at a time share one lock and one sync. */
function changeLedger(
  ledger: OpenLedger,
  change: Change,
  { signal, isReservation = false }: Partial<WaitingChange> = {},
): Promise<void> {
  return new Promise((done, fail) => {
    ledger.waiting.push({ change, isReservation, signal, done, fail });
    ledger.wake();
    if (!ledger.isWorking) void workOff(ledger);
  });
}

/** The longest pause until parked reservations are tried again, ms. */
const maxPauseMs = 500;

async function workOff(ledger: OpenLedger): Promise<void> {
  ledger.isWorking = true;
  for (let pauseMs = 25; ledger.waiting.length + ledger.parked.length > 0;) {
    // Changes of the same turn of the event loop are made together.
    await nextTurn();
    const isChanged = await workTogether(ledger);
    if (ledger.waiting.length > 0 || ledger.parked.length === 0) continue;
    pauseMs = isChanged ? 25 : Math.min(pauseMs * 2, maxPauseMs);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pauseMs * (0.5 + Math.random() / 2));
      ledger.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
  ledger.isWorking = false;
}

/**
 * Makes the waiting changes under one lock. Reservations are on the disk before their callers hear of them, and the lock is not
 * held while the disk works.
 */
async function workTogether(ledger: OpenLedger): Promise<boolean> {
  const work: Work = { fd: undefined, taken: [], lines: [], isNew: false };
  try {
    await withLock(`${ledger.path}.lock`, createSharedWait(ledger), (lock) => workUnder(lock, ledger, work));
    if (work.fd !== undefined && work.lines.some(({ type }) => type === 'reserved')) await sync(work.fd);
    if (work.isNew) await syncFolder(dirname(ledger.path));
    for (const { done } of work.taken) done();
  } catch (error) {
    const failure = error instanceof GatewayError ? error : notWritten(ledger.path, error);
    const failed = work.taken.length > 0 ? work.taken : takeAll(ledger);
    for (const { fail } of failed) fail(failure);
  } finally {
    if (work.fd !== undefined) closeQuietly(work.fd);
  }
  return work.lines.length > 0;
}

function sync(fd: number): Promise<void> {
  return new Promise((done, fail) => fdatasync(fd, (error) => (error ? fail(error) : done())));
}

/** Takes all changes in their order. Ends of requests come first, since they make room; parked reservations come before new ones. */
function takeAll({ parked, waiting }: OpenLedger): WaitingChange[] {
  const all = [...parked.splice(0), ...waiting.splice(0)];
  return all.toSorted((a, b) => Number(a.isReservation) - Number(b.isReservation));
}

/** The work under one lock. */
interface Work {
  /** The file, as soon as it is open. */
  fd: number | undefined;
  isNew: boolean;
  taken: WaitingChange[];
  lines: LedgerLine[];
}

/** Ends the wait for the lock once nobody waits any more: a process must not live on for it. */
function createSharedWait({ waiting, parked }: OpenLedger): Pick<AbortSignal, 'throwIfAborted'> {
  return {
    throwIfAborted() {
      const all = [...parked, ...waiting];
      if (all.every(({ signal }) => signal?.aborted)) all[0]?.signal?.throwIfAborted();
    },
  };
}

/**
 * Works under the lock. Everything up to compaction is synchronous: other processes wait for the lock no longer than it is used.
 * If the lock may be lost before anything is appended, the changes go on waiting.
 */
async function workUnder(lock: Lock, ledger: OpenLedger, work: Work): Promise<void> {
  const { path } = ledger;
  const fd = (work.fd = openToAppendNow(path, 0o600));
  catchUp(fd, ledger);
  if (!lock.look()) return;
  work.isNew = ledger.end === 0;
  makeLines(ledger, work);
  try {
    appendToLedger(fd, work.lines, ledger);
  } catch (error) {
    // The state is read again from the file: it must not have lines that were not written.
    Object.assign(ledger, unreadFile());
    throw error;
  }
  const { compactAt = 256 * 1024, state } = ledger;
  // The lines are written: if compaction fails, the file stays as it is.
  if (fstatSync(fd).size > Math.max(compactAt, 2 * state.compactedBytes))
    await compact(fd, lock, ledger).catch(() => undefined);
}

/** Makes the lines of all changes, each of which sees the ones before it. The exception of a change goes to its own caller. */
function makeLines(ledger: OpenLedger, { taken, lines }: Work): void {
  const isInFlight = judgeProcesses(ledger.now());
  for (const waiting of takeAll(ledger)) {
    try {
      const made = waiting.change(ledger.state, isInFlight);
      if (made === undefined) {
        ledger.parked.push(waiting);
        continue;
      }
      for (const each of made) {
        const line = toReadableLine(each);
        applyLine(ledger.state, line);
        lines.push(line);
      }
      taken.push(waiting);
    } catch (error) {
      waiting.fail(error);
    }
  }
}
