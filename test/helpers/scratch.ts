import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders: string[] = [];

/** Removes what a test file made: test/helpers/setup.ts calls it after each. */
export function removeScratchFolders(): void {
  for (const folder of folders.splice(0)) removeFolder(folder);
}

/** A new folder that is removed after the test file. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 't-'));
  folders.push(folder);
  return folder;
}

/**
 * Removes a folder whose programs may still be writing their last words into it: each try looks at what is there anew, which
 * the retries of rmSync do not. What cannot be removed is left to the system; it does not fail a test.
 */
export function removeFolder(path: string): void {
  for (let tries = 0; tries < 20; tries++) {
    try {
      return rmSync(path, { recursive: true, force: true, maxRetries: 1 });
    } catch {
      continue;
    }
  }
}
