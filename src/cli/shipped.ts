import { readdir, readFile } from 'node:fs/promises';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';

/** The files of the package inside a single executable, whose first lines set this. */
interface Inside {
  read(path: string): string;
  list(folder: string): string[];
}

const inside = (globalThis as { [key: symbol]: unknown })[Symbol.for('gateway-cli/files')] as Inside | undefined;

/** The package's root: two folders above this file, and also above its bundle. */
const packageRoot = new URL('../../', import.meta.url);

/** The text of a file of the package. */
export async function readShipped(path: string): Promise<string> {
  return inside?.read(path) ?? readFile(new URL(path, packageRoot), 'utf8');
}

/** The names of files in a folder of the package. */
export async function listShipped(folder: string): Promise<string[]> {
  return inside?.list(folder) ?? readdir(new URL(folder, packageRoot));
}

/** The source of a thread that runs a file of the package: its code, or its URL. */
export function shippedThread(path: string): [string | URL, { eval: boolean }] {
  return inside ? [inside.read(path), { eval: true }] : [new URL(path, packageRoot), { eval: false }];
}

/** The words that start this program. */
export function programWords(): [string, ...string[]] {
  return inside ? [execPath] : [execPath, fileURLToPath(new URL('bin/gateway-cli.js', packageRoot))];
}
