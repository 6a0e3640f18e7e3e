import { ftruncateSync, writeSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { readBlocks } from '../../files/lines.ts';
import { createTempFile, removeFile } from '../../files/temp-file.ts';

/** Texts of rows in their order, kept while results are looked through: each result is parsed once then, and not again to be written. */
export interface RowTexts {
  keep(text: string): void;
  /** The rows that are kept so far have other columns than the report. */
  forgetAll(): void;
  /** False if there was no room for them. */
  isWhole(): boolean;
  /** All texts that are kept, in pieces. */
  read(): AsyncGenerator<string, void>;
  close(): Promise<void>;
}

/** Characters that are written together. */
const gatheredLength = 64 * 1024;

/** Keeps texts in a file in a folder. It has no name: nothing is left of it, whatever ends the program. */
export async function openRowTexts(folder: string): Promise<RowTexts | undefined> {
  const disk = await statfs(folder).catch(() => undefined);
  const temp = disk && (await createTempFile(folder).catch(() => undefined));
  if (disk === undefined || temp === undefined) return undefined;
  const { path, handle } = temp;
  await removeFile(path);
  // The report needs as much again.
  const most = (disk.bavail * disk.bsize) / 4;
  let gathered = '';
  let [written, from, isWhole] = [0, 0, true];

  function write(): void {
    const block = Buffer.from(gathered);
    gathered = '';
    if (!isWhole) return;
    try {
      for (let done = 0; done < block.length;)
        done += writeSync(handle.fd, block, done, block.length - done, written + done);
      written += block.length;
    } catch {
      isWhole = false;
    }
    isWhole &&= written <= most;
    // What cannot be kept is read again.
    if (!isWhole) ftruncateSync(handle.fd);
  }

  return {
    keep(text) {
      gathered += text;
      if (gathered.length > gatheredLength) write();
    },
    forgetAll() {
      write();
      from = written;
    },
    isWhole() {
      write();
      return isWhole;
    },
    async *read() {
      const decoder = new TextDecoder();
      for await (const block of readBlocks(handle, from)) yield decoder.decode(block, { stream: true });
      yield decoder.decode();
    },
    close: async () => handle.close().catch(() => undefined),
  };
}
