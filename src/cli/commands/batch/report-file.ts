import { realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { batchFiles } from '../../../batch/index.ts';
import type { Context } from '../../context.ts';
import { prefixUsageError } from '../../flags/flag.ts';
import { asideFile, checkFile, partNonce, usageError, writeNewFile } from '../../../library/index.ts';

/** The names of the files that runs write. */
const ownNames = [...Object.values(batchFiles), asideFile(batchFiles.journal), asideFile(batchFiles.results)];

/** Throws GatewayError usage if a report cannot be written to a file, or would replace a file of a batch. */
export async function requireFreeTarget(
  output: string,
  folders: readonly { folder: string }[],
  { force, context: { io } }: { force: boolean; context: Context },
): Promise<void> {
  await checkFile(output, { cwd: io.cwd, force }).catch(prefixUsageError('-o: '));
  const path = resolve(io.cwd, output);
  const target = await realpath(path).catch(async () => join(await realpath(dirname(path)), basename(path)));
  for (const { folder } of folders) {
    const [first] = relative(await realpath(folder), target).split(sep);
    const taken = ownNames.find((name) => name === first);
    if (taken !== undefined)
      throw usageError(`-o ${output}: the batch keeps its own ${taken} there`, 'name another file');
  }
}

/** Writes a report, whole or not at all. Throws GatewayError not-written. */
export function writeReport(
  output: string,
  texts: AsyncIterable<string>,
  { force, context: { io, signal } }: { force: boolean; context: Context },
): Promise<void> {
  const fill = async (append: (text: string) => Promise<void>): Promise<void> => {
    for await (const text of texts) {
      signal.throwIfAborted();
      await append(text);
    }
  };
  // A run can begin meanwhile in the folder of the report, and remove the unfinished files of runs before it.
  return writeNewFile(output, fill, { cwd: io.cwd, force, nonce: partNonce });
}
