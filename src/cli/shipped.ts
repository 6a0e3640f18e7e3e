import { readFile } from 'node:fs/promises';

/** The package's root: two folders above this file, and also above its bundle. */
const packageRoot = new URL('../../', import.meta.url);

/** Where a file of the package is. */
export function shippedFile(path: string): URL {
  return new URL(path, packageRoot);
}

/** The text of a file of the package. */
export function readShipped(path: string): Promise<string> {
  return readFile(shippedFile(path), 'utf8');
}
