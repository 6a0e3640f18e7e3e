import { readSync, statSync, writeSync } from 'node:fs';
import type { Stats } from 'node:fs';
import type { WriteStream } from 'node:tty';
import { codeOf, GatewayError } from '../errors.ts';
import { writeReason } from '../files/file-reason.ts';
import type { Output } from './io.ts';

/** One of the process's two output streams. */
export interface OutputPlace {
  fd: 1 | 2;
  /** fstat of it, where there is one. */
  stats: Stats | undefined;
  isTTY: boolean;
  /** Made by Node at the first touch, so touched late. */
  stream: () => WriteStream;
}

type Write = (chunk: string | Uint8Array) => Promise<void>;

const readerGone = new Set(['EPIPE', 'ECONNRESET', 'EOF', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);

/**
 * stdout. A write resolves when the system has taken every byte; after a failure each further one rejects with the same
 * GatewayError: closed (the reader has gone) or not-written (ENOSPC, EIO, EFBIG and the like).
 */
export function createStdout(place: OutputPlace): Output {
  const write = writerOf(place);
  let failure: GatewayError | undefined;
  return describe(place, async (chunk) => {
    if (failure !== undefined) throw failure;
    try {
      await write(chunk);
    } catch (error) {
      failure ??= writeFailure(error);
      throw failure;
    }
  });
}

/** stderr. There is nowhere to tell that it cannot be written, so it is given up quietly. */
export function createStderr(place: OutputPlace): Output {
  const write = writerOf(place);
  let lost = false;
  return describe(place, async (chunk) => {
    if (lost) return;
    try {
      await write(chunk);
    } catch {
      lost = true;
    }
  });
}

function describe(place: OutputPlace, write: Write): Output {
  const { isTTY, stream } = place;
  return {
    isTTY,
    isFile: isFile(place),
    get isClosed() {
      return isOpenedByNode(place);
    },
    get columns() {
      return (isTTY && stream().columns) || 80;
    },
    get rows() {
      return (isTTY && stream().rows) || undefined;
    },
    write,
  };
}

function writerOf(place: OutputPlace): Write {
  return isFile(place) ? fileWriter(place.fd) : streamWriter(place.stream);
}

function isFile({ stats, isTTY }: OutputPlace): boolean {
  return stats !== undefined && (stats.isFile() || (stats.isCharacterDevice() && !isTTY));
}

/**
 * Node opens /dev/null to read and write in the place of an output that is closed; what a shell opened for `> /dev/null`
 * cannot be read.
 */
function isOpenedByNode({ fd, stats }: OutputPlace): boolean {
  if (stats?.isCharacterDevice() !== true || stats.rdev !== nullDevice()) return false;
  try {
    readSync(fd, Buffer.alloc(1));
    return true;
  } catch {
    return false;
  }
}

/** The device number of /dev/null, where there is one. */
export function nullDevice(): number | undefined {
  return statSync('/dev/null', { throwIfNoEntry: false })?.rdev;
}

/** Node's own stream for files ignores short counts: on a full disk it would cut the output and call that a success. */
function fileWriter(fd: number): Write {
  return async (chunk) => {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    for (let done = 0; done < bytes.byteLength;) done += writeSync(fd, bytes, done);
  };
}

/** Pipes, sockets and terminals. The callback is the back-pressure: it comes when the reader has made room. */
function streamWriter(stream: () => WriteStream): Write {
  let known: WriteStream | undefined;
  return (chunk) => {
    if (known === undefined) {
      known = stream();
      // The callback of the write tells; without a listener the same error would end the process.
      known.on('error', () => undefined);
    }
    const target = known;
    return new Promise((resolve, reject) => {
      target.write(chunk, (error) => (error ? reject(error) : resolve()));
    });
  };
}

function writeFailure(error: unknown): GatewayError {
  const code = codeOf(error) ?? '';
  if (readerGone.has(code)) return new GatewayError('closed', 'stdout was closed by its reader', { cause: error });
  const hint = 'make room, or send the output elsewhere';
  return new GatewayError('not-written', `stdout cannot be written: ${writeReason(error)}`, {
    hint,
    cause: error,
  });
}
