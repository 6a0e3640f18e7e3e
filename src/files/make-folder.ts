import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../errors.ts';

/**
 * Makes a folder and those above it that are missing. Throws what the system says. Node's own `recursive` never ends where the
 * folder above is there and takes none (`/proc/x`).
 */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return requireFolder(path, error);
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path), mode);
    await mkdir(path, { mode }).catch((again: unknown) => {
      // Somebody else was faster.
      if (codeOf(again) !== 'EEXIST') throw again;
      return requireFolder(path, again);
    });
  }
}

/** Whether a folder stands there, links followed; false where that cannot be known. */
export async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

async function requireFolder(path: string, error: unknown): Promise<void> {
  if (!(await stat(path)).isDirectory()) throw error;
}
