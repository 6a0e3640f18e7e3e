import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const folder = import.meta.dirname;

/** Where the vendors' clients are installed. */
export const packages = join(folder, 'node_modules');

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
