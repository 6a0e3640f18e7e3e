import { execFileSync } from 'node:child_process';

/** Installs the packages that the lock file of a folder names, from the registry: only the full run does. */
export function installLocked(folder: string): void {
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: 'ignore',
    shell: process.platform === 'win32',
  });
}
