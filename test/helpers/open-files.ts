import { existsSync, readdirSync, readlinkSync } from 'node:fs';

const descriptors = '/proc/self/fd';

/** Whether the system reports which files a process has open. */
export const tellsOpenFiles = existsSync(descriptors);

/** Files and folders at or below a path that this process has open. */
export function openFilesIn(path: string): string[] {
  return readdirSync(descriptors)
    .map((name) => targetOf(`${descriptors}/${name}`))
    .filter((target) => target.startsWith(path));
}

/** Where a link leads; '' if it was removed meanwhile, as that of the listing itself. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}
