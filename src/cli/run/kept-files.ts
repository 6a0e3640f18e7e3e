import { access, constants, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { shellWord } from '../../shell-word.ts';
import { recoveryFolders } from './keep-reply.ts';

/** So many recovery files are named. */
const mostNamed = 5;

/** The commands that write out the replies that are kept, the newest first; where none is, how a command looks. */
export async function recoverCommands(): Promise<string> {
  const files = (await Promise.all((await recoveryFolders()).map(keptIn))).flat().sort(newestFirst);
  if (files.length === 0)
    return 'there is no recovery file; with exit code 12, stderr names one: gateway-cli recover <file>';
  const more = files.length - mostNamed;
  return [
    'these are kept, the newest first:',
    ...files.slice(0, mostNamed).map(({ folder, name }) => `gateway-cli recover ${shellWord(join(folder, name))}`),
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join('\n');
}

/** Whether a reply was kept since then (ms since 1970), by whatever command. */
export async function isReplyKept(since: number): Promise<boolean> {
  const files = (await Promise.all((await recoveryFolders()).map(keptIn))).flat();
  return files.some(({ name }) => keptAt(name) + 1000 > since);
}

/** To the second, as its name has it; ms since 1970. */
function keptAt(name: string): number {
  return Date.parse(name.replace(/^\D*(....)(..)(..)T(..)(..)(..).*$/, '$1-$2-$3T$4:$5:$6Z'));
}

interface KeptFile {
  folder: string;
  name: string;
}

/** The folder for temporary files has other files too, and those of other users. */
async function keptIn(folder: string): Promise<KeptFile[]> {
  const names = await readdir(folder).catch(() => []);
  const kept = names.filter((name) => /^gateway-cli-\d{8}T\d{6}-[\da-f]{8}\.json$/.test(name));
  const readable = await Promise.all(
    kept.map((name) =>
      access(join(folder, name), constants.R_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  return kept.filter((_, index) => readable[index]).map((name) => ({ folder, name }));
}

/** Their names tell when they were written. */
function newestFirst(a: KeptFile, b: KeptFile): number {
  return a.name < b.name ? 1 : -1;
}
