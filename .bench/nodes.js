// The versions of Node that the bench measures on: each from the npm package `node`, which ships the binary.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** Users are on 24 and 26; 20 is the oldest that runs. */
export const majors = ['20', '24', '26'];

/** @param {string} major @returns {string} the path of its binary */
export function nodeOf(major) {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  const folder = join(import.meta.dirname, 'node_modules/.nodes', major);
  const binary = join(folder, 'node_modules/node/bin/node');
  if (!existsSync(binary)) {
    process.stderr.write(`installing Node ${major}\n`);
    mkdirSync(folder, { recursive: true });
    const flags = ['--prefix', folder, '--no-audit', '--no-fund', '--loglevel', 'error'];
    execFileSync('npm', ['install', ...flags, `node@${major}`], { stdio: ['ignore', 2, 2] });
  }
  return binary;
}
