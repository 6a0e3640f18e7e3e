import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Folders of the full run with packages of their own, which their lock files name. */
const folders = ['sdk', 'package/managers'];

/** Installs what is missing before any test begins: several files use one folder. npm writes the file that is looked for last of all. */
export function setup(): void {
  for (const folder of folders) {
    const cwd = join(import.meta.dirname, '..', folder);
    if (existsSync(join(cwd, 'node_modules/.package-lock.json'))) continue;
    execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
      cwd,
      stdio: 'ignore',
      shell: process.platform === 'win32',
    });
  }
}
