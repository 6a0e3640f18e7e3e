import { readdir } from 'node:fs/promises';
import { getErrorCode, usageError } from '../errors.ts';
import { shellWord } from '../shell-word.ts';
import { describeReadError } from './file-reason.ts';

/** The names in a folder that need not be there; `what` is in it. Throws GatewayError usage. */
export async function listFolder(folder: string, what: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (getErrorCode(error) === 'ENOENT') return [];
    throw usageError(
      `the ${what} cannot be listed: ${describeReadError(error)}`,
      `look at it: ls -ld ${shellWord(folder)}`,
      error,
    );
  });
}
