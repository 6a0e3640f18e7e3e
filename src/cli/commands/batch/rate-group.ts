import { appendFile, readFile, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  describeReadError,
  describeWriteError,
  ignoreMissing,
  prepareSharedFile,
  usageError,
} from '../../../library/index.ts';
import { isBudgetPath } from '../../settings/values.ts';
import { stateFolder } from '../../settings/config-file.ts';

/** The path of a group: a name is a file in the state folder, a word with a slash a path. Throws GatewayError usage if no file can be there. */
export async function prepareRateGroup(group: string, cwd: string): Promise<string> {
  const path = isBudgetPath(group) ? resolve(cwd, group) : join(await stateFolder(), 'rates', `${group}.json`);
  const hint = 'name a file in a folder that can be written: --rate-group ./team.json';
  const refuse = (describe: (error: unknown) => string) => (error: unknown) => {
    throw usageError(`--rate-group ${group} cannot be kept: ${describe(error)}`, hint, error);
  };
  await prepareSharedFile(path).catch(refuse(describeWriteError));
  const found = await readFile(path, 'utf8').catch(ignoreMissing).catch(refuse(describeReadError));
  // A crash can leave the file empty, or full of zeros.
  const text = found?.replaceAll('\0', '') ?? '';
  if (text.trim() !== '' && !text.startsWith('{"next":'))
    throw usageError(
      `${path} is not the file of a rate group`,
      'name another file, which can be new: --rate-group <path>',
    );
  // A link is resolved: its name and that of its file, which need not exist yet, are the same group.
  if (text === '') await appendFile(path, '').catch(refuse(describeWriteError));
  return realpath(path);
}
