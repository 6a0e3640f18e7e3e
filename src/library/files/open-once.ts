import { constants, createReadStream, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { getBuiltinModule } from 'node:process';
import type { Readable } from 'node:stream';
import { findStats } from './known-files.ts';

/**
 * Opens a file that can be read only once, a pipe such as bash's `<(…)` or a device, and a file that only seems to be empty, as
 * files of /proc do. Undefined for another file, a folder, and a missing file. No thread of Node is blocked, which would keep the
 * process from ending: a pipe is opened without waiting for its writer, and read by the event loop. An abort ends the stream.
 * Throws errors of the system.
 */
export async function openOnce(path: string, signal?: AbortSignal): Promise<Readable | undefined> {
  const stats = findStats(path);
  if (stats === undefined || (stats.isFile() && stats.size > 0n) || stats.isDirectory()) return undefined;
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stream = stats.isFIFO()
    ? new Socket({ fd, readable: true, writable: false, ...(signal && { signal }) })
    : openDevice(fd, signal);
  // A reader that begins later still gets the error. Without a listener, an abort before that would end the process.
  return stream.on('error', () => undefined);
}

function openDevice(fd: number, signal: AbortSignal | undefined): Readable {
  const { isatty, ReadStream } = getBuiltinModule('node:tty');
  return isatty(fd) ? new ReadStream(fd) : createReadStream('', { fd, signal });
}
