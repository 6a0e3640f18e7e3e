import fs from 'node:fs';
import { promisify } from 'node:util';

type Call = (...args: unknown[]) => unknown;

const sync = fs as unknown as Record<string, Call>;
const promises = fs.promises as unknown as Record<string, Call>;

/**
 * Has the calls of `node:fs/promises` that a batch makes done at once: a turn through Node's threads takes longer than such a call, of which a
 * history makes a thousand. Syncs keep their turns, as others write meanwhile.
 */
export function callFilesAtOnce(): void {
  const names = ['lstat', 'mkdir', 'readdir', 'readFile', 'realpath', 'rename', 'rm', 'stat', 'unlink'] as const;
  for (const name of names) promises[name] = async (...args) => sync[`${name}Sync`]?.(...args);
  promises['open'] = async (...args) => describeFile(sync['openSync']?.(...args) as number);
}

/** The part of a `FileHandle` that a batch uses. */
function describeFile(fd: number): Record<string, Call | number> {
  return {
    fd,
    read: async (buffer, ...where) => ({ bytesRead: sync['readSync']?.(fd, buffer, ...where), buffer }),
    write: async (data, ...where) => ({ bytesWritten: sync['writeSync']?.(fd, data, ...where), buffer: data }),
    writeFile: async (...args) => sync['writeFileSync']?.(fd, ...args),
    appendFile: async (...args) => sync['appendFileSync']?.(fd, ...args),
    stat: async (...args) => sync['fstatSync']?.(fd, ...args),
    truncate: async (...args) => sync['ftruncateSync']?.(fd, ...args),
    close: async () => sync['closeSync']?.(fd),
    sync: () => promisify(fs.fsync)(fd),
    datasync: () => promisify(fs.fdatasync)(fd),
  };
}
