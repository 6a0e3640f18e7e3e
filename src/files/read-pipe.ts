import { constants, openSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { Socket } from 'node:net';

/**
 * The bytes of a file. A pipe, such as `<(command)`, is waited for by the event loop: a read of it would block one of Node's
 * threads, and with it the end of the process. Throws what the system says.
 */
export async function readFileOrPipe(path: string): Promise<Uint8Array> {
  if (!(await stat(path)).isFIFO()) return readFile(path);
  // A descriptor that the socket owns: a file handle would close it a second time.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const pipe = new Socket({ fd, readable: true, writable: false });
  try {
    const chunks: Uint8Array[] = [];
    for await (const chunk of pipe) chunks.push(chunk as Uint8Array);
    return Buffer.concat(chunks);
  } finally {
    pipe.destroy();
  }
}
