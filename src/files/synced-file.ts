import { ftruncateSync, writeSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { GatewayError } from '../errors.ts';
import { writeReason } from './file-reason.ts';
import { quarantine, openToAppend } from './quarantine.ts';

/**
 * A file of lines that only grows. A line is one write; whoever needs it to survive a power cut waits for `sync`, which many
 * lines share: while the disk works, those that wait gather for the next one.
 */
export class SyncedFile {
  readonly #path: string;
  readonly #handle: FileHandle;
  #size: number;
  #running: Promise<void> | undefined;
  #next: { done: Promise<void>; begin: () => void } | undefined;
  #hurried = false;
  #soon: { lines: string[]; done: Promise<void> } | undefined;

  private constructor(path: string, handle: FileHandle, size: number) {
    this.#path = path;
    this.#handle = handle;
    this.#size = size;
  }

  /** Opens or creates it. What a crash left of its last line goes to the file beside it. Throws GatewayError not-written. */
  static async open(path: string): Promise<SyncedFile> {
    try {
      const handle = await openToAppend(path);
      const { size } = await handle.stat();
      const kept = await endOfLastLine(handle, size);
      if (kept < size) {
        await quarantine(path, handle, [{ offset: kept, bytes: size - kept }]);
        await handle.truncate(kept);
      }
      return new SyncedFile(path, handle, kept);
    } catch (error) {
      throw cannotWrite(path, error);
    }
  }

  /** In bytes. */
  get size(): number {
    return this.#size;
  }

  /** Appends one line, whole or not at all. Throws GatewayError not-written. */
  append(line: string): void {
    const bytes = Buffer.from(`${line}\n`);
    const { fd } = this.#handle;
    try {
      for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done);
      this.#size += bytes.length;
    } catch (error) {
      cutBack(fd, this.#size);
      throw cannotWrite(this.#path, error);
    }
  }

  /** Appends one line, in one write with those of the same moment: who waited for one sync goes on together. Throws GatewayError not-written, where none of them is appended. */
  appendSoon(line: string): Promise<void> {
    this.#soon ??= this.#planAppend();
    this.#soon.lines.push(line);
    return this.#soon.done;
  }

  /**
   * Resolves when every line appended so far is on the disk; with `withinMs` it may wait so long for further lines before it
   * bothers the disk. Throws GatewayError not-written.
   */
  sync(withinMs = 0): Promise<void> {
    this.#next ??= this.#planSync(withinMs);
    if (withinMs === 0 || this.#hurried) this.#next.begin();
    return this.#next.done;
  }

  /** From now on no sync waits for further lines. */
  hurry(): void {
    this.#hurried = true;
    this.#next?.begin();
  }

  async close(): Promise<void> {
    await this.#running?.catch(() => undefined);
    await this.#handle.close();
  }

  #planAppend(): { lines: string[]; done: Promise<void> } {
    const lines: string[] = [];
    const done = Promise.resolve().then(() => {
      this.#soon = undefined;
      this.append(lines.join('\n'));
    });
    return { lines, done };
  }

  #planSync(withinMs: number): { done: Promise<void>; begin: () => void } {
    const resolvers: (() => void)[] = [];
    const begun = new Promise<void>((resolve) => void resolvers.push(resolve));
    const begin = (): void => resolvers.forEach((resolve) => resolve());
    const timer = setTimeout(begin, withinMs);
    return { begin, done: begun.then(() => this.#syncNext(timer)) };
  }

  async #syncNext(timer: NodeJS.Timeout): Promise<void> {
    clearTimeout(timer);
    await this.#running?.catch(() => undefined);
    // From here on a new line needs another sync.
    this.#next = undefined;
    this.#running = this.#handle.datasync();
    try {
      await this.#running;
    } catch (error) {
      throw cannotWrite(this.#path, error);
    }
  }
}

function cutBack(fd: number, size: number): void {
  try {
    ftruncateSync(fd, size);
  } catch {
    // The torn line is ignored by its readers, and cut off by the next run.
  }
}

/** Where the last whole line ends, looked for from behind. */
async function endOfLastLine(handle: FileHandle, size: number): Promise<number> {
  const block = Buffer.allocUnsafe(64 * 1024);
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - block.length);
    const { bytesRead } = await handle.read(block, 0, end - start, start);
    const at = block.subarray(0, bytesRead).lastIndexOf(10);
    if (at >= 0) return start + at + 1;
    end = start;
  }
  return 0;
}

/** A batch that cannot keep its books stops. */
export function cannotWrite(path: string, error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return new GatewayError('not-written', `cannot write ${path}: ${writeReason(error)}`, {
    hint: 'make room, then run the same command again: it continues where it stopped',
    cause: error,
    sent: 'unknown',
    retryable: true,
  });
}
