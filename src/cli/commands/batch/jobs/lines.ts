import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { makeRereadable, readBlocks, shellWord, spool, usageError } from '../../../../library/index.ts';
import type { Context } from '../../../context.ts';
import { quoteWord } from '../../../flags/flag.ts';
import { isStdin, unreadableFile } from '../../../input/input-files.ts';

/** The largest copy of a list that comes through stdin or a pipe: it has room for millions of jobs. */
const maxSpooledMebibytes = 4096;

/**
 * Opens a file that is read more than once: a list from stdin (`-`) or a pipe goes to a file first. `label` is the flag that names
 * it, or `jobs`; `instead` is the hint for a folder. Returns it with its name, as the user typed it or `stdin`, and with the folder against which
 * the files that it names are read. Throws GatewayError usage.
 */
export async function openLineFile(
  path: string,
  { label, instead }: { label: string; instead: string },
  context: Context,
): Promise<{ handle: FileHandle; name: string; folder: string }> {
  const { io, signal, atEnd } = context;
  const spooling = { label: `${label} ${quoteWord(path)}`, capMebibytes: maxSpooledMebibytes, signal, atEnd };
  const file = isStdin(path)
    ? await spool(context.stdin.claim(label), { ...spooling, label: 'stdin' })
    : await makeRereadable(resolve(io.cwd, path), spooling);
  const handle = await open(file, 'r').catch((error: unknown) => {
    throw unreadableFile(label, path, error);
  });
  atEnd(() => handle.close());
  if ((await handle.stat()).isDirectory()) throw usageError(`${label} '${path}' is a folder`, instead);
  if (path === '-') return { handle, name: 'stdin', folder: io.cwd };
  return { handle, name: path, folder: dirname(resolve(io.cwd, path)) };
}

/** The error for text that is not UTF-8: no character is replaced silently. */
export function notUtf8(place: string, text: string): Error {
  if (text.startsWith('PK\u0003\u0004'))
    return usageError(`${place}: it is a workbook or an archive, not text`, 'save it as CSV in your spreadsheet');
  const [, file = place] = /^(.*?)(?::\d+)?$/.exec(place) ?? [];
  const charset = text.includes('\0') ? 'UTF-16' : 'WINDOWS-1252';
  const paths = file === 'stdin' ? '' : ` ${shellWord(file)} > ${shellWord(`utf8-${basename(file)}`)}`;
  return usageError(
    `${place}: it is not UTF-8 text; it looks like ${charset}`,
    `convert the file: iconv -f ${charset} -t UTF-8${paths}`,
  );
}

/** The text of a file from its beginning on, in pieces. Throws GatewayError usage if it is not UTF-8. */
export async function* readFileText(handle: FileHandle, name: string): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decodeUtf8Bytes = (bytes?: Buffer): string => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw notUtf8(name, bytes?.toString('latin1') ?? '');
    }
  };
  for await (const bytes of readBlocks(handle)) {
    const text = decodeUtf8Bytes(bytes);
    if (text !== '') yield text;
  }
  // The decoder throws if the last character is cut.
  decodeUtf8Bytes();
}
