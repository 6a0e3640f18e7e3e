import { lstat, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { codeOf, usageError } from '../../errors.ts';
import { readReason } from '../../files/file-reason.ts';
import { quote } from '../../cli/flags/flag.ts';

/** The folder that the tools may read and write. */
export interface RootFolder {
  /** Without symbolic links. */
  readonly path: string;
  /** The path of an existing file. Throws GatewayError usage if it is outside, also by a symbolic link. */
  input(path: string): Promise<string>;
  /** The path of a new file, or of a folder/. Throws GatewayError usage if it is outside, also by a symbolic link. */
  output(path: string): Promise<string>;
}

/** Opens the folder. Throws GatewayError usage if it is missing. */
export async function openRoot(folder: string): Promise<RootFolder> {
  const root = await realpath(folder).catch((error: unknown) => {
    throw usageError(`--root: there is no folder ${quote(folder)}`, 'for example: --root .', error);
  });
  const inside = (real: string, typed: string): string => {
    const way = relative(root, real);
    if (way !== '..' && !way.startsWith(`..${sep}`) && resolve(root, way) === real) return real;
    throw usageError(`${quote(typed)} is outside the root folder`, 'use a path below the root folder');
  };
  const real = async (typed: string): Promise<string> => inside(await realNearest(resolve(root, typed)), typed);
  return {
    path: root,
    async input(typed) {
      const path = await real(typed);
      const found = await stat(path).catch(() => undefined);
      if (!found || found.isFile() || found.isDirectory()) return path;
      throw usageError(`${quote(typed)} is a device, a pipe or a socket`, 'name a file');
    },
    async output(typed) {
      // In a template, values of the model would be parts of the path.
      if (/[{}]/.test(typed)) throw usageError(`${quote(typed)} has a brace`, 'use a plain path below the root folder');
      const path = await real(typed);
      const found = await stat(path).catch(() => undefined);
      if (found?.isFile()) throw usageError(`${quote(typed)} already exists`, 'choose another name');
      return /[/\\]$/.test(typed) ? join(path, sep) : path;
    },
  };
}

/** The path without symbolic links; what does not exist yet stays as it is. Throws GatewayError usage. */
async function realNearest(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const isLink = (await lstat(path).catch(() => undefined)) !== undefined;
    if (codeOf(error) !== 'ENOENT' || isLink) throw usageError(`${quote(path)} cannot be used: ${readReason(error)}`);
    return join(await realNearest(dirname(path)), basename(path));
  }
}
