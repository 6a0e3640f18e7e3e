// The one lock of all that processes share: batches, sessions, budgets, rate groups and the config file. A lock is a file that is
// created exclusively and names its owner: host, PID namespace, process, and the boot and time at which that started, so that no
// later process of the same number is taken for it. The owner renews the file's time every ten seconds. On the owner's own host
// only the process counts: while it runs the lock is busy, however long it was not renewed, and once it has ended, or the machine
// was started again, the next one takes over at once. Elsewhere the lock is stale when its time is more than a minute off, before
// or after the clock of the file system, which is the only clock that all hosts share. To take over, a process creates
// `<lock>.takeover` exclusively, with its own name in it, looks at the lock again, and renames the one over the other; a takeover
// that was killed in between is judged like a lock. A stopped owner can lose its lock and wake up, so before each write that
// cannot be undone it checks that the file is still its own: the next owner reads all earlier writes, and after a loss there is none.
// Files are read and made synchronously: each turn through Node's threads gives the processor away, and on a busy machine the others
// would wait that long for a lock that nobody uses. Work that is synchronous, too, is done in the same turn as the lock is taken.
import { fstatSync, linkSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { open, realpath, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonic } from '../clock.ts';
import { getErrorCode } from '../errors.ts';
import { parseObject } from '../json.ts';
import { isRunning, ownMark, type ProcessMark } from './process-mark.ts';
import {
  closeQuietly,
  ignoreMissing,
  linkErrors,
  makeFolder,
  randomNonce,
  removeFile,
  requireReplaceable,
  statNewFile,
} from './temp-file.ts';

/** A lock, held until its release, the end of its process, or a takeover. */
export interface Lock {
  /** The owner from whom it was taken over. */
  takenFrom: LockOwner | undefined;
  /** Whether the lock is still held. A look within the last second counts. Throws errors of the system. */
  isHeld(): boolean;
  /** Looks now whether it is still held. Throws errors of the system. */
  look(): boolean;
  /** The owner of a lost lock; undefined if the lock was removed. */
  takenBy(): Pick<LockOwner, 'mark'> | undefined;
  release(): Promise<void>;
}

export interface LockOwner {
  /** The mark of the owner; undefined: the file is being written, or is not of this program. */
  mark: ProcessMark | undefined;
  /** Whether the process of the lock can be looked for on this host. */
  isHere: boolean;
  /** Time in ms until the lock is stale; 0 or less: it is stale now. */
  leftMs: number;
}

export interface LockTimes {
  renewMs: number;
  staleMs: number;
}

interface LockOptions {
  /** Time to wait for another owner, in ms. */
  waitMs?: number;
  /** Ends the wait: its reason is thrown. */
  signal?: Pick<AbortSignal, 'throwIfAborted'>;
  times?: LockTimes;
}

const usualTimes: LockTimes = { renewMs: 10_000, staleMs: 60_000 };
/** The longest pause between two looks while the queue is short, and at any time, ms. */
const [shortPauseMs, maxPauseMs] = [20, 500];
/**
 * Recent waiting times for each lock, ms: the queue is as long as that, and a look after a quarter of it is soon enough. If
 * thirty processes all look as often as they can, they take the processor from the one that they wait for.
 */
const recentWaits = new Map<string, number>();
/** Time that other processes may be busy with a lock that nobody has, in ms. */
const raceMs = 200;

/** Takes the lock at `path`, or returns its owner. Throws errors of the system. */
export async function takeLock(path: string, options: LockOptions = {}): Promise<Lock | { heldBy: LockOwner }> {
  const { waitMs = 0, signal, times = usualTimes } = options;
  const text = `${JSON.stringify({ ...ownMark(), nonce: randomNonce() })}\n`;
  const since = monotonic();
  const recent = recentWaits.get(path) ?? 0;
  const most = Math.min(Math.max(shortPauseMs, recent / 2), maxPauseMs);
  for (let pauseMs = Math.max(1, recent / 4); ; pauseMs *= 2) {
    signal?.throwIfAborted();
    const owner = await readOwner(path, options);
    const isStale = owner !== undefined && owner.leftMs <= 0;
    const isTaken = isStale ? await takeOver(path, { owner, text, options }) : !owner && createFile(path, text);
    const waited = monotonic() - since;
    if (isTaken) {
      recentWaits.set(path, (recent + waited) / 2);
      return holdLock(path, { text, times, takenFrom: owner });
    }

    const isBusy = owner !== undefined && !isStale;
    if (waited >= waitMs + (isBusy ? 0 : raceMs)) return { heldBy: owner ?? unknownOwner };
    await sleep((0.5 + Math.random() / 2) * Math.min(pauseMs, most));
  }
}

/** Does work while no other process has the lock at `path`. Throws the signal's reason, and errors of the system. */
export async function withLock<T>(
  path: string,
  signal: Pick<AbortSignal, 'throwIfAborted'>,
  work: (lock: Lock) => Promise<T> | T,
): Promise<T> {
  const lock = (await takeLock(path, { waitMs: Number.POSITIVE_INFINITY, signal })) as Lock;
  try {
    return await work(lock);
  } finally {
    await lock.release();
  }
}

/** The owner of the lock at `path`; undefined if it is free or stale. Throws errors of the system. */
export async function findOwner(path: string): Promise<LockOwner | undefined> {
  const found = readLock(path);
  if (found === undefined) return undefined;
  // If the folder cannot be written to, the clock of the file system cannot be read.
  const owner = await judgeLock(path, found, {}).catch(() => ({ ...found, isHere: false, leftMs: usualTimes.staleMs }));
  return owner.leftMs > 0 ? owner : undefined;
}

/** `process 4711 of another machine` */
export function describeOwner({ mark }: Pick<LockOwner, 'mark'>): string {
  const own = ownMark();
  if (mark === undefined) return 'another process';
  if (mark.host !== own.host) return `process ${mark.pid} of another machine`;
  return `process ${mark.pid}${mark.namespace === own.namespace ? '' : ' of another container'}`;
}

/** Makes the folder of a file that processes write under a lock. Throws errors of the system, and if no file can be there. */
export async function prepareSharedFile(path: string): Promise<void> {
  await makeFolder(dirname(path), 0o700);
  await requireReplaceable(await realpath(path).catch(() => path));
}

const unknownOwner: LockOwner = { mark: undefined, isHere: false, leftMs: Number.POSITIVE_INFINITY };

/** A lock file. */
interface FoundLock {
  /** The text of the lock file; no two locks have the same. */
  text: string;
  mark: ProcessMark | undefined;
  mtimeMs: number;
}

type FoundOwner = FoundLock & LockOwner;

/** The owner of a lock, stale or not; undefined if there is no file. */
async function readOwner(path: string, options: LockOptions): Promise<FoundOwner | undefined> {
  const found = readLock(path);
  return found && judgeLock(path, found, options);
}

function readLock(path: string): FoundLock | undefined {
  let fd: number | undefined;
  try {
    // Opened, because a network file system then reports a time that is not cached.
    fd = openSync(path, 'r');
    const text = readFileSync(fd, 'utf8');
    return { text, mark: parseLock(text), mtimeMs: fstatSync(fd).mtimeMs };
  } catch (error) {
    return ignoreMissing(error);
  } finally {
    if (fd !== undefined) closeQuietly(fd);
  }
}

/** The owner in the text of a lock; undefined if it cannot be read: the lock then counts as that of another machine. */
function parseLock(text: string): ProcessMark | undefined {
  const { host, pid, namespace, started } = parseObject(text);
  if (typeof host !== 'string' || typeof pid !== 'number') return undefined;
  return {
    host,
    pid,
    namespace: typeof namespace === 'string' ? namespace : undefined,
    started: typeof started === 'string' ? started : undefined,
  };
}

async function judgeLock(path: string, found: FoundLock, { times = usualTimes }: LockOptions): Promise<FoundOwner> {
  const running = found.mark && isRunning(found.mark);
  if (running !== undefined) return { ...found, isHere: true, leftMs: running ? Number.POSITIVE_INFINITY : 0 };

  // A new file has the current time by the clock of the file system.
  const { mtimeMs } = await statNewFile(dirname(path));
  return { ...found, isHere: false, leftMs: times.staleMs - Math.abs(mtimeMs - found.mtimeMs) };
}

/** Replaces a stale lock; false if it has changed, or another process is about to replace it. */
async function takeOver(
  path: string,
  { owner, text, options }: { owner: FoundOwner; text: string; options: LockOptions },
): Promise<boolean> {
  const takeover = `${path}.takeover`;
  if (!createFile(takeover, text)) {
    const other = await readOwner(takeover, options);
    if (other && other.leftMs <= 0) await removeFile(takeover);
    return false;
  }
  const now = await readOwner(path, options).catch(() => undefined);
  if (now?.text === owner.text && now.leftMs <= 0) {
    await rename(takeover, path);
    return true;
  }
  await removeFile(takeover);
  return false;
}

/** Time in ms for which a look at the file counts. */
const seenMs = 1000;

function holdLock(
  path: string,
  { text, times, takenFrom }: { text: string; times: LockTimes; takenFrom?: LockOwner | undefined },
): Lock {
  let seenAt = Date.now();
  let found: string | undefined = text;
  let released: Promise<void> | undefined;
  // A renewal that fails is repeated at the next beat.
  const beat = setInterval(() => void renew(path, text).catch(() => undefined), times.renewMs).unref();

  const look = (): boolean => {
    const now = Date.now();
    // A lock that was lost stays lost.
    if (found === text) found = readNow(path);
    seenAt = now;
    return found === text;
  };
  const releaseLock = async (): Promise<void> => {
    clearInterval(beat);
    // A lock file that stays would lock out this process itself, for as long as it lives.
    for (let attempt = 1; ; attempt++)
      try {
        if (readNow(path) === text) unlinkSync(path);
        return;
      } catch (error) {
        if (attempt === mostReleases) throw error;
        await sleep(releaseAgainMs);
      }
  };
  return {
    takenFrom,
    look,
    takenBy: () => (found === undefined ? undefined : { mark: parseLock(found) }),
    isHeld() {
      const ageMs = Date.now() - seenAt;
      return ageMs >= 0 && ageMs < seenMs ? found === text : look();
    },
    // The lock is released once: later the file may be another's.
    release: () => (released ??= releaseLock().catch(() => undefined)),
  };
}

/** Number of attempts to give back a lock if the system refuses it, and the pause between them. */
const mostReleases = 5;
const releaseAgainMs = 20;

function readNow(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return ignoreMissing(error);
  }
}

/** Writes the same byte, so that the file system sets the time by its own clock. The lock of another process is not changed. */
async function renew(path: string, text: string): Promise<void> {
  const handle = await open(path, 'r+').catch(ignoreMissing);
  try {
    if ((await handle?.readFile('utf8')) === text) await handle?.write(text.slice(0, 1), 0);
  } finally {
    await handle?.close();
  }
}

/**
 * Creates a file; false if it exists. It appears with its whole text: an empty file of a process that was killed meanwhile
 * would lock for a minute without an owner.
 */
function createFile(path: string, text: string): boolean {
  const whole = `${path}.${randomNonce()}.new`;
  const writeTo = (to: string): void => writeFileSync(to, text, { flag: 'wx', mode: 0o600 });
  try {
    writeTo(whole);
    try {
      linkSync(whole, path);
    } catch (error) {
      if (!linkErrors.has(getErrorCode(error) ?? '')) throw error;
      writeTo(path);
    }
    return true;
  } catch (error) {
    if (getErrorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    try {
      unlinkSync(whole);
    } catch {
      // The file was not made.
    }
  }
}
