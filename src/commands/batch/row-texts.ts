import { ftruncateSync, writeSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { createRangeReader, createTempFile, type Range, removeFile } from '../../files/temp-file.ts';

/** Texts of rows, kept while results are looked through: each result is parsed once then, and not again to be written. */
export interface RowTexts {
  /** Keeps the text of a row of a folder, in place of one that is kept. */
  keep(folder: number, row: number, text: string): void;
  forget(folder: number, row: number): void;
  /** The rows that are kept so far have other columns than the report. */
  forgetAll(): void;
  /** Where the text of a row is, if it is kept. */
  find(folder: number, row: number): Range | undefined;
  read(range: Range): Promise<string>;
  close(): Promise<void>;
}

/** Characters that are written together. */
const gatheredLength = 64 * 1024;

/** Keeps texts in a file in a folder, by the sizes of the batches. It has no name: nothing is left of it, whatever ends the program. */
export async function openRowTexts(folder: string, sizes: readonly number[]): Promise<RowTexts | undefined> {
  const disk = await statfs(folder).catch(() => undefined);
  const temp = disk && (await createTempFile(folder).catch(() => undefined));
  if (disk === undefined || temp === undefined) return undefined;
  const { path, handle } = temp;
  await removeFile(path);
  const readRange = createRangeReader(handle);
  const places = sizes.map((size) => ({ offsets: new Float64Array(size), bytes: new Uint32Array(size) }));
  let gathered = '';
  let [written, end, first] = [0, 0, 0];
  // The report needs as much again.
  let most = (disk.bavail * disk.bsize) / 4;

  function write(): void {
    const block = Buffer.from(end > most ? '' : gathered);
    gathered = '';
    try {
      for (let done = 0; done < block.length;)
        done += writeSync(handle.fd, block, done, block.length - done, written + done);
      written += block.length;
    } catch {
      most = 0;
    }
    if (end <= most) return;
    // What cannot be kept is read again.
    first = Number.POSITIVE_INFINITY;
    ftruncateSync(handle.fd);
  }

  return {
    keep(at, row, text) {
      const { offsets, bytes } = places[at] as (typeof places)[number];
      offsets[row] = end;
      bytes[row] = Buffer.byteLength(text);
      end += bytes[row];
      gathered += text;
      if (gathered.length > gatheredLength) write();
    },
    forget(at, row) {
      (places[at] as (typeof places)[number]).bytes[row] = 0;
    },
    forgetAll() {
      first = Math.max(first, end);
    },
    find(at, row) {
      if (gathered !== '') write();
      const { offsets, bytes } = places[at] as (typeof places)[number];
      const range = { offset: offsets[row] as number, bytes: bytes[row] as number };
      return range.bytes > 0 && range.offset >= first ? range : undefined;
    },
    async read(range) {
      const found = await readRange(range);
      if (found.length < range.bytes) throw new Error('the file is shorter than it was');
      return found.toString();
    },
    close: async () => handle.close().catch(() => undefined),
  };
}
