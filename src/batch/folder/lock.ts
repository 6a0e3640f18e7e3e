import { join } from 'node:path';
import {
  cannotWrite,
  describeReadError,
  findOwner,
  GatewayError,
  type LockOwner,
  type LockTimes,
  type ProcessMark,
  shellWord,
  takeLock,
  usageError,
} from '../../library/index.ts';
import { batchFiles } from '../types.ts';

/** The right to send a batch's jobs and to write into its folder, held until `release` or until another run takes it over. */
export interface FolderLock {
  /** The owner from whom it was taken over. */
  takenFrom: LockOwner | undefined;
  /** Throws GatewayError batch-locked when another run has the lock, as seen within the last second. */
  check(): void;
  /** Reads the lock file now. Throws GatewayError batch-locked when another run has the lock. */
  confirm(): void;
  release(): Promise<void>;
}

/** The lock of a batch without a folder. */
export const noLock: FolderLock = {
  takenFrom: undefined,
  check: () => undefined,
  confirm: () => undefined,
  release: async () => undefined,
};

/** Takes the lock of a folder. Throws GatewayError batch-locked if another run has it, and not-written. */
export async function lockFolder(folder: string, times?: LockTimes): Promise<FolderLock> {
  const path = join(folder, batchFiles.lock);
  const lock = await takeLock(path, { ...(times && { times }) }).catch((error: unknown) => {
    throw cannotWrite(path, error);
  });
  if ('heldBy' in lock) throw lockedError(path, lock.heldBy);
  const requireOwnLock = (isOwn: () => boolean): void => {
    let isHeld;
    try {
      isHeld = isOwn();
    } catch (error) {
      throw cannotWrite(path, error);
    }
    if (!isHeld) throw lockLostError(lock.takenBy());
  };
  return {
    takenFrom: lock.takenFrom,
    check: () => requireOwnLock(lock.isHeld),
    confirm: () => requireOwnLock(lock.look),
    release: lock.release,
  };
}

/**
 * The owner of a folder's lock, if it is alive; its number is 0 if the file does not name its owner. Throws GatewayError usage for a
 * lock that cannot be read.
 */
export async function findHolder(folder: string): Promise<ProcessMark | undefined> {
  const path = join(folder, batchFiles.lock);
  const owner = await findOwner(path).catch((error: unknown) => {
    throw usageError(`${path} cannot be read: ${describeReadError(error)}`, undefined, error);
  });
  return owner && (owner.mark ?? { host: '', pid: 0 });
}

/** `process 4711 on host` */
export function describeRun(mark: ProcessMark | undefined): string {
  return mark === undefined || mark.pid === 0 ? 'another run' : `process ${mark.pid} on ${mark.host}`;
}

function lockedError(path: string, { mark, leftMs }: LockOwner): GatewayError {
  const takeover = `this command takes over after ${Math.ceil(Math.max(1000, leftMs) / 1000)} s`;
  const free = Number.isFinite(leftMs) ? takeover : `rm ${shellWord(path)}`;
  return new GatewayError('batch-locked', `${describeRun(mark)} works in this folder`, {
    hint: `wait for it; if it is dead: ${free}`,
    sent: 'no',
    retryable: true,
  });
}

/** The error of a lost lock. Requests that went out before are paid for. */
function lockLostError(by: Pick<LockOwner, 'mark'> | undefined): GatewayError {
  const message =
    by === undefined
      ? 'the lock of this folder was removed while this run used it'
      : `${describeRun(by.mark)} took this folder over while this run was stopped`;
  return new GatewayError('batch-locked', message, {
    hint: by === undefined ? 'run the same command again' : 'wait for it; then run the same command again',
    sent: 'unknown',
    billed: 'yes',
    retryable: true,
  });
}
