import { constants, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { GatewayError } from '../errors.ts';
import { describeWriteError } from './file-reason.ts';
import { copyRange, type Range, syncFolder } from './temp-file.ts';

/** Called after each write, and after each sync: with the length of the file, or the length that is surely on the disk. */
export type FileWatch = (event: 'written' | 'synced', bytes: number) => void;

/**
 * A file of lines that only grows. A line is one write; a caller that needs it to survive a power failure waits for `sync`,
 * which many lines share: during one sync, further callers wait together for the next.
 */
export class SyncedFile {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #hadName: boolean;
  readonly #watch: FileWatch | undefined;
  #size: number;
  #syncing: Promise<void> | undefined;
  #nextSync: { done: Promise<void>; begin: () => void } | undefined;
  #isWithoutDelay = false;
  #nextAppend: { lines: string[]; done: Promise<void> } | undefined;

  private constructor(path: string, handle: FileHandle, size: number, watch: FileWatch | undefined) {
    this.#path = path;
    this.#handle = handle;
    this.#hadName = hasName(handle);
    this.#size = size;
    this.#watch = watch;
  }

  /** Opens or creates it. The rest of a line that a crash cut is moved to the aside file. Throws GatewayError not-written. */
  static async open(path: string, watch?: FileWatch): Promise<SyncedFile> {
    try {
      const handle = await openToAppend(path);
      const { size } = await handle.stat();
      const kept = size > 0 ? await findLastLineEnd(handle, size) : 0;
      if (kept < size) {
        await copyAside(asideFile(path), handle, { offset: kept, bytes: size - kept });
        await handle.truncate(kept);
      }
      // Without its name in the folder, a new file would be lost although its content is synced.
      if (size === 0) await syncFolder(dirname(path));
      return new SyncedFile(path, handle, kept, watch);
    } catch (error) {
      throw cannotWrite(path, error);
    }
  }

  /** The size of the file in bytes. */
  get size(): number {
    return this.#size;
  }

  /** Appends one line, or nothing if it fails. Throws GatewayError not-written. */
  append(line: string): void {
    const bytes = Buffer.from(`${line}\n`);
    const { fd } = this.#handle;
    try {
      for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done);
      this.#size += bytes.length;
    } catch (error) {
      truncateTo(fd, this.#size);
      throw cannotWrite(this.#path, error);
    }
    this.#watch?.('written', this.#size);
  }

  /**
   * Appends one line in one write with other lines of the same microtask. Throws GatewayError not-written; then no line of the
   * write is appended.
   */
  appendSoon(line: string): Promise<void> {
    this.#nextAppend ??= this.#planAppend();
    this.#nextAppend.lines.push(line);
    return this.#nextAppend.done;
  }

  /**
   * Resolves when all lines appended so far are on the disk, in a file that has a name. It starts after at most `withinMs`, so
   * that further lines can share it. Throws GatewayError not-written.
   */
  sync(withinMs = 0): Promise<void> {
    this.#nextSync ??= this.#planSync(withinMs);
    if (withinMs === 0 || this.#isWithoutDelay) this.#nextSync.begin();
    return this.#nextSync.done;
  }

  /** Ends the delay of syncs: from now on no sync waits for further lines. */
  syncWithoutDelay(): void {
    this.#isWithoutDelay = true;
    this.#nextSync?.begin();
  }

  async close(): Promise<void> {
    await this.#syncing?.catch(() => undefined);
    await this.#handle.close();
  }

  #planAppend(): { lines: string[]; done: Promise<void> } {
    const lines: string[] = [];
    const done = Promise.resolve().then(() => {
      this.#nextAppend = undefined;
      this.append(lines.join('\n'));
    });
    return { lines, done };
  }

  #planSync(withinMs: number): { done: Promise<void>; begin: () => void } {
    let begin!: () => void;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const timer = setTimeout(begin, withinMs);
    return { begin, done: begun.then(() => this.#startSync(timer)) };
  }

  async #startSync(timer: NodeJS.Timeout): Promise<void> {
    clearTimeout(timer);
    await this.#syncing?.catch(() => undefined);
    // A line that is appended from now on needs another sync.
    this.#nextSync = undefined;
    const bytes = this.#size;
    this.#syncing = this.#handle.datasync();
    try {
      await this.#syncing;
      this.#watch?.('synced', bytes);
      // A file without a name loses its content when it is closed.
      if (!this.#hadName || hasName(this.#handle)) return;
    } catch (error) {
      throw cannotWrite(this.#path, error);
    }
    throw new GatewayError('not-written', `${this.#path} was removed while it was written`, { sent: 'unknown' });
  }
}

/** Whether the file still has a name in a folder. Some file systems count no names. */
function hasName({ fd }: FileHandle): boolean {
  return fstatSync(fd).nlink > 0;
}

function truncateTo(fd: number, size: number): void {
  try {
    ftruncateSync(fd, size);
  } catch {
    // Readers ignore the incomplete line, and the next run removes it.
  }
}

const lineFeed = 10;

/** The offset after the last complete line, searched backwards. */
async function findLastLineEnd(handle: FileHandle, size: number): Promise<number> {
  const block = Buffer.allocUnsafe(64 * 1024);
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - block.length);
    const { bytesRead } = await handle.read(block, 0, end - start, start);
    const at = block.subarray(0, bytesRead).lastIndexOf(lineFeed);
    if (at >= 0) return start + at + 1;
    end = start;
  }
  return 0;
}

/** The file for unreadable lines: `results.aside.jsonl` for `results.jsonl`. */
export function asideFile(path: string): string {
  return path.replace(/\.jsonl$/, '.aside.jsonl');
}

/** Appends a part of a file to an aside file, as lines of its own, and syncs that. */
export async function copyAside(aside: string, from: FileHandle, range: Range, mode?: number): Promise<void> {
  const to = await openToAppend(aside, mode);
  try {
    const last = await copyRange(from, to, range);
    if (last !== lineFeed) await to.appendFile('\n');
    await to.datasync();
  } finally {
    await to.close();
  }
}

/** Opens a file to append to it, or creates it; does not follow a symbolic link. */
export function openToAppend(path: string, mode = 0o666): Promise<FileHandle> {
  return open(path, appending, mode);
}

/** Opens a file to append to it, synchronously. */
export function openToAppendNow(path: string, mode: number): number {
  return openSync(path, appending, mode);
}

// Windows has no O_NOFOLLOW.
const noFollow = (constants.O_NOFOLLOW as number | undefined) ?? 0;
const appending = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | noFollow;

/** A file of a batch that cannot be written: the batch stops. */
export function cannotWrite(path: string, error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return new GatewayError('not-written', `cannot write ${path}: ${describeWriteError(error)}`, {
    hint: 'make room, then run the same command again: it continues where it stopped',
    cause: error,
    sent: 'unknown',
    retryable: true,
  });
}
