import { appendFile, readFile, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describeWriteError, notWritten, prepareSharedFile, usageError } from '../../../library/index.ts';
import { isBudgetPath } from '../../settings/values.ts';
import { stateFolder } from '../../settings/config-file.ts';

/** The path of a group: a name is a file in the state folder, a word with a slash a path. Throws GatewayError usage if no file can be there. */
export async function prepareRateGroup(group: string, cwd: string): Promise<string> {
  const path = isBudgetPath(group) ? resolve(cwd, group) : join(await stateFolder(), 'rates', `${group}.json`);
  try {
    await prepareSharedFile(path);
  } catch (error) {
    const hint = 'name a file in a folder that can be written: --rate-group ./team.json';
    throw usageError(`--rate-group ${group} cannot be kept: ${describeWriteError(error)}`, hint, error);
  }
  // A crash can leave the file empty, or full of zeros.
  const text = (await readText(path)).replaceAll('\0', '');
  if (text.trim() !== '' && !text.startsWith('{"next":'))
    throw usageError(
      `${path} is not the file of a rate group`,
      'name another file, which can be new: --rate-group <path>',
    );
  // A link is resolved: its name and that of its file, which need not exist yet, are the same group.
  if (text === '')
    await appendFile(path, '').catch((error: unknown) => {
      throw notWritten(path, error);
    });
  return realpath(path);
}

function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw notWritten(path, error);
  });
}
