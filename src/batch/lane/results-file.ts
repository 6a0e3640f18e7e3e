import { readSync } from 'node:fs';
import { createGatheredFile, removeFile } from '../../library/index.ts';

/** The results of a provider batch while they are joined to its jobs, each found by its slot: they lie in a temporary file. */
export interface ResultsFile {
  /** The number of slots that have a result. */
  readonly size: number;
  has(slot: number): boolean;
  /** Adds the result of a slot. Throws GatewayError not-written. */
  add(slot: number, json: string): Promise<void>;
  /** Notes that a slot has a result, which is not needed any more. */
  note(slot: number): void;
  /** Begins again without any result. */
  restart(): void;
  /** Writes the results that were added: they can be read from then on. Throws GatewayError not-written. */
  flush(): Promise<void>;
  /** The result that was added for a slot. */
  read(slot: number): string | undefined;
  remove(): Promise<void>;
}

/** Opens a file of results in a folder. Throws GatewayError not-written. */
export async function openResultsFile(folder: string): Promise<ResultsFile> {
  const file = await createGatheredFile(folder);
  const places = new Map<number, { offset: number; bytes: number } | undefined>();
  return {
    get size() {
      return places.size;
    },
    has: (slot) => places.has(slot),
    async add(slot, json) {
      const block = Buffer.from(json);
      places.set(slot, { offset: file.bytes, bytes: block.byteLength });
      await file.append(block);
    },
    note: (slot) => void places.set(slot, undefined),
    restart() {
      places.clear();
      file.restart();
    },
    flush: file.flush,
    read(slot) {
      const place = places.get(slot);
      if (place === undefined) return undefined;
      const buffer = Buffer.allocUnsafe(place.bytes);
      // It is read synchronously: the system has it in memory, and a promise takes ten times as long.
      readSync(file.handle.fd, buffer, 0, place.bytes, place.offset);
      return buffer.toString();
    },
    async remove() {
      await file.handle.close().catch(() => undefined);
      await removeFile(file.path);
    },
  };
}
