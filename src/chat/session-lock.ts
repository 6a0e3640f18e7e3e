import { settingError, usageError } from '../errors.ts';
import { writeReason } from '../files/file-reason.ts';
import { type ProcessLock, takeProcessLock } from '../files/lock/process-lock.ts';
import { shellWord } from '../shell-word.ts';

/**
 * Takes `<path>.lock`, so that two chats never write one session: from the reading to the last turn. Throws GatewayError
 * usage, before anything is paid for.
 */
export async function lockSession(path: string): Promise<ProcessLock> {
  const file = `${path}.lock`;
  const lock = await takeProcessLock(file).catch((error: unknown) => {
    throw settingError(`the session ${JSON.stringify(path)} cannot be written: ${writeReason(error)}`, {
      reason: 'session-place',
      cause: error,
    });
  });
  if ('release' in lock) return lock;
  throw usageError(
    `the session ${JSON.stringify(path)} is in use by ${lock.heldBy}`,
    `wait for it, or if it no longer runs: rm ${shellWord(file)}`,
  );
}

/** Throws GatewayError usage where another process writes the session now. */
export async function refuseLocked(path: string): Promise<void> {
  const lock = await lockSession(path);
  await lock.release();
}
