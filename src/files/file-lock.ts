import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClockTimes, isLate, leaseLeft, readClocks } from './lease.ts';
import { isDead, parseMark, takeOver } from './lock.ts';
import { isRunning, ownMark } from './process-mark.ts';
import { createFile, readText, removeFile } from './temp-file.ts';

/** A lock that its holder keeps for milliseconds, among the processes of all hosts that share the folder. */
export interface HeldLock {
  /** Whether it is certain that no other host has taken the lock over: too little time has passed. */
  isHeld(): boolean;
}

/** A lock whose process cannot be checked from here is free after this time, ms. */
const leaseMs = 30_000;
/** The longest wait between two attempts, ms. */
const maxWaitMs = 20;
/** A lock is held for less, ms, but on a busy disk. */
const usualMs = 50;

/**
 * Does work while no other process holds the lock file at `path`. The lock of a process that ended is taken over at once, that of
 * another host after its lease. Throws the signal's reason, and errors of the system.
 */
export async function withFileLock<T>(
  path: string,
  signal: AbortSignal,
  work: (lock: HeldLock) => Promise<T>,
): Promise<T> {
  const own = JSON.stringify({ ...ownMark(), nonce: randomBytes(8).toString('hex') });
  const since = await take(path, own, signal);
  try {
    return await work({ isHeld: () => !isLate(since, leaseMs) });
  } finally {
    if ((await readText(path).catch(() => undefined)) === own) await removeFile(path).catch(() => undefined);
  }
}

async function take(path: string, own: string, signal: AbortSignal): Promise<ClockTimes> {
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
    // Whether the holder is running is looked at where it holds the lock for longer than usual: that costs more than the wait.
    if (since.monotonic - seen.since > usualMs && (await replace(path, own, found))) return since;
    await sleep(Math.random() * waitMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Takes over a lock whose holder has ended; false if it is not over. */
async function replace(path: string, own: string, dead: string): Promise<boolean> {
  const isStillDead = (): Promise<boolean> => hasEnded(path, dead);
  return (await isStillDead()) && takeOver({ path, dead, own, isDead, isStillDead });
}

/** Whether the holder of a lock has ended, or its lease is over where that cannot be checked. */
async function hasEnded(path: string, text: string): Promise<boolean> {
  const mark = parseMark(text);
  const running = mark && isRunning(mark);
  if (running !== undefined) return !running;
  return ((await leaseLeft(path, leaseMs)) ?? leaseMs) <= 0;
}
