import { readdir } from 'node:fs/promises';
import { getErrorCode, usageError } from '../errors.ts';
import { shellWord } from '../shell-word.ts';
import { describeReadError } from './file-reason.ts';

/** The names in a folder, which need not be there. `content` is a word for its files: `sessions`. Throws GatewayError usage. */
export async function listFolder(folder: string, content: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (getErrorCode(error) === 'ENOENT') return [];
    throw usageError(
      `the ${content} cannot be listed: ${describeReadError(error)}`,
      `look at it: ls -ld ${shellWord(folder)}`,
      error,
    );
  });
}
