import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isFull } from '../helpers/full.ts';
import { installLocked } from '../helpers/install.ts';

const folder = import.meta.dirname;

/** Where the vendors' clients are installed: `npm test` takes them where they are, the full run installs them. */
export const packages = join(folder, 'node_modules');

export function isInstalled(): boolean {
  return existsSync(join(packages, 'genai-1')) && existsSync(join(packages, 'openai'));
}

if (isFull && !isInstalled()) installLocked(folder);

/** Runs a script of this folder against a gateway; the JSON that it prints. */
export async function runScript(
  [script = '', ...words]: readonly string[],
  env: Record<string, string>,
): Promise<Record<string, unknown>> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, script), ...words], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...env },
  });
  return JSON.parse(stdout) as Record<string, unknown>;
}
