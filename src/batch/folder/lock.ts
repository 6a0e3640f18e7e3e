import { randomBytes } from 'node:crypto';
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError } from '../../errors.ts';
import { isObject, parseObject } from '../../json.ts';
import { holdLease, type LeaseOptions, leaseLeft, type LeaseTimes, readClocks } from '../../files/lease.ts';
import { isRunning, ownMark, type ProcessMark } from '../../files/process-mark.ts';
import { cannotWrite } from '../../files/synced-file.ts';
import { batchFiles } from '../types.ts';
import { shellWord } from '../../shell-word.ts';
import { createFile, readText, takeOver } from '../../files/lock.ts';

/** The right to send a batch's jobs and to write into its folder, held until `release` or until another run takes it over. */
export interface Lock {
  /** The previous holder, if its lock was taken over. `ranOut`: its lease expired, and its process cannot be checked from this host. */
  takenFrom: (ProcessMark & { ranOut: boolean }) | undefined;
  /** Undefined: surely held. Else it is read again. Throws GatewayError batch-locked when another run has it. */
  check(): Promise<void> | undefined;
  /** Reads it again. Throws GatewayError batch-locked when another run has it. */
  confirm(): Promise<void>;
  release(): Promise<void>;
}

/** The lock of a batch without a folder. */
export const noLock: Lock = {
  takenFrom: undefined,
  check: () => undefined,
  confirm: async () => undefined,
  release: async () => undefined,
};

/** Only machines and containers that cannot see each other's processes look at the time. */
const usualTimes: LeaseTimes = { beatMs: 10_000, leaseMs: 60_000 };

interface Found {
  mark: ProcessMark;
  /** The file as it was read. */
  text: string;
}

/** Takes the lock of a folder, by O_EXCL; a dead process's lock is taken over. Throws GatewayError batch-locked. */
export async function takeLock(folder: string, times = usualTimes): Promise<Lock> {
  const path = join(folder, batchFiles.lock);
  const text = `${JSON.stringify({ mark: ownMark(), nonce: randomBytes(8).toString('hex') })}\n`;
  for (let tries = 0; tries < 5; tries++) {
    const lease = { path, text, since: readClocks(), isDead: hasGone, ...times };
    if (await written(path, createFile(path, text))) return hold(lease, undefined);
    const found = await read(path);
    if (found === undefined) continue;
    const ranOut = isRunning(found.mark) === undefined;
    const leftMs = await timeLeft(path, found, times.leaseMs);
    if (leftMs > 0) throw lockedError(path, found.mark, leftMs);
    const isStillDead = async (): Promise<boolean> => (await timeLeft(path, found, times.leaseMs)) <= 0;
    const taken = takeOver({ path, dead: found.text, own: text, isDead: hasGone, isStillDead });
    if (await written(path, taken)) return hold(lease, { ...found.mark, ranOut });
  }
  throw lockedError(path, undefined, Number.POSITIVE_INFINITY);
}

/** The holder of a folder's lock, if it is alive. */
export async function findHolder(folder: string): Promise<ProcessMark | undefined> {
  const path = join(folder, batchFiles.lock);
  const found = await read(path);
  if (found === undefined) return undefined;
  // In a folder that cannot be written to, the lease cannot be read.
  const leftMs = await timeLeft(path, found, usualTimes.leaseMs).catch(() => 1);
  return leftMs > 0 ? found.mark : undefined;
}

function hold(options: LeaseOptions, takenFrom: Lock['takenFrom']): Lock {
  const { path, text } = options;
  const lease = holdLease(options);
  const confirm = async (): Promise<void> => {
    if (!(await written(path, lease.confirm()))) throw lostError(await read(path).catch(() => undefined));
  };
  return {
    takenFrom,
    check: () => (lease.isHeld() ? undefined : confirm()),
    confirm,
    async release() {
      lease.end();
      if ((await read(path))?.text === text) await unlink(path).catch(() => undefined);
    },
  };
}

/** Throws GatewayError not-written for what the system says. */
function written<Value>(path: string, action: Promise<Value>): Promise<Value> {
  return action.catch((error: unknown) => {
    throw cannotWrite(path, error);
  });
}

/** Undefined if it was removed meanwhile. A lock that is not written yet, or not valid, has an unknown holder. */
async function read(path: string): Promise<Found | undefined> {
  const text = await written(path, readText(path));
  return text === undefined ? undefined : { mark: markIn(text), text };
}

function markIn(text: string): ProcessMark {
  const { mark } = parseObject(text);
  // Its writer was killed between two system calls, or is between them now: its age decides.
  return isObject(mark) ? (mark as unknown as ProcessMark) : { host: '', pid: 0 };
}

/** In ms; 0 or less: it is dead. Infinity: its process is seen to run. */
async function timeLeft(path: string, { mark }: Found, leaseMs: number): Promise<number> {
  const running = isRunning(mark);
  if (running !== undefined) return running ? Number.POSITIVE_INFINITY : 0;
  // A lock that was removed meanwhile is looked for again.
  return (await written(path, leaseLeft(path, leaseMs))) ?? 0;
}

function hasGone(text: string): boolean {
  return isRunning(markIn(text)) === false;
}

function nameOf(mark: ProcessMark | undefined): string {
  return mark === undefined || mark.pid === 0 ? 'another run' : `process ${mark.pid} on ${mark.host}`;
}

function lockedError(path: string, mark: ProcessMark | undefined, leftMs: number): GatewayError {
  const takeover = `this command takes over after ${Math.ceil(leftMs / 1000)} s`;
  const free = Number.isFinite(leftMs) ? takeover : `rm ${shellWord(path)}`;
  return new GatewayError('batch-locked', `${nameOf(mark)} works in this folder`, {
    hint: `wait for it; if it is dead: ${free}`,
    sent: 'no',
    retryable: true,
  });
}

/** What went out before is paid for. */
function lostError(by: Found | undefined): GatewayError {
  const message =
    by === undefined
      ? 'the lock of this folder was removed while this run used it'
      : `${nameOf(by.mark)} took this folder over while this run was stopped`;
  return new GatewayError('batch-locked', message, {
    hint: by === undefined ? 'run the same command again' : 'wait for it; then run the same command again',
    sent: 'unknown',
    billed: 'yes',
    retryable: true,
  });
}
