import { readFileSync } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonic } from '../clock.ts';
import {
  claimTakeover,
  createFile,
  isDead,
  ownLockText,
  parseMark,
  readText,
  releaseClaims,
  takeOver,
} from './lock.ts';
import { isRunning } from './process-mark.ts';
import { ignoreMissing, makeFolder, removeFile, requireReplaceable, statNewFile } from './temp-file.ts';

/** How long a lock holds if its process cannot be checked from here. */
export interface LeaseTimes {
  /** The interval at which the holder renews it. */
  beatMs: number;
  /** A lock that was not renewed for this time is free. */
  leaseMs: number;
}

/** A lock file, kept alive by its holder. */
export interface Lease {
  /** Whether the time since the last renewal is too short for a takeover. Does not read the file. */
  isHeld(): boolean;
  /** Reads the file, and renews a lease that is not sure; false from the moment that another process has the lock. */
  confirm(): Promise<boolean>;
  /** Stops the renewals. */
  end(): void;
}

export interface LeaseOptions extends LeaseTimes {
  path: string;
  /** The text of the lock, which is unique. */
  text: string;
  /** The time before the file was written. */
  since: ClockTimes;
  /** Whether the process that wrote a text has certainly ended. */
  isDead(text: string): boolean;
}

/** Two clocks: the monotonic one stops while the machine sleeps, the wall clock can be set back. */
export interface ClockTimes {
  monotonic: number;
  wall: number;
}

export function readClocks(): ClockTimes {
  return { monotonic: monotonic(), wall: Date.now() };
}

/**
 * Whether so much of a lease is over that another process may be about to take the lock. Others compare its age with the lease by
 * the clock of the file system; the holder, whose clock may be slower, relies on it for three quarters of the time only.
 */
function isLate(renewedAt: ClockTimes, leaseMs: number): boolean {
  const now = readClocks();
  return Math.max(now.monotonic - renewedAt.monotonic, now.wall - renewedAt.wall) > (leaseMs * 3) / 4;
}

/** Keeps a lock file alive. */
export function holdLease({ path, text, since, isDead, beatMs, leaseMs }: LeaseOptions): Lease {
  const state = { renewedAt: since, isLost: false };
  let renewing: Promise<void> | undefined;

  const isOwnLate = (): boolean => isLate(state.renewedAt, leaseMs);

  async function renew(): Promise<void> {
    const began = readClocks();
    const isOwn = isOwnLate() ? await renewLate() : await touch(path, text);
    if (isOwn) state.renewedAt = began;
    else state.isLost = true;
  }

  /** Another process may be about to take it over, so that the claim to replace it is needed. */
  async function renewLate(): Promise<boolean> {
    const claims = await claimTakeover({ path, dead: text, own: text, isDead });
    if (claims === undefined) return false;
    return touch(path, text).finally(() => releaseClaims(claims));
  }

  const renewOnce = (): Promise<void> => (renewing ??= renew().finally(() => (renewing = undefined)));
  // A failed renewal is repeated at the next beat.
  const beat = setInterval(() => void renewOnce().catch(() => undefined), beatMs).unref();
  return {
    isHeld: () => !state.isLost && !isOwnLate(),
    async confirm() {
      while (!state.isLost && isOwnLate()) await renewOnce();
      if (!state.isLost && readNow(path) !== text) state.isLost = true;
      return !state.isLost;
    },
    end: () => clearInterval(beat),
  };
}

/** Synchronous, like the writes of the journal: a turn through Node's threads takes longer than the read itself. */
function readNow(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return ignoreMissing(error);
  }
}

/** Renews a lock; false if it is another's or was removed. */
async function touch(path: string, text: string): Promise<boolean> {
  const handle = await open(path, 'r+').catch(ignoreMissing);
  if (handle === undefined) return false;
  try {
    if ((await handle.readFile('utf8')) !== text) return false;
    // Writes the same byte, so that the file system sets the time by its own clock.
    await handle.write(text.slice(0, 1), 0);
    return true;
  } finally {
    await handle.close();
  }
}

/** The rest of a lease in ms, by the clock of the file system; negative if it has expired. Undefined if the file was removed. */
export async function leaseLeft(path: string, leaseMs: number): Promise<number | undefined> {
  const renewedAt = await renewalTime(path);
  if (renewedAt === undefined) return undefined;
  // A new file gives the current time by the same clock: the clocks of two machines may differ.
  const { mtimeMs } = await statNewFile(dirname(path));
  return leaseMs - (mtimeMs - renewedAt);
}

/** Opens the file, because a network file system then reports a time that is not cached. */
async function renewalTime(path: string): Promise<number | undefined> {
  const handle = await open(path, 'r').catch(ignoreMissing);
  try {
    return (await handle?.stat())?.mtimeMs;
  } finally {
    await handle?.close();
  }
}

/** A lock that its holder keeps for milliseconds, among the processes of all hosts that share the folder. */
export interface BriefLock {
  /** Whether it is certain that no other host has taken the lock over: too little time has passed. */
  isHeld(): boolean;
}

/** A brief lock whose process cannot be checked from here is free after this time, ms. */
const briefLeaseMs = 30_000;
/** The longest wait between two attempts, ms. */
const maxWaitMs = 20;
/** A brief lock is held for less, ms, but on a busy disk. */
const usualMs = 50;

/** Makes the folder of a file that processes write under a brief lock. Throws errors of the system, and if no file can be there. */
export async function prepareSharedFile(path: string): Promise<void> {
  await makeFolder(dirname(path), 0o700);
  await requireReplaceable(await realpath(path).catch(() => path));
}

/**
 * Does work while no other process holds the lock file at `path`. The lock of a process that ended is taken over at once, that of
 * another host after its lease. Throws the signal's reason, and errors of the system.
 */
export async function withBriefLock<T>(
  path: string,
  signal: Pick<AbortSignal, 'throwIfAborted'>,
  work: (lock: BriefLock) => Promise<T>,
): Promise<T> {
  const own = ownLockText();
  const since = await takeBriefLock(path, own, signal);
  try {
    return await work({ isHeld: () => !isLate(since, briefLeaseMs) });
  } finally {
    if ((await readText(path).catch(() => undefined)) === own) await removeFile(path).catch(() => undefined);
  }
}

async function takeBriefLock(
  path: string,
  own: string,
  signal: Pick<AbortSignal, 'throwIfAborted'>,
): Promise<ClockTimes> {
  let seen: { text: string; since: number } | undefined;
  for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, maxWaitMs)) {
    signal.throwIfAborted();
    const since = readClocks();
    const found = await readText(path);
    if (found === undefined) {
      if (await createFile(path, own)) return since;
      continue;
    }
    if (seen?.text !== found) seen = { text: found, since: since.monotonic };
    // Only if the lock is held for longer than usual: to check whether its holder is running costs more than the wait.
    if (since.monotonic - seen.since > usualMs) {
      const seenMs = since.monotonic - seen.since;
      const isStillDead = (): Promise<boolean> => hasEnded(path, found, seenMs);
      if ((await isStillDead()) && (await takeOver({ path, dead: found, own, isDead, isStillDead }))) return since;
    }
    await sleep(Math.random() * waitMs);
  }
}

/**
 * Whether the holder of a brief lock has ended, or its lease is over where that cannot be checked: by the clock of the file system, or
 * because the lock was there for so long. A file can be from the future.
 */
async function hasEnded(path: string, text: string, seenMs: number): Promise<boolean> {
  const mark = parseMark(text);
  const running = mark && isRunning(mark);
  if (running !== undefined) return !running;
  return seenMs > briefLeaseMs || ((await leaseLeft(path, briefLeaseMs)) ?? briefLeaseMs) <= 0;
}
