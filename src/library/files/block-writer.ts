import type { FileHandle } from 'node:fs/promises';
import { copyRange, createTempFile, notWritten, removeFile, type TempFile, writeFully } from './temp-file.ts';

/** The folders for temporary files. */
export interface TempFolders {
  /** The folder of the final names, so that publishing is a link. */
  folder: string;
  /** A folder on another disk, which gets a paid image if its own folder is full. */
  spare?: string | undefined;
  /** Called when the spare is used. */
  onSpare?: (() => void) | undefined;
}

/** The hint if the spare is full too; the rest of the reply is not read then. */
const lostHint =
  'the picture is lost, for its own folder takes no more either; before you ask again make room, or set TMPDIR';

/** Writes a temporary file in large blocks: one is filled while another is written. */
export class BlockWriter {
  readonly #folders: TempFolders;
  #file: TempFile | undefined;
  /** The block that is being filled, and the other one, which may be being written. */
  #block: Buffer | undefined;
  #other: Buffer | undefined;
  #filled = 0;
  #written = 0;
  #writing: Promise<void> = Promise.resolve();
  #relocated = false;

  constructor(folders: TempFolders) {
    this.#folders = folders;
  }

  /** The file's path, as soon as it exists. */
  get path(): string | undefined {
    return this.#file?.path;
  }

  /** Copies the bytes; the promise applies back-pressure. Throws GatewayError not-written. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.byteLength;) {
      const block = (this.#block ??= takeBlock());
      const part = bytes.subarray(at, at + block.length - this.#filled);
      block.set(part, this.#filled);
      this.#filled += part.byteLength;
      at += part.byteLength;
      if (this.#filled === block.length) await this.#flush();
    }
  }

  /** Writes the rest. Throws GatewayError not-written. */
  async end(): Promise<void> {
    await this.#flush();
    await this.#writing;
    this.#releaseBlocks();
  }

  /** Syncs and closes the file; its path changes if its disk does not take it. Throws GatewayError not-written. */
  async sync(): Promise<void> {
    const { handle } = await this.#open();
    try {
      await handle.datasync();
    } catch (error) {
      const copy = await this.#relocate(this.#written, error);
      await copy.datasync().catch((second: unknown) => {
        throw notWritten(this.#folders.spare ?? this.#folders.folder, second, lostHint);
      });
    }
    // Closing loses nothing that is synced.
    await this.#file?.handle.close().catch(() => undefined);
  }

  /** Waits for a write in flight, then closes and removes the file. */
  async discard(): Promise<void> {
    await this.#writing.catch(() => {});
    this.#releaseBlocks();
    if (!this.#file) return;
    await this.#file.handle.close().catch(() => {});
    await removeFile(this.#file.path);
  }

  async #flush(): Promise<void> {
    await this.#writing;
    const block = this.#block;
    if (block === undefined || this.#filled === 0) return;
    const position = this.#written;
    this.#writing = this.#writeBlock(block.subarray(0, this.#filled), position);
    this.#written += this.#filled;
    this.#filled = 0;
    [this.#block, this.#other] = [this.#other, block];
    // The next await of this promise throws its error.
    this.#writing.catch(() => {});
  }

  #releaseBlocks(): void {
    for (const block of [this.#block, this.#other]) if (block) giveBlock(block);
    this.#block = undefined;
    this.#other = undefined;
  }

  async #writeBlock(block: Uint8Array, position: number): Promise<void> {
    try {
      await writeFully((await this.#open()).handle, block, position);
    } catch (error) {
      const handle = await this.#relocate(position, error);
      try {
        await writeFully(handle, block, position);
      } catch (second) {
        throw notWritten(this.#folders.spare ?? this.#folders.folder, second, lostHint);
      }
    }
  }

  async #open(): Promise<TempFile> {
    this.#file ??= await createTempFile(this.#folders.folder);
    return this.#file;
  }

  /** Continues in the spare folder with a copy of the bytes so far; without a spare throws the first error. */
  async #relocate(bytes: number, error: unknown): Promise<FileHandle> {
    const { folder, spare } = this.#folders;
    if (spare === undefined) throw notWritten(folder, error);
    if (this.#relocated) throw notWritten(spare, error, lostHint);
    this.#relocated = true;
    this.#folders.onSpare?.();
    const old = this.#file;
    try {
      this.#file = await createTempFile(spare);
      if (old) await copyRange(old.handle, this.#file.handle, { offset: 0, bytes });
    } catch (second) {
      throw notWritten(spare, second, lostHint);
    } finally {
      await old?.handle.close().catch(() => {});
      if (old) await removeFile(old.path).catch(() => {});
    }
    return this.#file.handle;
  }
}

/** Size of a block in bytes. */
export const blockSize = 128 * 1024;
const maxUnused = 8;
const unused: Buffer[] = [];

/** A block of memory, reused if possible: V8 would collect hundreds of them late. */
export function takeBlock(): Buffer {
  return unused.pop() ?? Buffer.allocUnsafeSlow(blockSize);
}

/** Makes a block that is not in use any more available again. */
export function giveBlock(block: Buffer): void {
  if (unused.length < maxUnused) unused.push(block);
}
