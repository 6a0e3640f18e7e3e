import { randomBytes } from 'node:crypto';
import { settingError, usageError } from '../errors.ts';
import { writeReason } from '../files/file-reason.ts';
import { removeFile } from '../files/temp-file.ts';
import { parseObject } from '../json.ts';
import { createFile, readText, takeOver } from '../files/lock/takeover.ts';
import { isRunning, ownMark, type ProcessMark } from '../files/lock/processes.ts';
import { shellWord } from '../shell-word.ts';

/** A session that only this process writes. */
export interface SessionLock {
  release(): Promise<void>;
}

/**
 * Takes `<path>.lock`, so that two chats never write one session: from the reading to the last turn. A lock whose process
 * has gone is taken over. Throws GatewayError usage, before anything is paid for.
 */
export async function lockSession(path: string): Promise<SessionLock> {
  const lock = `${path}.lock`;
  for (let attempt = 0; attempt < 5; attempt++) {
    const own = JSON.stringify({ ...ownMark(), nonce: randomBytes(8).toString('hex') });
    if (await create(path, lock, own)) return heldLock(lock);
    const owner = await readText(lock);
    if (owner === undefined) continue;
    if (!isStale(owner)) throw inUse(path, lock, owner);
    if (await takeOver({ path: lock, dead: owner, own, isDead: isStale })) return heldLock(lock);
  }
  throw inUse(path, lock, '');
}

function heldLock(lock: string): SessionLock {
  return { release: once(() => removeFile(lock).catch(() => {})) };
}

/** A lock that was released may be another's by then. */
function once(release: () => Promise<void>): () => Promise<void> {
  let released: Promise<void> | undefined;
  return () => (released ??= release());
}

/** Refuses where somebody writes the session now. Throws GatewayError usage. */
export async function refuseLocked(path: string): Promise<void> {
  const lock = await lockSession(path);
  await lock.release();
}

async function create(path: string, lock: string, own: string): Promise<boolean> {
  return createFile(lock, own).catch((error: unknown) => {
    throw settingError(`the session ${JSON.stringify(path)} cannot be written: ${writeReason(error)}`, {
      reason: 'session-place',
      cause: error,
    });
  });
}

/** Of a process on this machine that has gone. Half a lock is somebody's who is writing it now. */
function isStale(owner: string): boolean {
  const mark = parse(owner);
  return mark !== undefined && isRunning(mark) === false;
}

function parse(owner: string): ProcessMark | undefined {
  const { host, pid, namespace, started } = parseObject(owner);
  if (typeof host !== 'string' || typeof pid !== 'number') return undefined;
  return { host, pid, namespace: textOf(namespace), started: textOf(started) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function inUse(path: string, lock: string, owner: string): Error {
  return usageError(
    `the session ${JSON.stringify(path)} is in use by ${holderOf(owner)}`,
    `wait for it, or if it no longer runs: rm ${shellWord(lock)}`,
  );
}

function holderOf(owner: string): string {
  const [mark, own] = [parse(owner), ownMark()];
  if (mark === undefined) return 'another';
  if (mark.host !== own.host) return `process ${mark.pid} of another machine`;
  return `process ${mark.pid}${mark.namespace === own.namespace ? '' : ' of another container'}`;
}
