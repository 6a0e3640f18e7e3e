import { createReadStream, fstatSync, type Stats, readSync, statSync, writeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import {
  afterOnClock,
  describeReadError,
  describeWriteError,
  GatewayError,
  getErrorCode,
  monotonic,
  settingError,
} from '../../library/index.ts';
import type { Dialog } from './dialog.ts';
import type { JobControl } from './job-control.ts';
import type { InputKind, Io, Output, Input } from './io.ts';
import type { EditorOptions, LineEditor } from './line-editor.ts';
import type { WriteStream } from 'node:tty';

/** The Io of a real process. Node's own streams are created only when they are used: each takes some ms. */
export function createProcessIo(process: NodeJS.Process): Io {
  const examineStream = (fd: 0 | 1 | 2) => {
    const stats = readStats(fd);
    return { stats, isTTY: isTerminal(process, fd, stats) };
  };
  const [input, out, err] = [examineStream(0), examineStream(1), examineStream(2)];
  const kind = inputKind(input.stats, input.isTTY);
  return {
    // Node's own stdin is silently empty for a folder; this one fails.
    stdin: createInput(kind, () =>
      kind === 'file' || kind === 'null' ? createReadStream('', { fd: 0, autoClose: false }) : process.stdin,
    ),
    stdout: createStdout({ fd: 1, stream: () => process.stdout, ...out }),
    stderr: createStderr({ fd: 2, stream: () => process.stderr, ...err }),
    env: process.env,
    cwd: currentFolder(process),
    platform: process.platform,
    openEditor: kind === 'terminal' && out.isTTY ? (options) => loadEditor(process, options) : undefined,
    openDialog: kind === 'terminal' && err.isTTY ? () => loadDialog(process) : undefined,
    now: () => Date.now(),
    elapsed: monotonic,
    after: afterOnClock,
    random: () => Math.random(),
  };
}

/** Loads the dialog for the first question. */
async function loadDialog(process: NodeJS.Process): Promise<Dialog> {
  const { openDialog } = await import('./dialog.ts');
  const { stdin, stderr } = process;
  const interruptProcess = (): void => void process.kill(process.pid, 'SIGINT');
  return openDialog({ stdin, stderr, jobs: createJobControl(process), interrupt: interruptProcess });
}

/** Loads the editor for the interactive mode. */
async function loadEditor(process: NodeJS.Process, options: EditorOptions): Promise<LineEditor> {
  const { openLineEditor } = await import('./line-editor.ts');
  const { stdin, stdout } = process;
  // The event is emitted, not sent as a signal: without its terminal, the process might end before a signal arrives.
  const hangUp = (): void => void process.emit('SIGHUP', 'SIGHUP');
  const isDumb = process.env['TERM'] === 'dumb';
  return openLineEditor({ stdin, stdout, jobs: createJobControl(process), isDumb, hangUp }, options);
}

function createJobControl(process: NodeJS.Process): JobControl {
  return {
    stop: () => void process.kill(process.pid, 'SIGTSTP'),
    onContinue(listener) {
      process.on('SIGCONT', listener);
      return () => void process.off('SIGCONT', listener);
    },
  };
}

function readStats(fd: number): Stats | undefined {
  try {
    return fstatSync(fd);
  } catch {
    return undefined;
  }
}

/** node:tty takes 2 ms, so it is loaded only for possible terminals; /dev/null, the stdin of many scripts, is not one. */
function isTerminal(process: NodeJS.Process, fd: number, stats: Stats | undefined): boolean {
  if (stats !== undefined && (!stats.isCharacterDevice() || stats.rdev === nullDevice())) return false;
  return process.getBuiltinModule('node:tty').isatty(fd);
}

/** PWD has the name of a folder that was removed while the shell was in it. */
function currentFolder(process: NodeJS.Process): string {
  try {
    return process.cwd();
  } catch {
    return process.env['PWD'] ?? '/';
  }
}

/** An output stream of the process. */
interface OutputPlace {
  fd: 1 | 2;
  /** The result of fstat. */
  stats: Stats | undefined;
  isTTY: boolean;
  /** Created by Node on first access. */
  stream: () => WriteStream;
}

type Write = (chunk: string | Uint8Array) => Promise<void>;

const readerGone = new Set(['EPIPE', 'ECONNRESET', 'EOF', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);

/**
 * stdout. A write resolves when the system has taken every byte; after a failure, each further write rejects with the same
 * GatewayError: closed (by the reader) or not-written (ENOSPC, EIO, EFBIG and the like).
 */
export function createStdout(place: OutputPlace): Output {
  return createOutput(place, async (failure) => {
    throw writeFailure(failure);
  });
}

/** stderr. After a failure, further writes are dropped: there is no place to report it. */
export function createStderr(place: OutputPlace): Output {
  return createOutput(place, async () => undefined);
}

/** `fail` makes the error of the first write that fails, and of all later ones. */
function createOutput(place: OutputPlace, fail: (error: unknown) => Promise<void>): Output {
  const { fd, stats, isTTY, stream } = place;
  const isFile = stats !== undefined && (stats.isFile() || (stats.isCharacterDevice() && !isTTY));
  const writeChunk = isFile ? fileWriter(fd) : streamWriter(stream);
  let failed: Promise<void> | undefined;
  return {
    isTTY,
    isFile,
    get mayBeClosed() {
      return isNullForBoth(place);
    },
    get columns() {
      return (isTTY && stream().columns) || 80;
    },
    get rows() {
      return (isTTY && stream().rows) || undefined;
    },
    write: (chunk) => failed ?? writeChunk(chunk).catch((error: unknown) => (failed ??= fail(error))),
  };
}

/**
 * Whether it is /dev/null, open for reading too: Node opens that in place of a closed output, and programs to discard one
 * (Python's `DEVNULL`, Node's `ignore`). The /dev/null of a shell's `> /dev/null` cannot be read.
 */
function isNullForBoth({ fd, stats }: OutputPlace): boolean {
  if (stats?.isCharacterDevice() !== true || stats.rdev !== nullDevice()) return false;
  try {
    readSync(fd, Buffer.alloc(1));
    return true;
  } catch {
    return false;
  }
}

/** The device number of /dev/null, if it can be seen. */
function nullDevice(): number | undefined {
  try {
    return statSync('/dev/null', { throwIfNoEntry: false })?.rdev;
  } catch {
    return undefined;
  }
}

/** Node's own stream for files ignores short writes: on a full disk, it would cut the output without an error. */
function fileWriter(fd: number): Write {
  return async (chunk) => {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    for (let done = 0; done < bytes.byteLength;) done += writeSync(fd, bytes, done);
  };
}

/** Pipes, sockets and terminals. The callback is the back-pressure: it is called when the reader has room. */
function streamWriter(stream: () => WriteStream): Write {
  let known: WriteStream | undefined;
  return async (chunk) => {
    if (known === undefined) {
      known = stream();
      // The callback of the write gets the error; without a listener, it would also end the process.
      known.on('error', () => undefined);
    }
    const target = known;
    return new Promise((resolve, reject) => {
      target.write(chunk, (error) => (error ? reject(error) : resolve()));
    });
  };
}

function writeFailure(error: unknown): GatewayError {
  const code = getErrorCode(error) ?? '';
  if (readerGone.has(code)) return new GatewayError('closed', 'stdout was closed by its reader', { cause: error });
  return new GatewayError('not-written', `stdout cannot be written: ${describeWriteError(error)}`, {
    reason: 'stdout-full',
    cause: error,
  });
}

/** The kind of stdin, by fstat. Devices other than terminals count as `null`, also a closed stdin: Node opens /dev/null for it. */
function inputKind(stats: Stats | undefined, isTTY: boolean): InputKind {
  if (isTTY) return 'terminal';
  if (stats === undefined) return 'closed';
  if (stats.isFIFO()) return 'pipe';
  if (stats.isSocket()) return 'socket';
  return stats.isCharacterDevice() ? 'null' : 'file';
}

/** stdin of the process. Reading rejects with GatewayError usage; a reader that stops early closes it. */
function createInput(kind: InputKind, stream: () => Readable): Input {
  let taken = false;
  return {
    kind,
    read() {
      if (taken) throw new Error('stdin is read twice');
      taken = true;
      return { [Symbol.asyncIterator]: () => iterate(kind === 'closed' ? undefined : stream()) };
    },
  };
}

/** Does not use `return` of the stream's own iterator, which waits for a pending read, on a silent pipe forever. */
function iterate(stream: Readable | undefined): AsyncIterator<Uint8Array> {
  const chunks = stream?.[Symbol.asyncIterator]() as AsyncIterator<Uint8Array> | undefined;
  const done = { done: true, value: undefined } as const;
  return {
    async next() {
      try {
        return (await chunks?.next()) ?? done;
      } catch (error) {
        throw settingError(`stdin cannot be read: ${describeReadError(error)}`, {
          reason: 'stdin-unreadable',
          cause: error,
        });
      }
    },
    async return() {
      stream?.destroy();
      return done;
    },
  };
}

/** Kinds of resources that end with the process. */
const endsWithProcess = new Set(['TCPSocketWrap', 'TCPServerWrap', 'PipeWrap', 'TTYWrap', 'Timeout', 'Immediate']);

/**
 * Exits a process whose work is done: Node would free its memory piece by piece, for some ms of every run. If anything is in
 * progress, such as a write to stderr or the closing of a file, the process ends by itself.
 */
export function endProcess(process: NodeJS.Process): void {
  setImmediate(() => {
    // Every write was awaited or is found here, so no output is lost. (Work of crypto and zlib on threads is not found.)
    // oxlint-disable-next-line unicorn/no-process-exit
    if (process.getActiveResourcesInfo().every((kind) => endsWithProcess.has(kind))) process.exit();
  });
}
